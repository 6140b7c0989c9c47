"""The user's own configuration, `config.toml`. A project cannot set any of it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated

from flowrail.errors import DocumentError
from flowrail.storage import files
from flowrail.storage.user_folders import configuration_path
from flowrail.text.validation import Bounds, in_words

_LARGEST_FILE = 64_000
_CHECKED = {"extra": "forbid", "strict": True}


@dataclass(frozen=True)
class FleetLimits:
    """How many agents a worker runs, how long, and how often."""

    __pydantic_config__ = _CHECKED

    slots: Annotated[int, Bounds(ge=1)] = 1
    """How many agents each worker runs at the same time."""
    time_limit: Annotated[float, Bounds(gt=0)] = 60.0
    """The longest time of one run, in minutes."""
    attempts: Annotated[int, Bounds(ge=1)] = 3
    """How many runs in a row may fail before the work is given up."""
    retry_seconds: Annotated[float, Bounds(ge=0)] = 10.0
    """The pause before the second attempt. It doubles each time."""
    programs: dict[str, Annotated[list[str], Bounds(min_length=1)]] = field(default_factory=dict)
    """Commands that run agents, by name. For `claude` or another host, the list replaces its default arguments."""


@dataclass(frozen=True)
class Configuration:
    """What the user configured."""

    __pydantic_config__ = _CHECKED

    store: str = ""
    """A folder, or the address of a database, used if neither `--store` nor `FLOW_STORE` is given."""
    notify: tuple[Annotated[str, Bounds(min_length=1)], ...] = ()
    """A command that runs when a watched session starts to need a person; see `flow watch --help`."""
    fleet: FleetLimits = field(default_factory=FleetLimits)
    """The programs and limits of `flow fleet`."""

    def __post_init__(self) -> None:
        if not _is_store(self.store):
            raise ValueError(
                "`store` is neither an absolute path nor the address of a database, such as "
                "postgresql://user@host/database"
            )


def read_configuration(environ: Mapping[str, str], home: str) -> Configuration:
    """Return the user's configuration; the defaults without a file."""
    path = configuration_path(environ, home)
    values = _values(path)
    if not values:
        return Configuration()
    from pydantic import TypeAdapter, ValidationError  # most users have no such file

    try:
        return TypeAdapter(Configuration).validate_json(json.dumps(values, default=str))
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(map(str, wrong["loc"]))
        problem = f"`{key}` {in_words(wrong)}" if key else in_words(wrong)
        raise DocumentError(problem, hint="fix the file", place=path) from None


def configured_store(environ: Mapping[str, str], home: str) -> str:
    """Return the store that the user configured; empty without one.

    Every step asks, so only the names of the other keys are checked.
    """
    values = _values(configuration_path(environ, home))
    store = values.get("store", "")
    is_plain = values.keys() <= {field.name for field in fields(Configuration)} and _is_store(store)
    return str(store) if is_plain else read_configuration(environ, home).store


def _values(path: str) -> dict[str, object]:
    try:
        data = files.read_bounded(path, limit=_LARGEST_FILE, what="the configuration", follow=True)
    except files.MissingFileError:
        return {}
    import tomllib  # 3 ms, and most users have no such file

    try:
        return tomllib.loads(data.decode("utf-8", "replace"))
    except tomllib.TOMLDecodeError as error:
        raise DocumentError(f"is not valid TOML: {error}", hint="fix the file", place=path) from None


def _is_store(value: object) -> bool:
    return isinstance(value, str) and (not value or "://" in value or os.path.isabs(value))
