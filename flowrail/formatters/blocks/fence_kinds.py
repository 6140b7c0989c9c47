"""Which blocks a ``flow:`` fence may become, and from which lines.

A kind says which ``name: value`` lines a fence needs and may have, and what its other lines are: items,
cases (``result: what to do``), entries (``NAME = VALUE``), a text in which further fences may stand, or
nothing but such fences. How they become a block is `fence_makers`' business.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

NOTHING, ITEMS, CASES, ENTRIES, TEXT, BLOCKS = "nothing", "items", "cases", "entries", "text", "blocks"
NUMBERS = frozenset({"step", "total", "limit", "work_step", "pass_step"})
FLAGS = frozenset({"failed", "fresh", "free_form", "mandate", "self_fix"})
_ENTRY = re.compile(r"([^=\n]*[^=\s])\s*=\s*(.+)\Z", re.DOTALL)
_SHOWN = 40


class Body(NamedTuple):
    """What stands in a fence, placeholders filled: lines with a name, and what the others are."""

    fields: Mapping[str, str]
    items: Sequence[str] = ()

    def get(self, name: str, otherwise: str = "") -> str:
        """Return the value of a line, or *otherwise* where it has none."""
        return self.fields.get(name) or otherwise

    def maybe(self, name: str) -> str | None:
        """Return the value of a line, or `None` where it has none."""
        return self.fields.get(name) or None

    def number(self, name: str) -> int:
        """Return the value of a line as a number; `ValueError` where it is none."""
        return int(self.fields[name])

    def maybe_number(self, name: str) -> int | None:
        """Return the same, or `None` where there is no such line."""
        return int(self.fields[name]) if self.fields.get(name) else None

    def flag(self, name: str, *, otherwise: bool = False) -> bool:
        """Return whether a line says true."""
        return self.fields[name] == "true" if self.fields.get(name) else otherwise

    def entries(self) -> dict[str, str]:
        """Return the other lines by name; `ValueError` where one is no entry."""
        return dict(entry(item) for item in self.items)


class Kind(NamedTuple):
    """Which fields a fence needs and may have, and what its other lines are, how many at least.

    ``numbers`` are fields that hold one beside those that always do.
    """

    lines: str = NOTHING
    needed: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    fewest: int = 0
    numbers: tuple[str, ...] = ()
    problem: Callable[[Mapping[str, str]], str | None] = lambda _: None

    @property
    def names(self) -> frozenset[str]:
        """Every field that it may have."""
        return frozenset({*self.needed, *self.fields})

    def is_number(self, name: str) -> bool:
        """Return whether a field holds a whole number."""
        return name in NUMBERS or name in self.numbers


def entry(item: str) -> tuple[str, str]:
    """Return an item ``NAME = VALUE`` in its two parts; `ValueError` where it is none."""
    found = _ENTRY.match(item)
    if found is None:
        raise ValueError(f"`{item[:_SHOWN]}` is no line `NAME = VALUE`")
    return found.group(1).strip(), found.group(2)


def _no_half_command(fields: Mapping[str, str]) -> str | None:
    passed, failed = bool(fields.get("if_pass")), bool(fields.get("if_fail"))
    if passed != failed:
        return "`if_pass:` and `if_fail:` stand together"
    return "`command:` stands beside `if_pass:`" if passed and fields.get("command") else None


def _some_command(fields: Mapping[str, str]) -> str | None:
    if not any(fields.get(name) for name in _COMMANDS):
        return "there is no line `command: …`"
    return _no_half_command(fields)


_COMMANDS = ("command", "if_pass", "if_fail")
_STEP = ("script", "step", "total", "title")
_QR = ("iteration", "failed", "status")
_ROUND = ("iteration",)
_GATE = ("name", "work_step", "iteration")
_GATE_MORE = ("failed", "status", "pass_step", "pass_message", "self_fix", "fix_target", "limit", "policy")

KINDS: Mapping[str, Kind] = {
    "resource": Kind(ITEMS, fewest=1),
    "forbidden": Kind(ITEMS, fewest=1),
    "expected_output": Kind(ITEMS, fewest=1),
    "incorrect_behavior": Kind(
        ITEMS,
        fields=("consequence",),
        fewest=1,
    ),
    "detection_questions": Kind(
        ITEMS,
        fields=("category",),
        fewest=1,
    ),
    "verification_checklist": Kind(
        ITEMS,
        fields=("name",),
        fewest=1,
    ),
    "state_banner": Kind(ITEMS, ("checkpoint", "iteration", "mode"), ("limit",)),
    "routing": Kind(CASES),
    "open_question_guidance": Kind(),
    "factored_verification_rationale": Kind(),
    "step_header": Kind(NOTHING, _STEP, ("phase",)),
    "current_action": Kind(TEXT, fewest=1),
    "invoke_after": Kind(fields=_COMMANDS, problem=_some_command),
    "next_block": Kind(fields=_COMMANDS, problem=_some_command),
    "gate_result": Kind(NOTHING, ("status", "message")),
    "xml_mandate": Kind(),
    "step_output": Kind(
        TEXT,
        _STEP,
        ("phase", *_COMMANDS, "status", "message", "mandate"),
        fewest=1,
        problem=_no_half_command,
    ),
    "subagent_dispatch": Kind(
        ENTRIES,
        ("agent",),
        ("script", "step", "total", "command", "model", "free_form"),
    ),
    "model_selection": Kind(NOTHING, ("model",), ("reason",)),
    "parallel_dispatch": Kind(BLOCKS, fields=("join",), fewest=1),
    "template_dispatch": Kind(ITEMS, ("agent", "template"), ("join", "model"), fewest=1),
    "roster_dispatch": Kind(ENTRIES, ("agent", "context"), ("join", "model"), fewest=1),
    "conditional_dispatch": Kind(BLOCKS, ("when",), ("otherwise",), fewest=1),
    "orchestrator_constraint": Kind(),
    "qr_banner": Kind(NOTHING, ("name", "iteration"), ("failed", "status", "fresh"), 0, _ROUND),
    "gate_actions": Kind(NOTHING, _GATE, _GATE_MORE, 0, _ROUND),
    "gate_step": Kind(NOTHING, (*_STEP, *_GATE), ("phase", *_GATE_MORE), 0, _ROUND),
    "post_qr_routing": Kind(fields=("self_fix", "fix_target")),
    "qr_file_output": Kind(NOTHING, ("status",), ("report", "command")),
    "text_step_header": Kind(NOTHING, ("step", "total", "title")),
    "text_output": Kind(TEXT, ("step", "total", "title"), ("brief", "next_title"), fewest=1),
    "step": Kind(TEXT, fields=("command", "title"), fewest=1),
    "invoke_command": Kind(NOTHING, ("script", "step"), ("total", *_QR), 0, _ROUND),
    "question_format": Kind(),
    "question_relay": Kind(),
}
