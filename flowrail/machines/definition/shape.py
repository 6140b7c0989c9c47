"""Whether plain data has the form of a kept workflow, as far as code that uses it relies on that.

What a session keeps may have come with a clone. Rules of the graph are not judged here (`checks`), only
that each part is of the type that it is taken for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Check = Callable[[Any], bool]


def check_shape(data: Any) -> None:
    """Raise TypeError, naming the place, where *data* is not of the form that `plain.to_plain` gives."""
    _fields(data, _WORKFLOW, "the workflow")
    for name, arg in data["params"].items():
        _fields(arg, _ARG, f"the parameter `{str(name)[:60]}`")
    ids = {step.get("id") for step in data["steps"] if isinstance(step, dict) and _text(step.get("id"))}
    for step in data["steps"]:
        where = f"step `{str(step.get('id'))[:60]}`" if isinstance(step, dict) else "a step"
        _fields(step, _STEP, where)
        if any(target is not None and target not in ids for target in step.get("next", {}).values()):
            raise TypeError(f"`next` of {where} leads to a step that is not there")
        for name, arg in step.get("reports", {}).items():
            _fields(arg, _ARG, f"`{str(name)[:60]}` of {where}")
        if "dispatch" in step:
            _fields(step["dispatch"], _WORK, f"the dispatch of {where}")
        if "gate" in step:
            _fields(step["gate"], _GATE, f"the gate of {where}")
        for question in step.get("questions", ()):
            _fields(question, _QUESTION, f"a question of {where}")
            for option in question["options"]:
                _fields(option, _OPTION, f"an option of {where}")


def _fields(data: Any, fields: Mapping[str, tuple[bool, Check]], where: str) -> None:
    if not isinstance(data, dict):
        raise TypeError(f"{where} is no mapping")
    for name, (needed, fits) in fields.items():
        if name in data:
            if not fits(data[name]):
                raise TypeError(f"`{name}` of {where} is of another type")
        elif needed:
            raise TypeError(f"{where} has no `{name}`")


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _name(value: Any) -> bool:
    return isinstance(value, str) and "\0" not in value


def _text_or_none(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _whole(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool))


def _number(value: Any) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _truth(value: Any) -> bool:
    return isinstance(value, bool)


def _anything(_value: Any) -> bool:
    return True


def _mapping(value: Any) -> bool:
    return isinstance(value, dict)


def _list(value: Any) -> bool:
    return isinstance(value, list)


def _list_or_none(value: Any) -> bool:
    return value is None or isinstance(value, list)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _texts_or_one(value: Any) -> bool:
    return value is None or isinstance(value, str) or _list(value)


def _told(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, str) or (isinstance(each, dict) and isinstance(each.get("markup"), str))
        for each in value
    )


def _ways(value: Any) -> bool:
    return isinstance(value, dict) and all(
        target is None or isinstance(target, str) for target in value.values()
    )


def _mapping_of_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())


def _rules(value: Any) -> bool:
    return _list(value) and all(
        _list(each) and len(each) == len(("outcome", "when")) and _text(each[0]) and _text_or_none(each[1])
        for each in value
    )


def _variants(value: Any) -> bool:
    return _list(value) and all(
        _list(each) and len(each) == len(("when", "actions")) and _text(each[0]) and _told(each[1])
        for each in value
    )


_WORKFLOW: Mapping[str, tuple[bool, Check]] = {
    "name": (True, _name), "description": (True, _text), "entry": (True, _text_or_none),
    "params": (True, _mapping), "steps": (True, _list), "then": (False, _text_or_none),
    "resources": (False, _mapping_of_texts),
}  # fmt: skip
_STEP: Mapping[str, tuple[bool, Check]] = {
    "id": (True, _text), "title": (False, _text), "actions": (False, _told), "next": (False, _ways),
    "phase": (False, _text), "when": (False, _text), "limit": (False, _whole), "reports": (False, _mapping),
    "rules": (False, _rules), "variants": (False, _variants), "dispatch": (False, _mapping),
    "questions": (False, _list), "gate": (False, _mapping), "code": (False, _texts),
}  # fmt: skip
_ARG: Mapping[str, tuple[bool, Check]] = {
    "description": (False, _text), "min": (False, _number), "max": (False, _number),
    "choices": (False, _list_or_none), "required": (False, _truth), "type": (False, _text_or_none),
    "min_length": (False, _whole), "max_length": (False, _whole),
}  # fmt: skip
_WORK: Mapping[str, tuple[bool, Check]] = {
    "agent": (True, _text), "run": (True, _text_or_none), "over": (True, _texts_or_one),
    "vars": (True, _mapping), "join": (True, _text), "model": (True, _text_or_none), "prompt": (True, _told),
}  # fmt: skip
_GATE: Mapping[str, tuple[bool, Check]] = {
    "name": (True, _text), "review": (True, _text), "limit": (True, _whole), "policy": (True, _anything),
}  # fmt: skip
_QUESTION: Mapping[str, tuple[bool, Check]] = {
    "id": (True, _text), "header": (True, _text), "text": (True, _text), "options": (True, _list),
}  # fmt: skip
_OPTION: Mapping[str, tuple[bool, Check]] = {"label": (True, _text), "outcome": (True, _text_or_none)}
