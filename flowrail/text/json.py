"""JSON that strangers wrote: no key twice, nothing that JSON does not know, and each mistake told with its line.

Python's reader words what it finds for people who know it, and of many things it does not say where they stand.
So our words are here, and a place that it leaves out is looked for in the text, once something is wrong.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NoReturn

from flowrail.errors import DocumentError
from flowrail.text.finite import DEEPEST, is_finite
from flowrail.text.safe_text import in_quotes

Path = tuple[str | int, ...]
_SHOWN = 60  # characters of the document's own that a message quotes
_SPACE = " \t\r\n"

_OUTSIDE = rb"""(?:[^"%b]++|"(?:[^"\\]|\\.)*+(?:"|\\?\Z))*+(?:([%b])|\Z)"""
"""A mark behind texts and all else. Also a text that never ends is one: else every mark in it would be tried as a
beginning, to the end of the document."""
_TEXT = r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)'
_NAMES = rf"({_TEXT})[{_SPACE}]*+(:)?|[{{}}]"
_WORD = r"[^\s\"\[\]{},:]++"
_PIECES = rf"{_NAMES}|[\[\]]|{_WORD}"


class NotJsonError(DocumentError):
    """The text is no JSON."""


def nested(document: bytes, most: int, marks: bytes = b"[{") -> int:
    """Return how many lists and mappings a JSON *document* would become; counted well only from *most* on.

    In memory each takes up to a hundred times its two characters, so this is asked before it is parsed. With
    other *marks*: how many of those stand outside of its texts.
    """
    found = sum(map(document.count, marks))
    if found <= most:
        return found
    signs = re.escape(marks)
    outside = re.compile(_OUTSIDE % (signs, signs), re.DOTALL)
    return sum(1 for mark in outside.finditer(document) if mark.lastindex)


def holds_more(document: bytes, lists: int, values: int) -> bool:
    """Return whether a JSON *document* would become more than so many lists and mappings, or values."""
    return nested(document, lists) > lists or nested(document, values, b",") > values


def read_strictly(text: str, *, source: str) -> Any:
    """Return what *text* says; *source* is what its places are called by.

    Raises `NotJsonError` where it is no JSON, another `DocumentError` where it is not strict.
    """
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise _no_json(text, error, source) from None
    except RecursionError:
        raise _too_deep(text, source) from None
    except _OddNumberError as odd:
        raise _odd_number(text, odd.args[0], source) from None
    except _TwiceError:
        raise _twice(text, source) from None
    except ValueError:  # of Python's `int`
        raise _too_long(text, source) from None
    if _is_deeper(value, DEEPEST):
        raise _too_deep(text, source)
    return value


def place(text: str, at: int, source: str) -> str:
    """Return how the line of *text* is called that the character *at* stands in."""
    return f"{source}:{_line(text, at)}"


def lines_of(text: str) -> dict[Path, int]:
    """Return the line of each value of the JSON in *text*, which was read; a member stands where its name does."""
    lines: dict[Path, int] = {}
    above: list[Path] = []  # where the lists and objects stand that are open
    below: list[int] = []  # how many values each of them has so far
    line, seen, name = 1, 0, ""
    for found in re.finditer(_PIECES, text, re.DOTALL):
        line += text.count("\n", seen, found.start())
        seen = found.start()
        opening = found[0][0]
        if opening in "]}":
            above.pop()
            below.pop()
        elif found[2]:
            name = _said(found[1])
            lines[*above[-1], name] = line
        else:
            path: Path = ()
            if above:
                path = (*above[-1], name if below[-1] < 0 else below[-1])
                below[-1] += below[-1] >= 0
            lines.setdefault(path, line)
            if opening in "[{":
                above.append(path)
                below.append(0 if opening == "[" else -1)
    return lines


def place_of_value(text: str, number: int, source: str) -> str:
    """Return where the value *number* of the JSON in *text* begins, from 0; the names of objects count too."""
    pieces = re.finditer(rf"{_TEXT}|[\[{{]|{_WORD}", text, re.DOTALL)
    return place(text, next((each.start() for each in islice(pieces, number, None)), 0), source)


# --- while it is read


class _TwiceError(ValueError):
    """A name stands twice in one object."""


class _OddNumberError(ValueError):
    """What stands there is no number in JSON, or none that there is."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise _TwiceError
    return value


def _no_constant(name: str) -> NoReturn:
    raise _OddNumberError(name)


def _finite(written: str) -> float:
    value = float(written)
    if not is_finite(value):
        raise _OddNumberError(written)
    return value


def _is_deeper(value: object, levels: int) -> bool:
    if isinstance(value, dict):
        return levels == 0 or any(_is_deeper(each, levels - 1) for each in value.values())
    return isinstance(value, list) and (levels == 0 or any(_is_deeper(each, levels - 1) for each in value))


# --- once something is wrong

# The first of these pieces that occurs in what Python's reader says gives our words: a fact, and what to do.
_TRAILING = ("a comma stands before the end of a list or an object", "take it out")
_FACTS = {
    "trailing comma": _TRAILING,
    "property name": ("a name is missing", 'write each name between double quotes, as in {"name": value}'),
    "':'": ("a colon is missing", 'write {"name": value}'),
    "','": (
        "a comma is missing, or a closing bracket",
        'put commas between values; within a text write `\\"` for a quote',
    ),
    "Unterminated": ("quotes that are never closed", "close them"),
    "escape": ("an escape that JSON does not have", "double the backslash"),
    "Extra data": ("something follows the document", "give the one document alone"),
    "BOM": ("it begins with two byte order marks", "take them out"),
    "value": (
        "a value is missing",
        "write a text between double quotes, a number, true, false, null, a list or an object",
    ),
    "": ("it is none from here on", "look at quotes, commas and brackets here and just above"),
}


def _no_json(text: str, error: json.JSONDecodeError, source: str) -> NotJsonError:
    at = error.pos
    if "control character" in error.msg:
        words = _control(text[at : at + 1])
    else:
        at = min(at, len(text.rstrip(_SPACE)))
        before = text[:at].rstrip(_SPACE)
        words = next(words for piece, words in _FACTS.items() if piece in error.msg)
        if text[at : at + 1] in {"]", "}"} and before.endswith(","):
            at, words = len(before) - 1, _TRAILING
    column = at - text.rfind("\n", 0, at)
    return NotJsonError(
        f"is no JSON: {words[0]} (column {column})",
        hint=words[1],
        place=place(text, at, source),
        column=column,
    )


def _control(character: str) -> tuple[str, str]:
    if character in {"", "\r", "\n"}:
        return "a text that is not closed in its line", 'close it with `"`; write `\\n` for the end of a line'
    written = json.dumps(character)[1:-1]
    return f"the character U+{ord(character):04X} stands in a text", f"write `{written}` for it"


def _odd_number(text: str, written: str, source: str) -> DocumentError:
    at = _first_word(text, lambda word: word.startswith(written))
    shown = written if len(written) <= _SHOWN else f"{written[:_SHOWN]}…"
    fact = f"{shown} is too large a number" if written[-1].isdigit() else f"{shown} is no JSON number"
    hint = "write another number, null, or a text between double quotes"
    return DocumentError(fact, hint=hint, place=place(text, at, source))


def _too_long(text: str, source: str) -> DocumentError:
    most = sys.get_int_max_str_digits()
    whole = re.compile(rf"-?[0-9]{{{most + 1}}}[0-9]*+(?!\.[0-9]|[eE][-+]?[0-9])")
    at = _first_word(text, lambda word: bool(whole.match(word)))
    fact = f"a whole number of more than {most} digits"
    return DocumentError(
        fact, hint="write it as a text, between double quotes", place=place(text, at, source)
    )


def _too_deep(text: str, source: str) -> DocumentError:
    depth, at = 0, 0
    for found in _outside(text, r"([\[\]{}])"):
        depth += 1 if found[1] in "[{" else -1
        at = found.start()
        if depth > DEEPEST:
            break
    hint = f"at most {DEEPEST} lists and objects in each other are read"
    return DocumentError("is nested too deeply", hint=hint, place=place(text, at, source))


def _twice(text: str, source: str) -> DocumentError:
    """Tell of the first name that stands in its object already."""
    objects: list[dict[str, int]] = []
    for found in re.finditer(_NAMES, text, re.DOTALL):
        if found[0] == "{":
            objects.append({})
        elif found[0] == "}":
            objects.pop()
        elif found[2]:
            name = _said(found[1])
            if name in objects[-1]:
                first, again = _line(text, objects[-1][name]), _line(text, found.start())
                break
            objects[-1][name] = found.start()
    where = "twice in one object" if first == again else f"in line {first} and again in line {again}"
    shown = name[:_SHOWN] if name.isprintable() else ascii(name[:_SHOWN])[1:-1]
    fact = f"the key `{in_quotes(shown)}` stands {where}"
    return DocumentError(fact, hint="keep one of the two", place=f"{source}:{again}")


def _said(written: str) -> str:
    return str(json.loads(written)) if "\\" in written else written[1:-1]


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _first_word(text: str, fits: Callable[[str], bool]) -> int:
    found = _outside(text, rf"({_WORD})")
    return next((each.start() for each in found if fits(each[1])), 0)


def _outside(text: str, wanted: str) -> Iterator[re.Match[str]]:
    """Yield where something *wanted*, a group, stands outside of texts."""
    return (each for each in re.finditer(rf"{_TEXT}|{wanted}", text, re.DOTALL) if each.lastindex)
