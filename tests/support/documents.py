"""Plain data, YAML that is nearly in order, and YAML made to hurt."""

from collections.abc import Mapping

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

_SIZE = 255_000


def _filled(piece: str, before: str = "", after: str = "") -> str:
    room = _SIZE - len(before) - len(after)
    return before + piece * (room // len(piece.encode())) + after


# Each just under the bound on bytes, so that it is the parsing that is tried.
HOSTILE: Mapping[str, str] = {
    "open brackets": _filled("["),
    "open braces": _filled("{"),
    "open brackets, one a line": _filled("[\n"),
    "braces within keys": _filled('{"a":'),
    "lists in lists": _filled("- "),
    "lists in lists, line by line": _filled("- " * 400 + "\n"),
    "keys in keys": _filled("? "),
    "a staircase": "".join(f"{' ' * level}a:\n" for level in range(1400)),
    "question marks": _filled("?"),
    "colons": _filled(":"),
    "commas": _filled(",", "["),
    "one long word": _filled("a"),
    "one long line": _filled("a "),
    "one text of many lines": _filled("a\n"),
    "a text with a long gap": _filled("\n", "a", "b"),
    "a long key": _filled("k", "? ", "\n: a"),
    "many lines that might be keys": _filled("x" * 1000 + ":"),
    "many keys": _filled("a: b\n"),
    "many entries": _filled("a,", "[", "]"),
    "many entries, deep": _filled("a,", "[" * 31),
    "many documents": _filled("---\n"),
    "many ends": _filled("...\n"),
    "many directives": _filled("%YAML 1.1\n"),
    "one directive": _filled("%"),
    "an anchor": _filled("a", "&"),
    "many anchors": _filled("- &a b\n"),
    "many aliases": _filled("- *a\n"),
    "a tag": _filled("%41", "!<"),
    "tabs": _filled("\t"),
    "tabs after a key": _filled("\t", "a:"),
    "blanks": _filled(" "),
    "empty lines": _filled("\n"),
    "empty lines of the old kind": _filled("\r"),
    "empty lines of a rare kind": _filled("\x85"),
    "a comment": _filled("#"),
    "many comments": _filled("#\n"),
    "blank lines before a directive": _filled("  \n", "", "%x"),
    "a block of many lines": _filled(" x\n", "a: |\n"),
    "a folded block": _filled(" x\n\n", "a: >\n"),
    "a block of blanks": _filled(" " * 500 + "\n", "a: |\n"),
    "a quoted text of many lines": _filled("a\n", '"', '"'),
    "escapes": _filled("\\u0041", '"', '"'),
    "quotes": _filled("'"),
    "wide text": _filled("\u3042 "),
    "a long decimal": "- " + "1" * 262_000,
    "a long hexadecimal": "- 0x" + "1" * 262_000,
    "a long fraction": "- 0." + "1" * 262_000,
    "a long exponent": "- 1e" + "1" * 262_000,
}
