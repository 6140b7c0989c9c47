"""Draw a picture in DOT, the language of Graphviz, valid for any title.

Nodes are named by number and every text is quoted. Lines and text outside of shapes are grey and shapes are filled,
so that the picture is readable on white and on black.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from flowrail.diagrams.model import Arrow, Node, NodeKind, Picture
from flowrail.text.safe_text import shortened

_SHAPES: Mapping[NodeKind, str] = {
    NodeKind.START: 'shape=circle, width=0.25, fixedsize=true, fillcolor="#7a8699"',
    NodeKind.STEP: 'shape=box, style="rounded,filled"',
    NodeKind.DECIDE: 'shape=hexagon, margin="0.05,0.05"',
    NodeKind.ASK: "shape=parallelogram",
    NodeKind.GATE: 'shape=octagon, margin="0.05,0.05"',
    NodeKind.AGENT: "shape=box, peripheries=2",
    NodeKind.AGENTS: "shape=box3d",
    NodeKind.COMPLETED: 'shape=doublecircle, width=0.3, fillcolor="#cfeedd"',
    NodeKind.FAILED: 'shape=doublecircle, width=0.3, fillcolor="#f8d0cc"',
}
_STATES: Mapping[str, str] = {
    "here": 'color="#2f6fed", penwidth=4',
    "done": 'color="#2a8a4f", penwidth=2.5',
    "left": "",
    "off": 'color="#b8bfca", fontcolor="#8791a1"',
}
_HEAD = """\
digraph workflow {
    graph [bgcolor="transparent", rankdir=TB, fontname="Helvetica", fontcolor="#7a8699", ranksep=0.35]
    node [style=filled, fillcolor="#eef2f8", color="#7a8699", fontcolor="#1c2430", fontname="Helvetica", fontsize=12]
    edge [color="#7a8699", fontcolor="#7a8699", fontname="Helvetica", fontsize=11]"""


def render(picture: Picture, *, links: Mapping[str, str] | None = None) -> str:
    """Return *picture* in DOT; *links* are addresses of the workflows of sub-agents."""
    return "\n".join(_lines(picture, links or {}))


def quoted(*lines: str) -> str:
    """Return *lines* as one quoted string."""
    return '"' + "\\n".join(map(_escaped, lines)) + '"'


def _escaped(text: str) -> str:
    return shortened(text).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")


def _lines(picture: Picture, links: Mapping[str, str]) -> Iterator[str]:
    names = picture.names
    yield _HEAD
    if picture.name:
        yield f"    tooltip={quoted(picture.name)}"
    for number, (phase, nodes) in enumerate(picture.bands, start=1):
        if phase is not None:
            yield f"    subgraph cluster_{number} {{"
            yield f'    label={quoted(phase)}; color="#7a8699"; style="rounded,dashed"'
        for node in nodes:
            yield f"    {names[node.id]} [{', '.join(_attributes(picture, node, links))}]"
        if phase is not None:
            yield "    }"
    order = {node.id: position for position, node in enumerate(picture.nodes)}
    for arrow in picture.arrows:
        yield _arrow(picture, arrow, names, order)
    yield "}"


def _attributes(picture: Picture, node: Node, links: Mapping[str, str]) -> Iterator[str]:
    title = f"{node.number} · {node.title}" if node.number is not None else node.title
    label = [""] if node.kind is NodeKind.START else [title, *picture.notes(node)]
    yield f"label={quoted(*label)}"
    yield _SHAPES[node.kind]
    if node.when is not None:
        yield 'style="filled,dashed"'
    state = _STATES[picture.trace.state(node)] if picture.trace is not None else ""
    if state:
        yield state
    if node.run is not None and node.run in links:
        yield f"URL={quoted(links[node.run])}"


def _arrow(picture: Picture, arrow: Arrow, names: Mapping[str, str], order: Mapping[str, int]) -> str:
    label = picture.label(arrow)
    attributes = [f"label={quoted(label)}"] if label else []
    if order[arrow.target] < order[arrow.source]:
        attributes.append("constraint=false")
    if picture.count(arrow):
        attributes.append('color="#2a8a4f", penwidth=2.5')
    if picture.never(arrow):
        attributes.append("style=dotted")
    suffix = f" [{', '.join(attributes)}]" if attributes else ""
    return f"    {names[arrow.source]} -> {names[arrow.target]}{suffix}"
