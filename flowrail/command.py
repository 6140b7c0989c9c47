"""Commands of flow as values, and texts that contain them.

Guidance, hints and errors carry a `Command`. Its text is the line to type in a shell; an interface without a
shell shows the same command in its own form.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping

Option = str | int | float | bool | tuple[str, ...] | Mapping[str, object] | None
"""An option's value. `True` prints the flag alone, `None` and `False` print nothing, a tuple repeats the option."""

_SHORT = {"facts": "-s", "params": "-p", "answers": ""}
"""Options whose value is a mapping, with what precedes each NAME=VALUE on a command line."""


class Command:
    """A verb such as ``step`` or ``session migrate``, its arguments, its options, and the store if not the default.

    The options `facts`, `params` and `answers` hold names and values. Their values may be of any kind: a command
    line shows them as text.
    """

    __slots__ = (
        "arguments",
        "options",
        "store",
        "verb",
    )  # no dataclass: a hook must start without that import

    def __init__(self, verb: str, *arguments: str, store: str | None = None, **options: Option) -> None:
        self.verb = verb
        self.arguments = arguments
        self.options = {name.rstrip("_"): value for name, value in options.items() if value is not None}
        self.store = store

    def __str__(self) -> str:
        """Return the line to type in a shell."""
        import shlex  # 0.2 ms, which help does not need

        return " ".join(shlex.quote(word) for word in self.words)

    def __repr__(self) -> str:
        return f"<Command: {self}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Command) and self.words == other.words

    def __hash__(self) -> int:
        return hash(self.words)

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the command line.

        They fit on one line, with no invisible character. A value with one, or with a line end, becomes
        ``NAME=…``, which the caller fills in. A store with one is left out.
        """
        words = ["flow", *self.verb.split(), *self.arguments]
        trailing: list[str] = []
        for name, value in self.options.items():
            (words if name == "answers" else trailing).extend(_option_words(name, value))
        store = ("--store", self.store) if self.store and self.store.isprintable() else ()
        return (*words, *trailing, *store)

    def with_options(self, **options: Option) -> Command:
        """Return the command with these options too."""
        return Command(self.verb, *self.arguments, store=self.store, **{**self.options, **options})

    def with_store(self, store: str | None, verbs: Container[str]) -> Command:
        """Return the command for *store* if its first word is in *verbs*, those that use one, and it names none."""
        if self.store or not store or self.verb.partition(" ")[0] not in verbs:
            return self
        return Command(self.verb, *self.arguments, store=store, **self.options)


class Hint:
    """A text with commands in it: what to do next. Its own text shows them as shell lines."""

    def __init__(self, *parts: str | Command | Hint) -> None:
        flat: list[str | Command] = []
        for part in parts:
            flat.extend(part.parts if isinstance(part, Hint) else [part])
        self.parts: tuple[str | Command, ...] = tuple(flat)

    def __str__(self) -> str:
        return self.render(str)

    def __repr__(self) -> str:
        return f"Hint({', '.join(map(repr, self.parts))})"

    def render(self, show: Callable[[Command], str]) -> str:
        """Return the text, each command as *show* prints it."""
        return "".join(show(part) if isinstance(part, Command) else part for part in self.parts)

    def with_store(self, store: str | None, verbs: Container[str]) -> Hint:
        """Return the hint with *store* in each command whose first word is in *verbs* and that names none."""
        return Hint(
            *(part.with_store(store, verbs) if isinstance(part, Command) else part for part in self.parts)
        )


def value_text(value: object) -> str:
    """Return a fact or parameter as a command line gives it: a text as it is, anything else as JSON."""
    if isinstance(value, str):
        return value
    import json  # `flow list` prints commands without values

    return json.dumps(value, ensure_ascii=False, default=list)


def _option_words(name: str, value: Option) -> Iterator[str]:
    flag = "--facts" if name == "facts_file" else f"--{name.replace('_', '-')}"
    if isinstance(value, Mapping):
        short = _SHORT.get(name, flag)
        for key, item in value.items():
            items = item if name == "answers" and isinstance(item, tuple) else (item,)
            for text in map(value_text, items):
                is_open = "\n" in text or "\r" in text or not (text.isprintable() or name == "answers")
                yield from (*((short,) if short else ()), f"{key}={'…' if is_open else text}")
    elif value is True:
        yield flag
    elif isinstance(value, tuple):
        for item in value:
            yield from (flag, item)
    elif value is not False and value is not None:
        yield from (flag, str(value))
