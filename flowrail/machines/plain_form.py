"""A workflow as plain data, for sessions to store."""

from __future__ import annotations

import collections.abc
import json
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache, lru_cache, partial
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NoReturn, Union, cast, get_args, get_origin, get_type_hints
from xml.parsers import expat

from cattrs import Converter
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from flowrail.errors import FlowError
from flowrail.machines.frozen import put
from flowrail.machines.step import StepContext, StepDef
from flowrail.machines.values import Arg
from flowrail.machines.workflow import Workflow
from flowrail.storage.converter import at_first_use, strict_converter
from flowrail.text.safe_text import Markup, parts

CODE = "code"
"""The key of a stored step that lists which of `handler` and `when` are functions."""


def code_not_stored(context: StepContext) -> NoReturn:
    """Raise an error: the workflow had a function here, which plain data cannot contain."""
    raise FlowError(
        f"step `{context.step_id}` is decided by code, which a session does not store",
        code="CODE_NOT_KEPT",
        hint="put the skill's folder back",
        step=context.step_id,
    )


def to_plain(part: object) -> Any:
    """Return a definition, or a part of one, as plain data, without keys that have their default and functions."""
    return _converter().unstructure(part)


def structure(part: Any) -> Any:
    """Return a definition, or a part of one, with only the fields that decide the path of a session."""
    if is_dataclass(part):
        deciding = (field.name for field in fields(part) if field.metadata.get("decides", True))
        return {name: structure(getattr(part, name)) for name in deciding}
    if isinstance(part, Mapping):
        return {key: structure(value) for key, value in part.items()}
    if isinstance(part, tuple):
        return [structure(item) for item in part]
    return "code" if callable(part) else part


def from_plain(data: Mapping[str, object]) -> Workflow:
    """Return the workflow that `to_plain` made *data* from. It was validated before it was stored.

    TypeError if *data* is not a workflow. Equal data give the same workflow object, so that its machine is
    compiled once.
    """
    return _from_text(json.dumps(data))


@lru_cache(maxsize=16)
def _from_text(text: str) -> Workflow:
    try:
        return _converter().structure(json.loads(text), Workflow)
    except Exception as error:  # noqa: BLE001 - any error of a hook means another form
        raise TypeError(f"{type(error).__name__}: {error}"[:500]) from None


# --- hooks of cattrs


@cache
def _converter() -> Converter:
    converter = strict_converter()
    converter.register_structure_hook(float, _number)
    converter.register_structure_hook(str, _text)
    converter.register_structure_hook_func(
        lambda kind: get_origin(kind) in {Union, UnionType}, partial(_member, converter)
    )
    converter.register_structure_hook_factory(is_dataclass, _reader)
    converter.register_unstructure_hook(str, _text_to_plain)
    converter.register_unstructure_hook_factory(is_dataclass, _writer)
    return converter


def _aliases(part: type[Any]) -> dict[str, Any]:
    return {field.name: override(rename=field.metadata.get("alias")) for field in fields(part)}


def _reader(part: type[Any], converter: Converter) -> Callable[[Any, Any], Any]:
    if part is Workflow:
        return partial(_workflow, converter)
    read = at_first_use(lambda: make_dict_structure_fn(part, converter, **_aliases(part)))
    return partial(_step, read) if part is StepDef else read


def _writer(part: type[Any], converter: Converter) -> Callable[[Any], dict[str, Any]]:
    write = make_dict_unstructure_fn(part, converter, _cattrs_omit_if_default=True, **_aliases(part))
    if part is Arg:
        return lambda arg: write(arg.as_written())
    return partial(_step_to_plain, write) if part is StepDef else write


def _step_to_plain(write: Callable[[StepDef], dict[str, Any]], step: StepDef) -> dict[str, Any]:
    """Return a step without its functions, and with the names of those that decide."""
    code = [name for name in ("handler", "when") if callable(getattr(step, name))]
    written = replace(
        step,
        title=step.name if callable(step.title) else step.title,
        actions=() if callable(step.actions) else step.actions,
        handler=None,
        when=None if callable(step.when) else step.when,
        variants=tuple(variant for variant in step.variants if not callable(variant.when)),
        dispatch=step.work,
    )
    return {**write(written), **({CODE: code} if code else {})}


def _step(read: Callable[[Any, Any], StepDef], data: Mapping[str, Any], _: object) -> StepDef:
    plain = {name: value for name, value in data.items() if name != CODE}
    code: dict[str, Any] = {
        name: code_not_stored for name in ("handler", "when") if name in data.get(CODE, ())
    }
    step = read(plain, StepDef)
    return replace(step, **code) if code else step


def _workflow(converter: Converter, data: Mapping[str, Any], _: object) -> Workflow:
    """Return a stored workflow. Its steps are positional arguments, so cattrs cannot call its class."""
    hints, values = get_type_hints(Workflow), {}
    names = {field.metadata.get("alias", field.name): field.name for field in fields(Workflow)}
    if unknown := data.keys() - names:
        raise TypeError(f"unknown keys {', '.join(sorted(unknown))}")
    for key, value in data.items():
        values[names[key]] = converter.structure(value, hints[names[key]])
    workflow = Workflow(values.pop("name"), *values.pop("steps"), validate=False, **values)
    put(workflow, is_checked=True)
    return workflow


def _number(value: object, _: object) -> float:
    """Return a number; a whole one stays whole."""
    if type(value) not in {int, float}:
        raise TypeError(f"expected a number, not {type(value).__name__}")
    return cast("float", value)


def _member(converter: Converter, data: object, union: object) -> object:
    """Return *data* as the member of a *union* that it looks like."""
    members = get_args(union)
    if data is None and NoneType in members:
        return None
    for member in members:
        kind = get_origin(member) or member
        if kind is Annotated:
            kind = get_args(member)[0]
        is_list = kind is collections.abc.Sequence and isinstance(data, list)
        is_part = is_dataclass(kind) and isinstance(data, dict)
        if is_list or is_part or type(data) is kind or (kind is Literal and data in get_args(member)):
            return converter.structure(data, member)
    if str in members and isinstance(data, dict):
        return _text(data, str)
    raise TypeError(f"unexpected {type(data).__name__}")


def _text_to_plain(text: str) -> object:
    pieces = [{"markup": str(piece)} if isinstance(piece, Markup) else str(piece) for piece in parts(text)]
    return {"parts": pieces} if len(pieces) > 1 else pieces[0] if pieces else ""


def _text(data: object, _: type) -> str:
    """Return a stored text, whose elements are marked. Markup that is not complete is text."""
    if isinstance(data, str):
        return data
    texts: list[str] = []
    for piece in data.get("parts", [data]) if isinstance(data, dict) else [data]:
        markup = piece.get("markup") if isinstance(piece, dict) else None
        text = piece if markup is None else markup
        if not isinstance(text, str):
            raise TypeError(f"expected text, not {type(text).__name__}")
        texts.append(Markup(text) if markup is not None and _is_complete(markup) else text)
    return texts[0] if len(texts) == 1 else "".join(texts)


def _is_complete(markup: str) -> bool:
    """Return whether *markup* closes every element that it opens."""
    parser = expat.ParserCreate()
    try:
        parser.Parse(f"<text>{markup}</text>".encode("utf-8", "surrogatepass"), True)
    except expat.ExpatError:
        return False
    return True
