"""The steps of a workflow as a list in HTML: the drawing's content for who cannot see it, or wants to know more."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from flowrail.diagrams.model import MEANING, Node, Picture, Stop, Trace
from flowrail.diagrams.renderers.markdown import Drawn
from flowrail.diagrams.words import attribute, escaped, escaped_lines, line, times, took
from flowrail.machines.definition.step import StepDef
from flowrail.machines.engine.reported_values import fact_args

Address = Callable[[str, str], str]
LONGEST_TEXT = 20_000
LONGEST_FACT = 160
MOST_STOPS = 60
_STATES = {"here": "here now", "done": "done", "left": "still to come", "off": "not on the way"}


def steps(drawn: Drawn, known: Mapping[str, str], address: Address) -> Iterator[str]:
    """Yield the list of the steps of *drawn*; *known* are the addresses of workflows in the same page."""
    workflow, picture = drawn
    phase: str | None = None
    yield '<ol class="steps">'
    for node in picture.nodes:
        if not node.is_step:
            continue
        if node.phase is not None and node.phase != phase:
            yield f'<li class="phase">{escaped(node.phase)}</li>'
        phase = node.phase
        state = picture.trace.state(node) if picture.trace else ""
        now = f' <small class="now">{_STATES[state] if state == "here" else ""}</small>' if state else ""
        yield f'<li><details class="step {node.kind}"{attribute("data-id", node.id)}>'
        yield f"<summary>{_titled(node)}{now}</summary>"
        yield '<div class="inside">'
        yield from _about(picture, node, state)
        yield from _runs(node, known)
        yield from _ways(picture, node, address)
        step = workflow.get(node.id) if workflow is not None else None
        if step is not None:
            yield from _reports(step)
            yield from _told(step)
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
            yield f'<span class="tag">{escaped(took(picture.trace.seconds[node.id]))} in all</span>'
    if node.number is not None:
        yield f"<p>{escaped(MEANING[node.kind].capitalize())}.</p>"
    if node.notes:
        notes = escaped("; ".join(node.notes))
        yield f'<p class="said">{notes}</p>'


def _titled(node: Node) -> str:
    return f"{node.number} · {escaped(node.title)}" if node.number is not None else escaped(node.title)


def _runs(node: Node, known: Mapping[str, str]) -> Iterator[str]:
    if node.run is not None and node.run in known:
        yield f'<p><a class="runs"{attribute("href", known[node.run])}>Open {escaped(node.run)}</a></p>'


def _ways(picture: Picture, node: Node, address: Address) -> Iterator[str]:
    titles = {each.id: each for each in picture.nodes}
    yield "<h3>Ways on</h3><ul>"
    for arrow in picture.arrows:
        if arrow.source == node.id:
            target = titles[arrow.target]
            to = escaped(target.title)
            if target.is_step:
                to = f"<a{attribute('href', address(picture.name, target.id))}>{_titled(target)}</a>"
            yield f"<li>{escaped(arrow.label)}: {to}</li>"
    yield "</ul>"
    before = [titles[arrow.source] for arrow in picture.arrows if arrow.target == node.id]
    shown = [
        f"<a{attribute('href', address(picture.name, each.id))}>{each.number} · {escaped(each.title)}</a>"
        for each in before
        if each.is_step and each.id != node.id
    ]
    if shown:
        yield f"<p>Comes after {', '.join(shown)}</p>"


def _reports(step: StepDef) -> Iterator[str]:
    facts = fact_args(step)
    if facts:
        yield "<h3>Reports</h3><ul>"
        for name, arg in facts.items():
            choices = f": {' | '.join(map(str, arg.choices))}" if arg.choices else ""
            need = ", required" if arg.required else ""
            about = f" – {arg.description}" if arg.description else ""  # noqa: RUF001 - a dash
            yield f"<li><code>{escaped(name)}</code> {escaped(f'{arg.kind}{choices}{need}{about}')}</li>"
        yield "</ul>"
    if step.questions:
        yield "<h3>Questions</h3><ul>"
        for question in step.questions:
            options = " | ".join(option.label for option in question.options)
            yield f"<li>{escaped(question.text)} {escaped(f'({options})')}</li>"
        yield "</ul>"


def _told(step: StepDef) -> Iterator[str]:
    yield "<h3>Text</h3>"
    if callable(step.actions):
        yield "<p>Computed when it runs.</p>"
    else:
        yield _text(step.actions)
    for variant in step.variants:
        when = "a function says so" if callable(variant.when) else variant.when
        yield f"<h3>Told instead when {escaped(str(when))}</h3>{_text(variant.actions)}"


def _text(actions: Any) -> str:
    whole = "\n\n".join(str(each) for each in actions).strip()
    shown = whole if len(whole) <= LONGEST_TEXT else f"{whole[:LONGEST_TEXT]}…"
    return f'<pre tabindex="0">{escaped_lines(shown)}</pre>' if shown else "<p>None.</p>"


def _history(picture: Picture, trace: Trace, node: Node) -> Iterator[str]:
    titles = {each.id: each.title for each in picture.nodes}
    handed = trace.work.get(node.id, ())
    if handed:
        yield "<h3>Work handed out</h3><ul>"
        for work in handed:
            said = ", ".join(filter(None, [work.item, work.status, work.outcome]))
            yield f"<li><code>{escaped(work.id)}</code> {escaped(f'{work.agent}: {said}')}</li>"
        yield "</ul>"
    stops = [stop for stop in trace.stops if _is_of(stop, node)]
    if not stops:
        return
    yield "<h3>History</h3><ul>"
    if len(stops) > MOST_STOPS:
        yield f"<li>{len(stops) - MOST_STOPS} earlier ones</li>"
    for stop in stops[-MOST_STOPS:]:
        yield f"<li>{escaped(_happened(stop, titles))}</li>"
    yield "</ul>"


def _is_of(stop: Stop, node: Node) -> bool:
    return stop.way[0][0] == node.id if stop.way else stop.step == node.id


def _happened(stop: Stop, titles: Mapping[str, str]) -> str:
    if not stop.way:
        return f"{stop.at}: {stop.kind}{f' {stop.besides}' if stop.besides else ''} by {stop.by}"
    spent = f", took {took(stop.seconds)}" if stop.seconds is not None else ""
    facts = "".join(
        f"; {name} = {line(json.dumps(_plain(value), ensure_ascii=False, default=str), LONGEST_FACT)}"
        for name, value in stop.facts.items()
    )
    return f"{stop.at}: {stop.outcome} → {titles.get(stop.to or '', stop.to or stop.status)}{spent}{facts}"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value
