"""One function that does something for a user: its signature is the command line and the MCP tool.

    @operation("session abandon", "flow session abandon release-k3x9q2 --reason 'no longer needed'")
    def abandon(environment: Environment, session: SessionId, *, reason: Reason = "") -> AbandonedSession:
        '''End a session that will not be completed'''

The name is the command. Positional parameters become arguments, keyword-only ones options. `Annotated[type, Help(…)]`
describes a parameter; `Literal` lists its choices. The first paragraph of the docstring is the one-line help. The result is a
dataclass with a `report` for people. Its fields are the JSON.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Concatenate,
    Generic,
    Literal,
    NamedTuple,
    ParamSpec,
    Protocol,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    runtime_checkable,
)

from flowrail.command import Command, value_text
from flowrail.errors import UsageError
from flowrail.operations.environment import Environment
from flowrail.outcome import REPORTABLE
from flowrail.text.report import Report

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


@runtime_checkable
class Result(Protocol):
    """What an operation returns: a dataclass. A result of agents' commands also has `xml`."""

    def report(self) -> Report:
        """Return what a person reads."""


class Help(NamedTuple):
    """The description of a parameter, and how a command line writes it."""

    text: str
    """What the parameter means, as a sentence."""
    short: str = ""
    """The short option, such as `-p`."""
    metavar: str = ""
    """How the help names the value."""
    file_option: str = ""
    """The option that reads the text, or for a mapping more values as JSON, from a file or standard input."""
    is_document: bool = False
    """Whether a command line may name a file, or - for standard input, instead of giving the document itself."""
    least: int | None = None
    """The smallest number that it takes."""


class Parameter(NamedTuple):
    """A parameter of an operation."""

    name: str
    kind: type[Any]
    """The type of one value: str, int, float, bool, or Mapping."""
    help: Help
    default: object
    """The default, or `inspect.Parameter.empty` if a value is required."""
    is_argument: bool
    """Whether a command line gives it by position."""
    is_repeated: bool = False
    """Whether it may be given several times."""
    choices: tuple[str, ...] = ()
    """The only values it takes."""
    annotation: Any = None
    """The annotation as it is written."""
    variable: str = ""
    """The parameter's own name: a name that Python reserves, such as `from`, has a `_` at its end."""

    @property
    def flag(self) -> str:
        """The option on a command line."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def is_required(self) -> bool:
        """Whether a value must be given."""
        return self.default is inspect.Parameter.empty


class Operation(Generic[P, R_co]):
    """A function as a command and, if agents use it, as an MCP tool. Calling it calls the function."""

    def __init__(
        self, name: str, function: Callable[Concatenate[Environment, P], R_co], examples: Sequence[str] = ()
    ) -> None:
        self.name = name
        self.function = function
        self.examples = examples

    def __call__(self, environment: Environment, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Call the function."""
        return self.function(environment, *args, **kwargs)

    @property
    def summary(self) -> str:
        """The one-line help."""
        return inspect.cleandoc(self.function.__doc__ or "").partition("\n")[0]

    @property
    def help(self) -> str:
        """The complete help. `$OUTCOMES` in it is replaced by the outcomes that a step can have."""
        return inspect.cleandoc(self.function.__doc__ or "").replace("$OUTCOMES", ", ".join(REPORTABLE))

    @cached_property
    def parameters(self) -> list[Parameter]:
        """The parameters in order, without the environment."""
        hints = get_type_hints(self.function, include_extras=True)
        declared = list(inspect.signature(self.function).parameters.values())[1:]
        return [_parameter(parameter, hints[parameter.name]) for parameter in declared]

    def arguments_of(self, command: Command) -> dict[str, Any]:
        """Return the arguments that a printed *command* gives to the function."""
        words = [*command.arguments]
        arguments: dict[str, Any] = {}
        for parameter in self.parameters:
            value = command.options.get(f"{parameter.name}s" if parameter.kind is Mapping else parameter.name)
            if parameter.is_argument and words:
                value = tuple(words) if parameter.is_repeated else words.pop(0)
            elif isinstance(value, Mapping) and parameter.kind is not Mapping:
                value = tuple(f"{name}={value_text(item)}" for name, item in value.items())
            if value is not None:
                arguments[parameter.variable] = value
        return arguments

    @property
    def result_type(self) -> Any:
        """The class of the result."""
        return get_type_hints(self.function).get("return")

    @property
    def has_xml(self) -> bool:
        """Whether agents read the result as XML."""
        return any(hasattr(kind, "xml") for kind in (self.result_type, *get_args(self.result_type)))


def operation(
    name: str, *examples: str
) -> Callable[[Callable[Concatenate[Environment, P], R_co]], Operation[P, R_co]]:
    """Return the decorator that makes a function the command *name*. Each of the *examples* is a command line that works."""
    return lambda function: Operation(name, function, examples)


def load_operation(module: str, name: str) -> Operation[..., Any]:
    """Import the operation in *module* of flowrail whose last word is *name*."""
    found = vars(import_module(f"flowrail.{module}")).values()
    operations = (value for value in found if isinstance(value, Operation))
    return next(known for known in operations if known.name.rpartition(" ")[2] == name)


def check_not_empty(parameter: Parameter, value: object) -> None:
    """Refuse an empty text where it would mean the same as none, and an empty id."""
    if value == "" and (parameter.default is None or parameter.help.metavar == "ID"):
        name = parameter.name.upper() if parameter.is_argument else parameter.flag
        raise UsageError(f"`{name}` is empty", hint="give it a value, or leave it out")


def exit_status_of(result: object) -> int:
    """Return the exit status of a result: its `exit_status`, by default 0."""
    status: int = getattr(result, "exit_status", 0)
    return status


def _parameter(declared: inspect.Parameter, hint: Any) -> Parameter:
    about = next((mark for mark in get_args(hint)[1:] if isinstance(mark, Help)), None)
    if about is None:
        raise TypeError(f"parameter `{declared.name}` has no Help")
    kind, is_repeated, choices = _kind_of(get_args(hint)[0])
    return Parameter(
        declared.name.rstrip("_"),
        kind,
        about,
        declared.default,
        is_argument=declared.kind is not inspect.Parameter.KEYWORD_ONLY,
        is_repeated=is_repeated,
        choices=choices,
        annotation=hint,
        variable=declared.name,
    )


def _kind_of(hint: Any) -> tuple[type[Any], bool, tuple[str, ...]]:
    """Return the type of one value, whether there may be several, and the choices."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _kind_of(args[0])
    if origin in {Union, UnionType}:
        return _kind_of(next(member for member in args if member is not NoneType))
    if origin is Literal:
        return str, False, args
    if origin is tuple:
        kind, _, choices = _kind_of(args[0])
        return kind, True, choices
    if origin is not None and issubclass(origin, Mapping):
        return Mapping, False, ()
    return hint, False, ()
