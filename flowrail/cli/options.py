"""Options that several commands share, and values of the form NAME=VALUE."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from flowrail.cli import output
from flowrail.errors import UsageError

F = TypeVar("F", bound=Callable[..., object])


def examples(lines: Sequence[str]) -> str:
    """Return the end of a command's help: command lines that work."""
    title = "Examples:" if len(lines) > 1 else "Example:"
    return "\n".join(["\b", title, *(f"  {line}" for line in lines)])


def named_values(texts: Sequence[str], option: str, form: str = "NAME=VALUE") -> dict[str, str]:
    """Return texts of the form NAME=VALUE as names and values."""
    values: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"`{option} {text[:60]}` is not {form}", hint=f"write it as `{option} {form}`")
        if name in values:
            raise UsageError(f"`{name[:80]}` is set twice", hint="set it once")
        values[name] = value
    return values


def pairs(
    option: str, form: str = "NAME=VALUE"
) -> Callable[[click.Context, click.Parameter, tuple[str, ...]], dict[str, str]]:
    """Return the callback of an *option* that is given as NAME=VALUE, once for each name."""
    return lambda _context, _param, texts: named_values(texts, option, form)


def format_option(*names: str, about: str) -> Callable[[F], F]:
    """Return `--format` with these names, `--json` for one of them, and `--color`."""
    decorators: Sequence[Callable[[Any], Any]] = (
        click.option("--format", "form", type=click.Choice(names), help=about),
        click.option("--json", "form", flag_value="json", help="The same as --format json."),
        click.option(
            "--color",
            type=click.Choice(output.COLORS),
            callback=output.keep_color,
            expose_value=False,
            help="When to use colour (default: on a terminal, unless NO_COLOR is set).",
        ),
    )

    def decorate(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


form = format_option(
    "xml", "text", "json", about="The output format (default: text on a terminal, XML in a pipe)."
)
as_json = format_option("text", "json", about="The output format (default: text).")
store = click.option("--store", metavar="DIR", help="The folder for sessions (default: the project's .flow).")
root = click.option(
    "--root",
    "roots",
    multiple=True,
    metavar="DIR",
    help="Also search this folder for skills. May be repeated.",
)
