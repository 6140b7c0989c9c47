"""The steps of a workflow as an HTML list, with their details and their history in a session."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from flowrail.diagrams.model import MEANING, Node, Picture, Trace, TraceEntry
from flowrail.diagrams.renderers.document import WorkflowPicture
from flowrail.machines.definition.step import StepDef, fact_args
from flowrail.text.phrases import duration, times
from flowrail.text.safe_text import attributes, shortened, xml_attribute, xml_text

Address = Callable[[str, str], str]
LONGEST_TEXT = 20_000
LONGEST_FACT = 160
MOST_ENTRIES = 60
_STATES = {"here": "here now", "done": "done", "left": "still to come", "off": "out of reach"}


def steps(drawn: WorkflowPicture, known: Mapping[str, str], address: Address) -> Iterator[str]:
    """Yield the list of the steps of *drawn*; *known* are the addresses of workflows in the same page."""
    workflow, picture = drawn
    phase: str | None = None
    yield '<ol class="steps">'
    for node in picture.nodes:
        if not node.is_step:
            continue
        if node.phase is not None and node.phase != phase:
            yield f'<li class="phase">{xml_text(node.phase)}</li>'
        phase = node.phase
        state = picture.trace.state(node) if picture.trace else ""
        current = f' <small class="now">{_STATES[state] if state == "here" else ""}</small>' if state else ""
        yield f'<li><details class="step {node.kind}" data-id="{xml_attribute(node.id)}">'
        yield f"<summary>{_titled(node)}{current}</summary>"
        yield '<div class="inside">'
        yield from _about(picture, node, state)
        yield from _runs(node, known)
        yield from _transitions(picture, node, address)
        step = workflow.get(node.id) if workflow is not None else None
        if step is not None:
            yield from _reports(step)
            yield from _instructions(step)
        if picture.trace is not None:
            yield from _history(picture, picture.trace, node)
        yield "</div></details></li>"
    yield "</ol>"


def _about(picture: Picture, node: Node, state: str) -> Iterator[str]:
    if picture.trace is not None:
        count = picture.trace.visits.get(node.id, 0)
        entered = f", entered {times(count)}" if count else ""
        yield f'<span class="tag state {state}">{_STATES[state]}{entered}</span>'
        if node.id in picture.trace.seconds:
            yield f'<span class="tag">{xml_text(duration(picture.trace.seconds[node.id]))} in total</span>'
    if node.number is not None:
        yield f"<p>{xml_text(MEANING[node.kind].capitalize())}.</p>"
    if node.notes:
        notes = xml_text("; ".join(node.notes))
        yield f'<p class="said">{notes}</p>'


def _titled(node: Node) -> str:
    return f"{node.number} · {xml_text(node.title)}" if node.number is not None else xml_text(node.title)


def _runs(node: Node, known: Mapping[str, str]) -> Iterator[str]:
    if node.run is not None and node.run in known:
        yield f'<p><a class="runs"{attributes(href=known[node.run])}>Open {xml_text(node.run)}</a></p>'


def _transitions(picture: Picture, node: Node, address: Address) -> Iterator[str]:
    nodes = {other.id: other for other in picture.nodes}
    yield "<h3>Transitions</h3><ul>"
    for arrow in picture.arrows:
        if arrow.source == node.id:
            target = nodes[arrow.target]
            to = xml_text(target.title)
            if target.is_step:
                to = f"<a{attributes(href=address(picture.name, target.id))}>{_titled(target)}</a>"
            yield f"<li>{xml_text(arrow.label)}: {to}</li>"
    yield "</ul>"
    before = [nodes[arrow.source] for arrow in picture.arrows if arrow.target == node.id]
    links = [
        f"<a{attributes(href=address(picture.name, source.id))}>{_titled(source)}</a>"
        for source in before
        if source.is_step and source.id != node.id
    ]
    if links:
        yield f"<p>Comes after {', '.join(links)}</p>"


def _reports(step: StepDef) -> Iterator[str]:
    facts = fact_args(step)
    if facts:
        yield "<h3>Reports</h3><ul>"
        for name, arg in facts.items():
            choices = f": {' | '.join(map(str, arg.choices))}" if arg.choices else ""
            need = ", required" if arg.required else ""
            about = f" – {arg.description}" if arg.description else ""  # noqa: RUF001 - a dash
            yield f"<li><code>{xml_text(name)}</code> {xml_text(f'{arg.kind}{choices}{need}{about}')}</li>"
        yield "</ul>"
    if step.questions:
        yield "<h3>Questions</h3><ul>"
        for question in step.questions:
            options = " | ".join(option.label for option in question.options)
            yield f"<li>{xml_text(question.text)} {xml_text(f'({options})')}</li>"
        yield "</ul>"


def _instructions(step: StepDef) -> Iterator[str]:
    yield "<h3>Instructions</h3>"
    if callable(step.actions):
        yield "<p>Computed when the step runs.</p>"
    else:
        yield _text(step.actions)
    for variant in step.variants:
        when = "a function returns true" if callable(variant.when) else variant.when
        yield f"<h3>Instead, when {xml_text(str(when))}</h3>{_text(variant.actions)}"


def _text(actions: Any) -> str:
    whole = "\n\n".join(str(action) for action in actions).strip()
    shown = whole if len(whole) <= LONGEST_TEXT else f"{whole[:LONGEST_TEXT]}…"
    return f'<pre tabindex="0">{xml_text(shown)}</pre>' if shown else "<p>None.</p>"


def _history(picture: Picture, trace: Trace, node: Node) -> Iterator[str]:
    titles = {other.id: other.title for other in picture.nodes}
    dispatches = trace.dispatches.get(node.id, ())
    if dispatches:
        yield "<h3>Dispatches</h3><ul>"
        for dispatch in dispatches:
            result = ", ".join(filter(None, [dispatch.item, dispatch.status, dispatch.outcome]))
            yield f"<li><code>{xml_text(dispatch.id)}</code> {xml_text(f'{dispatch.agent}: {result}')}</li>"
        yield "</ul>"
    entries = [entry for entry in trace.entries if _is_of(entry, node)]
    if not entries:
        return
    yield "<h3>History</h3><ul>"
    if len(entries) > MOST_ENTRIES:
        yield f"<li>{len(entries) - MOST_ENTRIES} earlier records</li>"
    for entry in entries[-MOST_ENTRIES:]:
        yield f"<li>{xml_text(_description(entry, titles))}</li>"
    yield "</ul>"


def _is_of(entry: TraceEntry, node: Node) -> bool:
    return entry.path[0][0] == node.id if entry.path else entry.step == node.id


def _description(entry: TraceEntry, titles: Mapping[str, str]) -> str:
    if not entry.path:
        return f"{entry.at}: {entry.kind}{f' {entry.note}' if entry.note else ''} by {entry.by}"
    spent = f", took {duration(entry.seconds)}" if entry.seconds is not None else ""
    facts = "".join(
        f"; {name} = {shortened(json.dumps(_plain(value), ensure_ascii=False, default=str), LONGEST_FACT)}"
        for name, value in entry.facts.items()
    )
    return (
        f"{entry.at}: {entry.outcome} → {titles.get(entry.to or '', entry.to or entry.status)}{spent}"
        f"{f'; {entry.note}' if entry.note else ''}{facts}"
    )


def _plain(value: object) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
