"""Results as plain data: what `--json` prints, and the structured content of MCP tools. Commands stay values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, get_origin

from cattrs import Converter
from cattrs.cols import is_namedtuple, namedtuple_dict_unstructure_factory
from cattrs.gen import make_dict_unstructure_fn, override

from flowrail.command import Command, Hint
from flowrail.machines.plain_form import to_plain
from flowrail.machines.values import Arg
from flowrail.machines.workflow import Workflow


def as_data(result: object) -> Any:
    """Return the fields of a result, nested, as mappings, lists, texts, numbers and commands."""
    return _converter().unstructure(result)


@cache
def _converter() -> Converter:
    converter = Converter(unstruct_collection_overrides={tuple: list, frozenset: sorted})
    converter.register_unstructure_hook_factory(is_namedtuple, namedtuple_dict_unstructure_factory)
    converter.register_unstructure_hook_factory(is_dataclass, _dataclass)
    converter.register_unstructure_hook_func(_is_mapping, _mapping)
    for kind in (Command, Hint):
        converter.register_unstructure_hook(kind, _itself)
    for definition in (Arg, Workflow):
        converter.register_unstructure_hook(definition, to_plain)
    return converter


def _dataclass(kind: Any, converter: Converter) -> Callable[[Any], dict[str, Any]]:
    """Return the function for a dataclass. Fields with the metadata `internal` are left out."""
    internal = {each.name: override(omit=True) for each in fields(kind) if "internal" in each.metadata}
    return make_dict_unstructure_fn(kind, converter, **internal)  # type: ignore[arg-type]


def _is_mapping(kind: Any) -> bool:
    return isinstance(get_origin(kind) or kind, type) and issubclass(get_origin(kind) or kind, Mapping)


def _mapping(value: Mapping[Any, object]) -> dict[Any, object]:
    return {_converter().unstructure(key): as_data(item) for key, item in value.items()}


def _itself(value: object) -> object:
    return value
