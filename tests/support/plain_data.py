"""Plain data, and YAML that is nearly valid."""

from hypothesis import strategies as st

TEXTS = st.text(st.characters(codec="utf-8"), max_size=40)
CONFUSABLE = st.one_of(
    st.sampled_from(
        ["", "~", "null", "yes", "No", "ON", "y", "true", "=", "<<", "---", "...", "-", "|", "@", "`"]
    ),
    st.sampled_from(
        ["0o17", "010", "1e3", "1_000", "12:30", "2024-01-01", ".inf", "+1", "0x1F", "1.10", "-.5"]
    ),
    st.sampled_from(
        ["- a", "? b", "a: b", "a #b", "#a", "%x", "&a", "*a", "!a", "{a}", "[a", "a,", "'a'", '"', "\\n"]
    ),
    st.sampled_from(
        [" a", "a ", "a\n", "\na", "a\n\n", "\t", "a\n\tb", "a\n  \nb", "  a\nb", "a\n\n b\n", "\n"]
    ),
    st.sampled_from(
        ["a\r\nb", "a\u2028\nb", "\ufeff", "\x00", "\x85", "\ufffe", "\x1b[0m\n", "\u00a0", "\u3000a\n"]
    ),
)
CONSTANTS = st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)
SCALARS = CONSTANTS | st.integers(-(10**19) + 1, 10**19 - 1) | TEXTS | CONFUSABLE
PLAIN_DATA = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS | CONFUSABLE, inner, max_size=4),
    max_leaves=12,
)

NEARLY_YAML = st.lists(
    st.sampled_from(["a", "b: ", "c:", "- ", "\n", "\n  ", "\n    ", " ", "'", '"', "[", "]", "{", "}", ","])
    | st.sampled_from(
        ["# x", "|", ">-", "|+", "? ", ": ", "\\", "1", "~", "x y", "---\n", "...\n", "\t", "é", "!"]
    ),
    max_size=25,
).map("".join)
