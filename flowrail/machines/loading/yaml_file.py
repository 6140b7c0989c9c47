"""A definition out of a document's data, whatever of it has the right shape; the rest is left out."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from flowrail.errors import DocumentError
from flowrail.machines.definition.delegation import AgentRole
from flowrail.machines.definition.findings import Finding, Path
from flowrail.machines.definition.frozen import freeze
from flowrail.machines.definition.step import (
    BUILT_IN,
    LARGEST_TOGETHER,
    LEASE_SECONDS,
    Delegation,
    GateDef,
    OptionDef,
    QuestionDef,
    Rule,
    StepDef,
    Variant,
)
from flowrail.machines.definition.values import KINDS, arg_from
from flowrail.machines.definition.workflow import Workflow

ReadText = Callable[[str], str]
"""Returns the text of a file of the skill's folder by its relative path; raises `DocumentError`."""


class Builder:
    """Builds a definition out of whatever has the right shape."""

    def __init__(
        self, place: Callable[[Path], str], read_text: ReadText, text_folder: str, findings: list[Finding]
    ) -> None:
        self.place = place
        self.read_text = read_text
        self.text_folder = text_folder
        self.findings = findings
        self.indexes: list[int] = []
        self.files: dict[Path, tuple[str, str]] = {}
        self.misshapen: set[str | None] = set()
        self._texts: dict[str, str] = {}
        self._length = 0

    def as_written(self, path: Path) -> Path:
        """Return a path into the definition as a path into the document."""
        if path[:1] == ("entry_point",):
            return ("entry",)
        if len(path) > 1 and path[0] == "steps" and isinstance(path[1], int):
            return ("steps", self.indexes[path[1]], *path[2:])
        return path

    def where(self, path: Path) -> str:
        """Return the place of a path into the definition; of a text that is a file, its line there."""
        written = self.as_written(path)
        for length in range(len(written), 2, -1):
            if written[:length] in self.files:
                name, text = self.files[written[:length]]
                return f"{name}:{_line_of(text, written[length:])}"
        return self.place(written)

    def definition(self, data: Mapping[str, Any], name: str) -> Workflow:
        """Return the definition that *data* gives."""
        entry = data.get("entry")
        description = data.get("description")
        written = data.get("steps")
        steps = [
            self._step(step, index)
            for index, step in enumerate(written if isinstance(written, list) else [])
            if isinstance(step, dict) and isinstance(step.get("id"), str)
        ]
        return Workflow(
            name,
            *steps,
            validate=False,
            entry_point=entry if isinstance(entry, str) else None,
            description=description if isinstance(description, str) else "",
            params=self._values(data.get("params")),
            origin=self.place(()),
            then=data["then"] if isinstance(data.get("then"), str) else None,
        )

    def _step(self, data: Mapping[str, Any], index: int) -> StepDef:
        self.indexes.append(index)
        ways = data.get("next")
        if ways != {}:  # whatever else has come to nothing is told as it was written
            self.misshapen.add(data["id"])
        limit = data.get("limit")
        return StepDef(
            id=data["id"],
            title=_text(data.get("title")),
            actions=self._told(data, index),
            next={
                outcome: target
                for outcome, target in (ways if isinstance(ways, dict) else {}).items()
                if target is None or isinstance(target, str)
            },
            phase=data["phase"] if isinstance(data.get("phase"), str) else None,
            when=data["when"] if isinstance(data.get("when"), str) else None,
            limit=limit if isinstance(limit, int) and not isinstance(limit, bool) else None,
            reports=self._values(data.get("reports")),
            rules=[
                Rule(rule["outcome"], rule.get("if") if isinstance(rule.get("if"), str) else None)
                for rule in _dicts(data.get("rules"))
                if isinstance(rule.get("outcome"), str)
            ],
            variants=[
                Variant(variant["when"], self._variant_text(variant, index, at))
                for at, variant in enumerate(_dicts(data.get("variants")))
                if isinstance(variant.get("when"), str)
            ],
            dispatch=self._dispatch(data.get("dispatch"), index),
            questions=[_question(question) for question in _dicts(data.get("questions"))],
            gate=_gate(data.get("gate")),
            forbids=[each for each in _list(data.get("forbids")) if isinstance(each, str)],
            origin=self.place(("steps", index)),
        )

    def _dispatch(self, data: object, index: int) -> Delegation | None:
        if not isinstance(data, dict):
            return None
        prompt = data.get("prompt")
        agent = data.get("agent")
        return Delegation(
            agent=agent if agent in list(AgentRole) else AgentRole.GENERAL_PURPOSE.value,
            run=data["run"] if _is_text(data, "run") else None,
            over=_over(data.get("over")),
            vars=freeze(data["vars"] if isinstance(data.get("vars"), dict) else {}),
            join=data["join"] if _is_text(data, "join") else "all",
            model=data["model"] if _is_text(data, "model") else None,
            prompt=self._file(prompt, ("steps", index, "dispatch", "prompt"))
            if isinstance(prompt, str)
            else (),
            lease=_seconds(data.get("lease")),
        )

    def _told(self, data: Mapping[str, Any], index: int) -> tuple[str, ...]:
        actions = data.get("actions")
        if isinstance(actions, list):
            return tuple(each for each in actions if isinstance(each, str))
        if isinstance(actions, str):  # that it is no list is told already, and it is no missing file
            return (actions,)
        named = data.get("text")
        step_id = data["id"]
        path = named if isinstance(named, str) else f"{self.text_folder}/{step_id}.md"
        at: Path = ("steps", index, "text" if isinstance(named, str) else "id")
        return self._file(path, at, step_id, ("steps", index, "actions"))

    def _variant_text(self, data: Mapping[str, Any], index: int, at: int) -> tuple[str, ...]:
        actions = data.get("actions")
        if isinstance(actions, list):
            return tuple(each for each in actions if isinstance(each, str))
        path = data.get("text")
        return self._file(path, ("steps", index, "variants", at, "text")) if isinstance(path, str) else ()

    def _file(
        self, name: str, path: Path, step_id: str | None = None, told: Path | None = None
    ) -> tuple[str, ...]:
        """Return the text of a file that is named at *path*; what is found in it goes by *told*."""
        try:
            text = self._text_of(name)
            self.files[told or path] = (name, text)
            return (text.strip("\n"),)
        except DocumentError as error:
            self.findings.append(
                Finding(
                    "FR125", "error", f"no text: {error.fact}", str(error.hint), self.place(path), step_id
                )
            )
            return (f"(no text: {name})",)

    def _text_of(self, name: str) -> str:
        if self._length <= LARGEST_TOGETHER:
            text = self._texts[name] = self._texts[name] if name in self._texts else self.read_text(name)
            self._length += len(text)
            if self._length <= LARGEST_TOGETHER:
                return text
        fact = f"the texts have more than {LARGEST_TOGETHER} characters together"
        raise DocumentError(fact, hint="part the workflow", place=name)

    def _values(self, data: object) -> dict[str, Any]:
        if not isinstance(data, dict):
            return {}
        values: dict[str, Any] = {}
        for name, spec in data.items():
            kind = spec.get("type") if isinstance(spec, dict) else None
            known = isinstance(spec, dict) and (kind is None or kind in KINDS)
            values[name] = arg_from(_plausible(spec) if known else {})
        return {name: value for name, value in values.items() if name not in BUILT_IN or data}


def _line_of(text: str, inside: Path) -> int:
    """Return the line of *text* in which the last word of a path stands, the first where none does."""
    word = next((part for part in reversed(inside) if isinstance(part, str)), None)
    found = re.search(rf"{re.escape(word)}(?![a-z0-9_])", text) if word else None
    return text.count("\n", 0, found.start()) + 1 if found else 1


def _over(value: object) -> str | tuple[Any, ...] | None:
    if value is None or isinstance(value, str):
        return value
    return tuple(value) if isinstance(value, list) else ()


def _question(data: Mapping[str, Any]) -> QuestionDef:
    deadline = data.get("deadline")
    return QuestionDef(
        id=_text(data.get("id")),
        header=_text(data.get("header")),
        text=_text(data.get("text")),
        options=tuple(
            OptionDef(
                _text(option.get("label")),
                option["outcome"] if _is_text(option, "outcome") else None,
                _text(option.get("description")),
            )
            for option in _dicts(data.get("options"))
        ),
        multi=data.get("multi") is True,
        other=data["other"] if _is_text(data, "other") else None,
        default=data["default"] if _is_text(data, "default") else None,
        deadline=deadline if _is_number(deadline) else None,
    )


def _gate(data: object) -> GateDef | None:
    if not isinstance(data, dict) or not _is_text(data, "review"):
        return None
    limit = data.get("limit", 5)
    return GateDef(
        name=_text(data.get("name")),
        review=data["review"],
        limit=limit if isinstance(limit, int) and not isinstance(limit, bool) else 5,
        policy=data["policy"] if _is_text(data, "policy") else None,
    )


def _is_text(data: Mapping[str, Any], key: str) -> bool:
    return isinstance(data.get(key), str)


def _plausible(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of a value's declaration that have the right shape."""
    fits: dict[str, Callable[[Any], bool]] = {
        "type": lambda value: isinstance(value, str),
        "description": lambda value: isinstance(value, str),
        "choices": lambda value: isinstance(value, list),
        "default": lambda value: isinstance(value, (str, int, float, list)),
        "required": lambda value: isinstance(value, bool),
        "example": lambda _: True,
        "min": _is_number,
        "max": _is_number,
        "min_length": _is_number,
        "max_length": _is_number,
    }
    return {key: value for key, value in spec.items() if key in fits and fits[key](value)}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _seconds(value: Any) -> float:
    return value if _is_number(value) and value >= 1 else LEASE_SECONDS


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _dicts(value: object) -> list[dict[str, Any]]:
    return [each for each in _list(value) if isinstance(each, dict)]


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
