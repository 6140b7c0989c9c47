"""Write a recorded session as a Python test that pytest or Python alone can run."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Mapping, Sequence

from flowrail.formatters.guidance.content import plain
from flowrail.testing.record.script import Script, Turn
from flowrail.text.safe_text import HIDDEN

LONGEST = 100
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_HIDDEN = re.compile(HIDDEN)


def source(script: Script) -> str:
    """Return the source of the test."""
    name = f"test_{script.session.replace('-', '_')}"
    day = _DAY.match(script.started_at)
    lines = [
        f'"""Session `{script.session}`{f" of {day[0]}" if day else ""}, written by `flow skill record`.',
        "",
        "It runs the workflow in memory and checks where each report leads. Run it with pytest or with python.",
        '"""',
        "",
        "from flowrail.testing import Run, load",
        "",
        "",
        f"def {name}():",
        *_call("run = Run", [f"load({_literal(script.skill)})"], script.params),
        f"    assert run.step == {_literal(script.entry)}",
    ]
    for turn in script.turns:
        lines += ["", *_turn(turn)]
    lines += ["", "", 'if __name__ == "__main__":', f"    {name}()", f'    print("passed: {name}")', ""]
    return "\n".join(lines)


def _turn(turn: Turn) -> Iterator[str]:
    act = turn.act
    for severity, text in act.findings:
        yield from _call("run.finding", [_literal(severity), _literal(text)])
    for finding in act.resolved:
        yield from _call("run.resolve", [_literal(finding)])
    if act.agents:
        yield from _call("run.agents", [_literal(word) for word in act.agents])
    if act.answers:
        answers = {name: words[0] if len(words) == 1 else list(words) for name, words in act.answers}
        yield from _call("run.answer", [], answers)
    yield from _call("run.report", [_literal(act.report)], act.facts)
    if not turn.moved:
        expected = _literal((turn.to, turn.status))
        yield f"    assert (run.step, run.status) == {expected}  # its limit asks the user"
    elif turn.to is None:
        yield f"    assert run.status == {_literal(turn.status)}"
    else:
        yield f"    assert run.step == {_literal(turn.to)}"


def _call(function: str, arguments: Sequence[str], named: Mapping[str, object] | None = None) -> list[str]:
    """Return a call on one line, or one argument per line. Names that are not identifiers are passed in a mapping."""
    values = plain(named or {})
    parts = list(arguments)
    parts += [f"{name}={_literal(value)}" for name, value in values.items() if _is_name(name)]
    mapping = {name: value for name, value in values.items() if not _is_name(name)}
    parts += [f"**{_literal(mapping)}"] if mapping else []
    line = f"    {function}({', '.join(parts)})"
    if len(line) <= LONGEST:
        return [line]
    return [f"    {function}(", *(f"        {part}," for part in parts), "    )"]


def _literal(value: object) -> str:
    """Return *value* as a Python literal, with escapes for invisible characters."""
    return _HIDDEN.sub(lambda match: f"\\U{ord(match[0]):08x}", repr(value))


def _is_name(name: str) -> bool:
    is_word = name.isascii() and name.isidentifier()  # Python normalises other letters
    return is_word and not keyword.iskeyword(name) and name not in {"self", "__debug__"}
