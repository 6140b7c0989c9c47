"""Estimate the width of text without a font, by the widths of DejaVu Sans, which is wider than most fonts."""

from __future__ import annotations

from functools import lru_cache
from unicodedata import combining, east_asian_width

_ASCII = (
    32, 40, 46, 84, 64, 95, 78, 27, 39, 39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 34, 34, 84, 84, 84, 53, 100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66, 56, 86, 75, 79,
    60, 79, 69, 63, 61, 73, 68, 99, 69, 61, 69, 39, 34, 39, 84, 50, 50, 61, 63, 55, 63, 62, 35, 63,
    63, 28, 28, 58, 28, 97, 63, 61, 63, 63, 41, 52, 39, 63, 59, 82, 59, 59, 52, 64, 34, 64, 84,
)  # fmt: skip
"""Widths in hundredths of the font size, starting with the space."""

_WIDE, _OTHER, _BOLD = 104, 68, 1.13


def width(text: str, size: float, *, bold: bool = False) -> float:
    """Return the width of *text* at a font *size*."""
    return sum(map(_char_width, text)) * size / 100 * (_BOLD if bold else 1)


def wrapped(text: str, size: float, most: float, *, rows: int, bold: bool = False) -> list[str]:
    """Return *text* in at most *rows* rows of at most *most* width; a cut text ends in an ellipsis."""
    lines: list[str] = []
    row = ""
    for word in text.split():
        longer = f"{row} {word}" if row else word
        if width(longer, size, bold=bold) <= most:
            row = longer
            continue
        if row:
            lines.append(row)
        row = word
        while width(row, size, bold=bold) > most and len(lines) < rows:
            head = _head(row, size, most, bold=bold)
            lines.append(row[:head])
            row = row[head:]
    if row:
        lines.append(row)
    if len(lines) > rows:
        last = f"{lines[rows - 1]}…"
        while len(last) > 1 and width(last, size, bold=bold) > most:
            last = f"{last[:-2]}…"
        lines = [*lines[: rows - 1], last]
    return lines


def _head(word: str, size: float, most: float, *, bold: bool) -> int:
    count = 1
    while count < len(word) and width(word[: count + 1], size, bold=bold) <= most:
        count += 1
    return count


@lru_cache(maxsize=4096)
def _char_width(char: str) -> int:
    index = ord(char) - 32
    if 0 <= index < len(_ASCII):
        return _ASCII[index]
    if combining(char):
        return 0
    return _WIDE if east_asian_width(char) in "WF" or ord(char) >= 0x1F000 else _OTHER  # noqa: PLR2004 - pictographs
