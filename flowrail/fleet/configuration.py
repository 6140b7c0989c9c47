"""The programs and limits of the fleet, from the user's own configuration. A project cannot set them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated

from annotated_types import Ge, Gt
from pydantic import ConfigDict, TypeAdapter, ValidationError

from flowrail.errors import DocumentError, UsageError
from flowrail.operations.environment import Environment
from flowrail.storage.ownership import read_configuration
from flowrail.storage.user_folders import configuration_path

CLAUDE, CODEX = "claude", "codex"
ARGUMENTS = {CLAUDE: ["--permission-mode", "acceptEdits"], CODEX: ["--sandbox", "workspace-write"]}
"""Arguments that let an agent change files without asking."""


@dataclass(frozen=True)
class Limits:
    """How many agents a worker runs, how long, and how often."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    slots: Annotated[int, Ge(1)] = 1
    """How many agents each worker runs at the same time."""
    time_limit: Annotated[float, Gt(0)] = 60.0
    """The longest time of one run, in minutes."""
    attempts: Annotated[int, Ge(1)] = 3
    """How many runs in a row may fail before the work is given up."""
    retry_seconds: Annotated[float, Ge(0)] = 10.0
    """The pause before the second attempt. It doubles each time."""
    programs: dict[str, list[str]] = field(default_factory=dict)
    """Commands that run agents, by name. For `claude` and `codex`, the list replaces the default arguments."""

    def with_options(self, *, slots: int | None, time_limit: float | None, attempts: int | None) -> Limits:
        """Return the limits with those that the command line gives."""
        return replace(
            self,
            slots=slots or self.slots,
            time_limit=time_limit or self.time_limit,
            attempts=attempts or self.attempts,
        )


def read_limits(environment: Environment) -> Limits:
    """Return the limits and programs that the user configured."""
    environ, home = environment.environ, environment.home
    try:
        table = json.dumps(dict(read_configuration(environ, home).fleet), default=str)
        return TypeAdapter(Limits).validate_json(table)
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False)[0]
        raise DocumentError(
            f"`{'.'.join(map(str, ('fleet', *wrong['loc'])))}`: {wrong['msg']}",
            hint="fix the file",
            place=configuration_path(environ, home),
        ) from None


def check_program(name: str, limits: Limits, environ: Mapping[str, str]) -> str:
    """Return the name of a program that is known and installed."""
    if name not in ARGUMENTS and not limits.programs.get(name):
        known = ", ".join(sorted({*ARGUMENTS, *limits.programs}))
        raise UsageError(
            f"unknown program `{name[:40]}`",
            hint=f'use one of {known}, or add it to config.toml: [fleet.programs] {name[:40]} = ["my-agent"]',
        )
    word = name if name in ARGUMENTS else limits.programs[name][0]
    if shutil.which(word, path=environ.get("PATH")) is None:
        raise UsageError(
            f"the program `{word}` is not installed", hint="install it, or configure another one"
        )
    return name
