"""Workflows, and a session, as one HTML page that needs nothing beside itself.

Everything is in the page as text: drawings, and below each the list of its steps, which is what a screen
reader reads and what is left where no script runs. The script zooms, searches, opens a step, scrubs through a
session. Its digest stands in the page's policy, so nothing else ever runs there; all text is escaped.
"""

from __future__ import annotations

import json
import os
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from flowrail.diagrams.model import MEANING, Kind, Picture
from flowrail.diagrams.renderers import svg
from flowrail.diagrams.renderers.html_steps import steps
from flowrail.diagrams.renderers.json import trace_data
from flowrail.diagrams.renderers.markdown import Drawn, standing
from flowrail.diagrams.renderers.style import DARK, LIGHT
from flowrail.diagrams.words import attribute, escaped
from flowrail.storage import files
from flowrail.text.safe_text import decode

LARGEST_PART = 200_000
_KEYS = (
    ("/", "search"),
    ("↓ ↑ or j k", "next, previous step"),
    ("Enter", "open the step"),
    ("+ - 0", "larger, smaller, fit"),
    ("[ ]", "back and on in the session"),
    ("Esc", "clear"),
)


def render(drawn: Sequence[Drawn]) -> str:
    """Return the page of *drawn*; the first is what it opens with, and may hold a session."""
    return "\n".join(_document(drawn))


def address(name: str, step: str = "") -> str:
    """Return the address of a workflow or of one of its steps within the page."""
    inner = f":{quote(step, safe='')}" if step else ""
    return f"#{quote(name, safe='')}{inner}"


def _document(drawn: Sequence[Drawn]) -> Iterator[str]:
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
    yield f"<title>{escaped(title)}</title>"
    dark = f"@media(prefers-color-scheme:dark){{:root{{{DARK}}}}}"
    yield f"<style>:root{{color-scheme:light dark;{LIGHT}}}\n{dark}\n{style}</style></head><body>"
    yield '<a class="skip hidden" href="#panel">To the list of steps</a>'
    yield from _head(drawn)
    yield '<main id="stage" tabindex="-1" aria-label="Drawing">'
    for number, each in enumerate(drawn):
        picture = each.picture._replace(
            trace=each.picture.trace and each.picture.trace._replace(counted=False)
        )
        name = f"w{number}"
        yield f'<div class="drawing"{attribute("data-name", each.picture.name)}>'
        yield svg.render(picture, name=name, scheme="around")
        yield "</div>"
    yield "</main>"
    yield from _panel(drawn)
    yield from _timeline(first)
    yield f'<script type="application/json" id="data">{_data(drawn)}</script>'
    yield f"<script>{script}</script></body></html>"


def _head(drawn: Sequence[Drawn]) -> Iterator[str]:
    first = drawn[0].picture
    yield f"<header><h1>{escaped(first.name)}</h1>"
    told = standing(first)
    yield f'<p class="status">{escaped(told)}</p>'
    yield '<div class="tools" role="toolbar" aria-label="View">'
    if len(drawn) > 1:
        yield '<label class="hidden" for="pick">Workflow</label><select id="pick">'
        for number, each in enumerate(drawn):
            yield f'<option value="{number}">{escaped(each.picture.name)}</option>'
        yield "</select>"
    yield '<label class="hidden" for="search">Search steps</label>'
    yield '<input id="search" type="search" placeholder="Search steps" autocomplete="off" spellcheck="false">'
    yield '<button id="out" aria-label="Smaller">−</button><span id="zoomed" aria-hidden="true"></span>'  # noqa: RUF001
    yield '<button id="in" aria-label="Larger">+</button><button id="fit">Fit</button></div>'
    yield '<span id="found" class="hidden" role="status"></span></header>'


def _panel(drawn: Sequence[Drawn]) -> Iterator[str]:
    known = {each.name: address(each.picture.name) for each in drawn}
    yield '<aside id="panel" tabindex="-1" aria-label="Steps">'
    for each in drawn:
        yield f'<section class="about-one"{attribute("data-name", each.picture.name)}>'
        yield f"<h2>{escaped(each.picture.name)}</h2>"
        if each.picture.description:
            yield f'<p class="about">{escaped(each.description)}</p>'
        yield from steps(each, known, address)
        yield "</section>"
    if drawn[0].workflow is not None:
        yield '<details class="more"><summary>What the shapes mean</summary><div class="legend">'
        for kind, meaning in MEANING.items():
            yield _swatch(kind, meaning)
        yield "</div></details>"
    yield '<details class="more" id="help"><summary>Keys</summary><div class="keys">'
    for key, what in _KEYS:
        yield f"<kbd>{escaped(key)}</kbd><span>{escaped(what)}</span>"
    yield "</div></details></aside>"


def _swatch(kind: Kind, meaning: str) -> str:
    name = "agent" if kind is Kind.AGENTS else str(kind)
    style = f"--edge:var(--{name}-line);--fill:var(--{name})"
    return f'<i style="{style}"></i><span>{escaped(meaning)}</span>'


def _timeline(picture: Picture) -> Iterator[str]:
    if picture.trace is None:
        return
    last = len(picture.trace.stops) - 1
    yield '<footer id="time" aria-label="The session over time">'
    yield '<button id="back" aria-label="One record back">‹</button>'  # noqa: RUF001 - an arrow
    yield '<button id="play">Play</button><button id="on" aria-label="One record on">›</button>'  # noqa: RUF001
    yield '<label class="hidden" for="range">Record of the session</label>'
    yield f'<input id="range" type="range" min="0" max="{last}" value="{last}">'
    yield '<div id="told" aria-live="polite"></div></footer>'


def _data(drawn: Sequence[Drawn]) -> str:
    first = drawn[0].picture
    held: dict[str, Any] = {
        "workflows": [
            {
                "name": each.picture.name,
                "titles": {node.id: node.title for node in each.picture.nodes},
                "edges": [[arrow.source, arrow.target] for arrow in each.picture.arrows],
            }
            for each in drawn
        ],
        "session": _session(first) if first.trace is not None else None,
    }
    text = json.dumps(held, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _session(picture: Picture) -> Mapping[str, Any]:
    assert picture.trace is not None  # noqa: S101 - asked before
    told = trace_data(picture, picture.trace)
    more = [
        {"way": [list(pair) for pair in stop.way], "besides": stop.besides, "begun": stop.begun}
        for stop in picture.trace.stops
    ]
    return {"path": [{**stop, **also} for stop, also in zip(told["path"], more, strict=True)]}


def _part(name: str) -> str:
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    return decode(files.read_bounded(path, limit=LARGEST_PART, what="a part of the page"), source=name)
