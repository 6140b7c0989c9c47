"""An operation as a click command: arguments and options from its signature, and the options that all commands share."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

import click

from flowrail.cli import options, output
from flowrail.errors import DocumentError, UsageError
from flowrail.operations.environment import Environment
from flowrail.operations.operation import (
    Operation,
    Parameter,
    check_not_empty,
    exit_status_of,
    load_operation,
)
from flowrail.storage.files import read_bounded
from flowrail.text import json as strict_json
from flowrail.text import size_limits
from flowrail.text.safe_text import decode

__all__ = ["command_of", "load_operation"]

_SHARED = ("store", "roots", "form")
WAIT = 60.0
"""Seconds that a command waits for a session or a handoff that another process holds; many sub-agents may report to one."""


def command_of(operation: Operation[..., object]) -> click.Command:
    """Return the command that calls *operation* and prints its result."""

    def run(**values: Any) -> int:
        shared = {name: values.pop(name, None) for name in _SHARED}
        form = shared["form"] or output.usual_form()  # here standard output is still that of the answer
        environment = Environment(
            store=shared["store"],
            roots=shared["roots"] or (),
            tell=lambda text: output.notes([text]),
            confirm=output.confirm,
            at_terminal=output.is_shown_to_person(),
            stream=output.streaming() if form != "json" else lambda _: None,
            wait=WAIT,
        )
        output.keep_apart()
        parameters = operation.parameters
        given = {parameter.variable: _given(parameter, values) for parameter in parameters}
        arguments = [given.pop(parameter.variable) for parameter in parameters if parameter.is_argument]
        result = operation(environment, *arguments, **given)
        if result is not None:
            show(result, form)
        return exit_status_of(result)

    return click.Command(
        operation.name.rpartition(" ")[2],
        callback=run,
        help=operation.help,
        epilog=options.examples(operation.examples),
        params=[*(param for each in operation.parameters for param in _params(each)), *_shared(operation)],
    )


def show(result: Any, form: str | None) -> None:
    """Print a result: JSON if asked for, XML for agents, otherwise as a person reads it."""
    form = form or output.usual_form()
    if form == "json":
        from flowrail.formatters.json_output import as_data  # with cattrs: 15 ms

        output.data(as_data(result.data() if hasattr(result, "data") else result))
    elif form == "xml" and hasattr(result, "xml"):
        output.text(result.xml())
    else:
        output.report(result.report())


def _given(parameter: Parameter, values: dict[str, Any]) -> object:
    value = values[parameter.name]
    check_not_empty(parameter, value)
    if parameter.help.is_document:
        return _read_given(value, label=f"the file of {parameter.help.metavar.lower()}")[0]
    if parameter.help.file_option and parameter.kind is str:
        file = values.get(_file_name(parameter))
        if file and value:
            flag = f"--{parameter.name}"
            raise UsageError(
                f"exactly one of {flag} and {parameter.help.file_option} is needed", hint="give one of them"
            )
        return _read_text(file, label=f"the file of {parameter.help.file_option}")[0] if file else value
    if parameter.help.file_option:
        file = values.get(_file_name(parameter))
        loaded = _read_facts(file) if file else {}
        twice = sorted(value.keys() & loaded.keys())
        if twice:
            raise UsageError(
                f"`{twice[0]}` is set twice, by {parameter.help.short} and in the file", hint="set it once"
            )
        return {**value, **loaded}
    return value


def _params(parameter: Parameter) -> list[click.Parameter]:
    """Return the argument or the options of a parameter."""
    about = parameter.help
    if parameter.is_argument:
        return [
            click.Argument(
                [parameter.name],
                type=_type(parameter),
                required=parameter.is_required,
                nargs=-1 if parameter.is_repeated else 1,
                metavar=_metavar(parameter),
            )
        ]
    names = [*([about.short] if about.short else []), parameter.flag, parameter.name]
    if parameter.kind is Mapping:
        pairs = options.pairs(names[0], about.metavar or "NAME=VALUE")
        option = click.Option(names, multiple=True, callback=pairs, help=about.text, metavar=about.metavar)
    else:
        is_flag = parameter.kind is bool
        # a required option has no default: click takes `None` for one
        default: dict[str, Any] = {} if parameter.is_required else {"default": parameter.default}
        option = click.Option(
            names,
            type=None if is_flag else _type(parameter),
            is_flag=is_flag,
            required=parameter.is_required,
            multiple=parameter.is_repeated,
            **default,
            show_default=default.get("default") not in {None, False, "", ()},
            help=about.text,
            metavar=about.metavar or None,
        )
    if not about.file_option:
        return [option]
    what = "A JSON file with more of them" if parameter.kind is Mapping else "A file with the same"
    file_names = [about.file_option, _file_name(parameter)]
    return [option, click.Option(file_names, metavar="FILE", help=f"{what}; - reads standard input.")]


def _file_name(parameter: Parameter) -> str:
    return f"{parameter.name}_file"


def _metavar(parameter: Parameter) -> str:
    name = parameter.help.metavar or parameter.name.upper()
    name = f"{name}..." if parameter.is_repeated else name
    return name if parameter.is_required else f"[{name}]"


def _type(parameter: Parameter) -> click.ParamType[Any] | type[Any]:
    if parameter.help.least is not None:
        return click.IntRange(min=parameter.help.least)
    return click.Choice(parameter.choices) if parameter.choices else parameter.kind


def _shared(operation: Operation[..., object]) -> list[click.Parameter]:
    """Return the options that all commands have."""

    @(options.form if operation.has_xml else options.as_json)
    @options.store
    @options.root
    def carrier() -> None:
        """Carry the options."""

    return list(reversed(carrier.__click_params__))  # type: ignore[attr-defined]


# --- facts and texts in a file or on standard input


def _read_text(name: str, *, label: str) -> tuple[str, str]:
    """Return the text of the file *name*, or of standard input for ``-``, and its name for messages."""
    source = "standard input" if name == "-" else name
    if name == "-":
        data = sys.stdin.buffer.read(size_limits.JSON_BYTES + 1)
        if len(data) > size_limits.JSON_BYTES:
            raise DocumentError(
                f"has more than {size_limits.JSON_BYTES} bytes", hint="shorten it", place=source
            )
    else:
        data = read_bounded(name, limit=size_limits.JSON_BYTES, what=label, follow=True)
    return decode(data, source=source), source


def _read_given(text: str, *, label: str) -> tuple[str, str]:
    """Return a document that was given itself, in a file, or on standard input, and its name for messages."""
    is_given = text.lstrip()[:1] in {"{", "[", "<"} or (" " in text and not os.path.exists(text))
    return (text, label) if is_given else _read_text(text, label=label)


def _read_facts(name: str) -> dict[str, object]:
    """Return the object in the file *name*, or on standard input for ``-``."""
    text, source = _read_text(name, label="the file of facts")
    value = strict_json.load(text, source=source)
    if not isinstance(value, dict):
        raise DocumentError("does not contain a JSON object", hint='write {"name": value}', place=source)
    return value
