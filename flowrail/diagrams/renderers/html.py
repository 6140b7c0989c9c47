"""Workflows and a session as one HTML page without other files.

The page contains the drawings and a list of the steps of each, which screen readers read and which works without
scripts. The script zooms, searches, opens a step and replays a session. The page's content security policy
allows only this script, by its digest.
"""

from __future__ import annotations

import json
import os
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from urllib.parse import quote

from flowrail.diagrams.model import MEANING, NodeKind, Picture, Trace
from flowrail.diagrams.renderers import svg
from flowrail.diagrams.renderers.document import WorkflowPicture, session_summary
from flowrail.diagrams.renderers.html_steps import steps
from flowrail.diagrams.renderers.json import path_data
from flowrail.diagrams.renderers.style import page_colours
from flowrail.storage import files
from flowrail.text.safe_text import decode, xml_attribute, xml_text

LARGEST_PART = 200_000
_KEYS = (
    ("/", "search"),
    ("↓ ↑ or j k", "next, previous step"),
    ("Enter", "open the step"),
    ("+ - 0", "larger, smaller, fit"),
    ("[ ]", "back and forward in the session"),
    ("Esc", "clear"),
)


def render(drawn: Sequence[WorkflowPicture]) -> str:
    """Return the page of *drawn*; it opens with the first, which may have a session."""
    return "\n".join(_document(drawn))


def address(name: str, step: str = "") -> str:
    """Return the address of a workflow or of one of its steps within the page."""
    inner = f":{quote(step, safe='')}" if step else ""
    return f"#{quote(name, safe='')}{inner}"


def _document(drawn: Sequence[WorkflowPicture]) -> Iterator[str]:
    first = drawn[0].picture
    script, style = _part("html.js"), _part("html.css")
    digest = b64encode(sha256(script.encode()).digest()).decode()
    title = f"{first.name} · {first.trace.session}" if first.trace else first.name
    yield "<!DOCTYPE html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield (
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'\">"
    )
    yield '<meta name="color-scheme" content="light dark">'
    yield f"<title>{xml_text(title)}</title>"
    yield f"<style>{page_colours()}\n{style}</style></head><body>"
    yield '<a class="skip hidden" href="#panel">To the list of steps</a>'
    yield from _head(drawn)
    yield '<main id="stage" tabindex="-1" aria-label="Drawing">'
    for number, workflow in enumerate(drawn):
        trace = workflow.picture.trace and workflow.picture.trace._replace(counted=False)
        yield f'<div class="drawing" data-name="{xml_attribute(workflow.picture.name)}">'
        yield svg.render(workflow.picture._replace(trace=trace), name=f"w{number}", scheme="around")
        yield "</div>"
    yield "</main>"
    yield from _panel(drawn)
    yield from _timeline(first)
    yield f'<script type="application/json" id="data">{_data(drawn)}</script>'
    yield f"<script>{script}</script></body></html>"


def _head(drawn: Sequence[WorkflowPicture]) -> Iterator[str]:
    first = drawn[0].picture
    yield f"<header><h1>{xml_text(first.name)}</h1>"
    yield f'<p class="status">{xml_text(session_summary(first))}</p>'
    yield '<div class="tools" role="toolbar" aria-label="View">'
    if len(drawn) > 1:
        yield '<label class="hidden" for="pick">Workflow</label><select id="pick">'
        for number, workflow in enumerate(drawn):
            yield f'<option value="{number}">{xml_text(workflow.picture.name)}</option>'
        yield "</select>"
    yield '<label class="hidden" for="search">Search steps</label>'
    yield '<input id="search" type="search" placeholder="Search steps" autocomplete="off" spellcheck="false">'
    yield '<button id="out" aria-label="Smaller">−</button><span id="zoomed" aria-hidden="true"></span>'  # noqa: RUF001
    yield '<button id="in" aria-label="Larger">+</button><button id="fit">Fit</button></div>'
    yield '<span id="found" class="hidden" role="status"></span></header>'


def _panel(drawn: Sequence[WorkflowPicture]) -> Iterator[str]:
    known = {workflow.name: address(workflow.picture.name) for workflow in drawn}
    yield '<aside id="panel" tabindex="-1" aria-label="Steps">'
    for workflow in drawn:
        yield f'<section class="about-one" data-name="{xml_attribute(workflow.picture.name)}">'
        yield f"<h2>{xml_text(workflow.picture.name)}</h2>"
        if workflow.picture.description:
            yield f'<p class="about">{xml_text(workflow.description)}</p>'
        yield from steps(workflow, known, address)
        yield "</section>"
    if drawn[0].workflow is not None:
        yield '<details class="more"><summary>What the shapes mean</summary><div class="legend">'
        for kind, meaning in MEANING.items():
            yield _swatch(kind, meaning)
        yield "</div></details>"
    yield '<details class="more" id="help"><summary>Keys</summary><div class="keys">'
    for key, action in _KEYS:
        yield f"<kbd>{xml_text(key)}</kbd><span>{xml_text(action)}</span>"
    yield "</div></details></aside>"


def _swatch(kind: NodeKind, meaning: str) -> str:
    name = "agent" if kind is NodeKind.AGENTS else str(kind)
    style = f"--edge:var(--{name}-line);--fill:var(--{name})"
    return f'<i style="{style}"></i><span>{xml_text(meaning)}</span>'


def _timeline(picture: Picture) -> Iterator[str]:
    if picture.trace is None:
        return
    last = len(picture.trace.entries) - 1
    yield '<footer id="time" aria-label="The session over time">'
    yield '<button id="back" aria-label="One record back">‹</button>'  # noqa: RUF001 - an arrow
    yield '<button id="play">Play</button><button id="on" aria-label="One record forward">›</button>'  # noqa: RUF001
    yield '<label class="hidden" for="range">Record of the session</label>'
    yield f'<input id="range" type="range" min="0" max="{last}" value="{last}">'
    yield '<div id="told" aria-live="polite"></div></footer>'


def _data(drawn: Sequence[WorkflowPicture]) -> str:
    first = drawn[0].picture
    data: dict[str, object] = {
        "workflows": [
            {
                "name": workflow.picture.name,
                "titles": {node.id: node.title for node in workflow.picture.nodes},
                "edges": [[arrow.source, arrow.target] for arrow in workflow.picture.arrows],
            }
            for workflow in drawn
        ],
        "session": _session(first.trace) if first.trace is not None else None,
    }
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _session(trace: Trace) -> Mapping[str, object]:
    more = [
        {"path": [list(pair) for pair in entry.path], "note": entry.note, "visits": entry.visits}
        for entry in trace.entries
    ]
    return {"path": [{**entry, **also} for entry, also in zip(path_data(trace), more, strict=True)]}


def _part(name: str) -> str:
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    return decode(files.read_bounded(path, limit=LARGEST_PART, what="a part of the page"), source=name)
