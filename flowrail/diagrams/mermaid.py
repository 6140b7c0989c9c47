"""A picture as a Mermaid flowchart, valid whatever the titles are.

Nodes are named by number, so that no id can be a word of the language; titles are quoted, with
every character that means something to Mermaid, Markdown or HTML written as an entity.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowrail.diagrams.model import Arrow, Node, Picture

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ,.-_+=/?!'")


def render(picture: Picture) -> str:
    """Return *picture* in the language of Mermaid."""
    return "\n".join(_lines(picture))


def quoted(text: str) -> str:
    """Return *text* as a quoted label that shows just those characters."""
    folded = " ".join(text.split()) or " "
    return (
        '"'
        + "".join(char if char in _PLAIN or _is_letter(char) else f"#{ord(char)};" for char in folded)
        + '"'
    )


def _is_letter(char: str) -> bool:
    """Return whether *char* is beyond ASCII and shows itself: no control, joiner or change of direction."""
    return char > "\u00a0" and char.isprintable()


def _lines(picture: Picture) -> Iterator[str]:
    names = {node.id: f"s{number}" for number, node in enumerate(picture.nodes, start=1)}
    yield "flowchart TD"
    if picture.entry in names:
        yield f"    begin((start)) --> {names[picture.entry]}"
    phase: str | None = None
    for number, node in enumerate(picture.nodes):
        if node.phase != phase:
            if phase is not None:
                yield "    end"
            if node.phase is not None:
                yield f"    subgraph p{number}[{quoted(node.phase)}]"
            phase = node.phase
        yield f"    {names[node.id]}{_shape(node)}"
    if phase is not None:
        yield "    end"
    for arrow in picture.arrows:
        yield f"    {names[arrow.source]} {_line(arrow)}|{quoted(_label(arrow))}| {_target(arrow, names)}"
    ends = {_target(arrow, names) for arrow in picture.arrows if arrow.target is None}
    if "completed" in ends:
        yield "    completed(((completed)))"
    if "failed" in ends:
        yield "    failed(((failed)))"


def _line(arrow: Arrow) -> str:
    """Return a full line, or a dotted one for a way that was never taken."""
    return "-.->" if arrow.taken == 0 else "-->"


def _label(arrow: Arrow) -> str:
    return arrow.label if arrow.taken is None else f"{arrow.label} {arrow.taken}"


def _target(arrow: Arrow, names: dict[str, str]) -> str:
    if arrow.target is not None:
        return names[arrow.target]
    return "failed" if arrow.failed else "completed"


def _shape(node: Node) -> str:
    title = node.title + (f" (at most {node.limit} times)" if node.limit else "")
    if node.conditional:
        return f"[/{quoted(title)}/]"
    return "{{" + quoted(title) + "}}" if node.decides else f"[{quoted(title)}]"
