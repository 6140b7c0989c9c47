"""Draw a picture as SVG that needs no font and no other file, light or dark like the reader's system.

The style is inside the picture and applies to its id, so that one page can contain several pictures.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from flowrail.diagrams.layout.boxes import NOTE_ROW, TITLE_ROW
from flowrail.diagrams.layout.layout import Label, Layout, PlacedNode, RoutedLine, layout
from flowrail.diagrams.layout.lines import decimal
from flowrail.diagrams.model import ENDS, MEANING, Arrow, Node, Picture
from flowrail.diagrams.renderers.shapes import rectangle, shape
from flowrail.diagrams.renderers.style import style
from flowrail.outcome import REPORTABLE, STYLES
from flowrail.text.phrases import count
from flowrail.text.safe_text import xml_text

LABEL_HALF = 9.0
_ID = re.compile(r"[A-Za-z][\w-]*")
TIPS = ("plain", *STYLES)


def render(picture: Picture, *, name: str = "flow", own_colours: bool = True) -> str:
    """Return *picture* as an SVG document.

    *name* is its id, of letters, digits, `_` and `-`. Without *own_colours*, the colours are those of the page around it.
    """
    if not _ID.fullmatch(name):
        raise ValueError(f"{name[:60]!r} is not an id")
    return "\n".join(_document(picture, layout(picture), name, style(f"#{name}", own_colours=own_colours)))


def _document(picture: Picture, drawing: Layout, name: str, rules: str) -> Iterator[str]:
    width, height = decimal(drawing.width), decimal(drawing.height)
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" id="{name}" class="flow" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-labelledby="{name}-title {name}-desc">'
    )
    yield f'<title id="{name}-title">{xml_text(picture.name)}</title>'
    yield f'<desc id="{name}-desc">{xml_text(described(picture))}</desc>'
    yield f"<style>{rules}</style>"
    yield "<defs>"
    for kind in TIPS:
        yield (
            f'<marker id="{name}-tip-{kind}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
            f'markerUnits="userSpaceOnUse" orient="auto"><path class="tip {kind}" d="M0 .6L7.4 4 0 7.4z"/></marker>'
        )
    yield "</defs>"
    yield f'<rect class="ground" width="{width}" height="{height}"/>'
    for band in drawing.bands:
        frame = rectangle(6, band.top, drawing.width - 6, band.bottom, corner=10)
        yield f'<g class="band">{frame}<text x="18" y="{decimal(band.top + 17)}">{xml_text(band.title)}</text></g>'
    yield '<g class="lines">'
    for arrow, line in zip(picture.arrows, drawing.lines, strict=True):
        yield _path(arrow, line, name)
    yield '</g><g class="labels">'
    for arrow, line in zip(picture.arrows, drawing.lines, strict=True):
        if line.label is not None:
            yield _label(arrow, line.label)
    yield '</g><g class="nodes">'
    for node, placed in zip(picture.nodes, drawing.nodes, strict=True):
        yield _node(node, placed)
    yield "</g></svg>"


def described(picture: Picture) -> str:
    """Return a description of the picture for screen readers."""
    steps = sum(node.is_step for node in picture.nodes)
    loops = sum(arrow.source == arrow.target for arrow in picture.arrows)
    position = {node.id: number for number, node in enumerate(picture.nodes)}
    back = sum(position[arrow.source] > position[arrow.target] for arrow in picture.arrows) + loops
    text = f"{picture.description} " if picture.description else ""
    text += f"{count(steps, 'step')}, {count(back, 'transition')} back."
    if picture.session is not None:
        current = next((node.title for node in picture.nodes if node.id == picture.session.step), None)
        step_text = f", at {current}" if current else ""
        text += f" Session {picture.session.id}: {picture.session.status}{step_text}."
    return text


def _path(arrow: Arrow, line: RoutedLine, name: str) -> str:
    classes = _line_class(arrow)
    tip = next((tip for tip in TIPS if tip in classes.split()), "plain")
    return f'<path class="{classes}" d="{line.path}" marker-end="url(#{name}-tip-{tip})"/>'


def _label(arrow: Arrow, label: Label) -> str:
    full = arrow.label
    tooltip = f"<title>{xml_text(full)}</title>" if full != label.text else ""
    half = label.width / 2
    pill = rectangle(
        label.x - half, label.y - LABEL_HALF, label.x + half, label.y + LABEL_HALF, corner=LABEL_HALF
    )
    text = f'<text x="{decimal(label.x)}" y="{decimal(label.y + 4)}">{xml_text(label.text)}</text>'
    return f'<g class="{_line_class(arrow)}">{tooltip}{pill}{text}</g>'


def _line_class(arrow: Arrow) -> str:
    first = arrow.outcomes[0].split()[0] if arrow.outcomes else "begin"
    kind = first if len(arrow.outcomes) == 1 and first in REPORTABLE else "other"
    taken = "" if arrow.taken is None else " taken" if arrow.taken else " never"
    return f"line {kind}{taken}"


def _node(node: Node, placed: PlacedNode) -> str:
    state = f" {node.state}" if node.state else ""
    maybe = " maybe" if node.when is not None else ""
    meaning = [] if node.number is None else [MEANING[node.kind]]
    tooltip = f"<title>{xml_text('; '.join([node.heading, *node.notes, *meaning]))}</title>"
    return f'<g class="node {node.kind}{maybe}{state}">{tooltip}{shape(node.kind, placed)}{" ".join(_rows(node, placed))}</g>'


def _rows(node: Node, placed: PlacedNode) -> Iterator[str]:
    if node.kind in ENDS:
        yield from _text("end", [node.title], placed.x + placed.box.width / 2 + 6, placed.y + 4, 0)
        return
    title, notes = placed.box.title, placed.box.notes
    height = TITLE_ROW * len(title) + (NOTE_ROW * len(notes) + 3 if notes else 0)
    y = placed.y - height / 2 + 13.5
    yield from _text("title", title, placed.x, y, TITLE_ROW)
    yield from _text("note", notes, placed.x, y + TITLE_ROW * len(title) + 1, NOTE_ROW)


def _text(name: str, rows: Sequence[str], x: float, y: float, row_height: float) -> Iterator[str]:
    for number, row in enumerate(rows):
        yield f'<text class="{name}" x="{decimal(x)}" y="{decimal(y + number * row_height)}">{xml_text(row)}</text>'
