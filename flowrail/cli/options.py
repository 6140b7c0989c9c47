"""Options and arguments that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, ParamSpec, Self, TypeVar

import click

from flowrail.cli import output
from flowrail.errors import UsageError
from flowrail.operations.environment import Environment

if TYPE_CHECKING:
    from flowrail.text.report import Report

F = TypeVar("F", bound=Callable[..., object])
P = ParamSpec("P")
SHARED = ("store", "roots", "form")
"""The parameters of commands that a `Call` holds."""


class Call:
    """A call of a command: what the options that commands share say, and where it was called."""

    def __init__(
        self,
        *,
        store: str | None = None,
        roots: Sequence[str] = (),
        form: str | None = None,
    ) -> None:
        self.store = store
        self.roots = roots
        self.form = form

    @classmethod
    def command(
        cls, name: str, *examples: str
    ) -> Callable[[Callable[Concatenate[Self, P], int | None]], click.Command]:
        """Return the decorator of a command, which gets a call and the values of its own parameters."""

        def decorate(function: Callable[Concatenate[Self, P], int | None]) -> click.Command:
            @wraps(function)
            def run(*args: P.args, **values: P.kwargs) -> int | None:
                shared: dict[str, Any] = {key: values.pop(key) for key in SHARED if key in values}
                return function(cls(**shared), *args, **values)

            title = "Examples:" if len(examples) > 1 else "Example:"
            epilog = "\n".join(["\b", title, *(f"  {line}" for line in examples)])
            return click.command(name, epilog=epilog)(run)

        return decorate

    @cached_property
    def environment(self) -> Environment:
        """Where the command was called."""
        return Environment(store=self.store, roots=self.roots, tell=lambda line: output.notes([line]))

    @property
    def as_json(self) -> bool:
        """Whether the answer is one JSON document."""
        return self.form == "json"

    def answer(self, data: object, shown: str | Report) -> None:
        """Print *data* if the answer is JSON, and otherwise what a person reads."""
        if self.as_json:
            output.data(data)
        elif isinstance(shown, str):
            output.text(shown)
        else:
            output.report(shown)


class SessionCall(Call):
    """A call of a command that reads or changes sessions.

    Once it has looked at its environment, standard output is kept for the answer.
    """

    conversation: ClassVar[str | None] = None
    """The conversation of the caller if it is not the one that the host names; empty for none."""

    @cached_property
    def environment(self) -> Environment:
        """Where the command was called."""
        output.keep_apart()
        return Environment(
            store=self.store,
            roots=self.roots,
            tell=lambda line: output.notes([line]),
            conversation=self.conversation,
        )


class OwnCall(SessionCall):
    """A call that belongs to no conversation, even if an agent makes it."""

    conversation = ""


def stacked(*decorators: Callable[[object], Any]) -> Callable[[F], F]:
    """Return one decorator for several, the first on top."""

    def decorate(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


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


color = click.option(
    "--color",
    type=click.Choice(output.COLORS),
    callback=output.keep_color,
    expose_value=False,
    help="When to use colour (default: on a terminal, unless NO_COLOR is set).",
)


def format_option(*names: str, about: str) -> Callable[[F], F]:
    """Return `--format` with these names, `--json` for one of them, and `--color`."""
    return stacked(
        click.option("--format", "form", type=click.Choice(names), help=about),
        click.option("--json", "form", flag_value="json", help="The same as --format json."),
        color,
    )


form = format_option(
    "xml", "text", "json", about="The output format (default: text on a terminal, XML in a pipe)."
)
as_json = format_option("text", "json", about="The output format (default: text).")
utc = click.option(
    "--utc", is_flag=True, callback=output.keep_utc, expose_value=False, help="Print exact times in UTC."
)
store = click.option("--store", metavar="DIR", help="The folder for sessions (default: the project's .flow).")
root = click.option(
    "--root",
    "roots",
    multiple=True,
    metavar="DIR",
    help="Also search this folder for skills. May be repeated.",
)
