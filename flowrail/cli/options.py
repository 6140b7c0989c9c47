"""Options and arguments that several commands share, with their completion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from flowrail.cli import output

F = TypeVar("F", bound=Callable[..., object])


def stacked(*decorators: Callable[[object], Any]) -> Callable[[F], F]:
    """Return one decorator for several, the first on top."""

    def decorate(function: F) -> F:
        for each in reversed(decorators):
            function = each(function)
        return function

    return decorate


def examples(*lines: str) -> str:
    """Return the end of a command's help: it in use, a line each, as it is typed."""
    return "\n".join(["\b", "Examples:" if len(lines) > 1 else "Example:", *(f"  {line}" for line in lines)])


def complete(kind: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Return what click asks to complete words of that *kind*."""

    def ask(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
        del param
        from flowrail.cli import completion  # only a shell that completes needs it

        return completion.complete(kind, dict(ctx.params), incomplete)

    return ask


color = click.option(
    "--color",
    type=click.Choice(output.COLORS),
    callback=output.keep_color,
    expose_value=False,
    help="When to use colour (default: on a terminal, unless NO_COLOR is set).",
)
form = stacked(
    click.option(
        "--format",
        "form",
        type=click.Choice(["xml", "text", "json"]),
        help="The output format (default: text on a terminal, XML in a pipe).",
    ),
    click.option("--json", "form", flag_value="json", help="The same as --format json."),
    color,
)


class _AsJson(click.Choice[Any]):
    """The formats `text` and `json`, read as whether the answer is JSON."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bool:
        """Return whether *value* is `json`."""
        return value if isinstance(value, bool) else bool(super().convert(value, param, ctx) == "json")


json_flag = stacked(click.option("--json", "as_json", is_flag=True, help="Print one JSON document."), color)
"""For commands whose `--format` is about something else."""
as_json = stacked(
    click.option(
        "--format",
        "as_json",
        type=_AsJson(["text", "json"]),
        default=False,
        help="The output format (default: text).",
    ),
    click.option(
        "--json",
        "as_json",
        flag_value="json",
        type=_AsJson(["text", "json"]),
        help="The same as --format json.",
    ),
    color,
)
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
run = click.option(
    "--run", "run_code", is_flag=True, help="Run workflows written in Python that are your own or approved."
)
params = click.option(
    "-p",
    "--param",
    "params",
    multiple=True,
    metavar="NAME=VALUE",
    help="A workflow parameter. May be repeated.",
)


def _wait(seconds: float) -> Callable[[F], F]:
    return click.option(
        "--wait",
        type=float,
        default=seconds,
        show_default=True,
        metavar="SECONDS",
        help="How long to wait for the session's lock.",
    )


wait = _wait(10.0)
wait_in_a_crowd = _wait(60.0)
"""For commands that several agents run at the same time, on any machine."""
assignments = click.option(
    "-s",
    "--set",
    "assignments",
    multiple=True,
    metavar="NAME=VALUE",
    help="A fact, such as confidence=high. May be repeated.",
)
facts = stacked(
    assignments,
    click.option(
        "--facts", "facts_file", metavar="FILE", help="A JSON file with facts; - reads standard input."
    ),
)
token = click.option("--token", metavar="T", help="The token that came with the prompt.")


def _sentences(_context: click.Context, _option: click.Parameter, texts: tuple[str, ...]) -> str:
    """Return the texts of an option that was given several times as one text."""
    return "; ".join(text.strip() for text in texts)


memory = stacked(
    click.option(
        "--found",
        multiple=True,
        callback=_sentences,
        metavar="TEXT",
        help="What you found, in a sentence. Shown when the session is resumed. May be repeated.",
    ),
    click.option(
        "--remember",
        multiple=True,
        callback=_sentences,
        metavar="TEXT",
        help="What to keep in mind until the end. Shown when the session is resumed. May be repeated.",
    ),
)
where = click.option(
    "--to",
    default="project",
    show_default=True,
    metavar="project|home|DIR",
    help="Where: the project's skills, your own, or a folder that holds skills.",
)
_AS_HOOKS_SAY = {"claude-code": "claude", "codex": "agents"}
host = click.option(
    "--host",
    type=click.Choice(["claude", "agents", *_AS_HOOKS_SAY]),
    default="claude",
    show_default=True,
    callback=lambda _context, _option, value: _AS_HOOKS_SAY.get(value, value),
    help="In .claude/skills, or in .agents/skills that hosts share; or a host's name, as in `flow hook`.",
)
dry_run = click.option("--dry-run", is_flag=True, help="Show what would be done, without doing it.")
reason = click.option("--reason", default="", metavar="TEXT", help="The reason, for the journal.")
expect = click.option(
    "--expect",
    type=click.IntRange(min=0),
    metavar="REV",
    help="Refuse if the session is at another revision.",
)
skill = click.argument("skill", shell_complete=complete("skills"))
session_argument = click.argument("session_id", metavar="ID", shell_complete=complete("sessions"))
optional_session = click.argument(
    "session_id", metavar="[ID]", required=False, shell_complete=complete("sessions")
)
session_option = click.option(
    "--session",
    "session_id",
    metavar="ID",
    help="The session, if several are open.",
    shell_complete=complete("sessions"),
)
take_over = click.option(
    "--take-over", is_flag=True, help="Continue a session that belongs to another conversation."
)
autonomous = click.option(
    "--autonomous", is_flag=True, help="No user is present: prefer skills that run without one."
)
outcome = click.argument("outcome", required=False, shell_complete=complete("outcomes"))
