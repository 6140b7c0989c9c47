"""A recorded session as a test in Python: readable, to be run by pytest or by itself, and to be changed."""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flowrail.formatters.data import plain
from flowrail.rehearsal.recording import Script, Turn

LONGEST = 100


def source(script: Script) -> str:
    """Return the test that *script* is."""
    name = f"test_{script.session.replace('-', '_')}"
    lines = [
        f'"""Session `{script.session}` of {script.started_at[:10] or "some day"}, written down by `flow record`.',
        "",
        "It steps the workflow in memory and holds where each report led: run it with pytest, or by itself.",
        '"""',
        "",
        "from flowrail.testing import Run, load",
        "",
        "",
        f"def {name}():",
        *_call("run = Run", [f"load({script.skill!r})"], script.params),
        f"    assert run.step == {script.entry!r}",
    ]
    for turn in script.turns:
        lines += ["", *_turn(turn)]
    lines += ["", "", 'if __name__ == "__main__":', f"    {name}()", f'    print("passed: {name}")', ""]
    return "\n".join(lines)


def _turn(turn: Turn) -> Iterator[str]:
    for severity, text in turn.findings:
        yield from _call("run.finding", [repr(severity), repr(text)])
    for finding in turn.resolved:
        yield from _call("run.resolve", [repr(finding)])
    if turn.agents:
        yield from _call("run.agents", [repr(word) for word in turn.agents])
    if turn.answers:
        given = {name: words[0] if len(words) == 1 else list(words) for name, words in turn.answers}
        yield from _call("run.answer", [], given)
    yield from _call("run.report", [repr(turn.report)], turn.facts)
    if not turn.moved:
        yield f"    assert (run.step, run.status) == ({turn.to!r}, {turn.status!r})  # its limit asks the user"
    elif turn.to is None:
        yield f"    assert run.status == {turn.status!r}"
    else:
        yield f"    assert run.step == {turn.to!r}"


def _call(what: str, given: Sequence[str], named: Mapping[str, Any] | None = None) -> list[str]:
    """Return a call on one line, or one argument a line; names that Python does not take come as a mapping."""
    values = plain(named or {})
    parts = list(given)
    parts += [f"{name}={value!r}" for name, value in values.items() if _is_name(name)]
    others = {name: value for name, value in values.items() if not _is_name(name)}
    parts += [f"**{others!r}"] if others else []
    line = f"    {what}({', '.join(parts)})"
    if len(line) <= LONGEST:
        return [line]
    return [f"    {what}(", *(f"        {part}," for part in parts), "    )"]


def _is_name(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name) and name != "self"
