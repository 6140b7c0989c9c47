"""`flow hook`: answer the hooks of an agent's host, and install them."""

from __future__ import annotations

from functools import partial

import click

from flowrail.cli import options
from flowrail.cli.hook_entry import run
from flowrail.cli.options import Call
from flowrail.formatters.reports.hooks import (
    ELSEWHERE,
    NONE_ELSEWHERE,
    data,
    installed,
    uninstalled,
)
from flowrail.hosts.settings import HOSTS, OTHER, PERMISSIONS, add_hooks, remove_hooks, settings_file
from flowrail.skills.summary import forbidden_tools


def _event(name: str, text: str) -> click.Command:
    """Return the command for the event *name*. `__main__` answers a plain `flow hook NAME` without it."""
    return click.Command(name, callback=partial(run, name), help=text)


session_start_command = _event(
    "session-start",
    """List the open sessions for the agent

    Runs when a conversation starts or resumes, and after its context was compacted or cleared. Prints
    each session's topic, step and age, and the command that shows the step again.
    """,
)

session_end_command = _event(
    "session-end",
    """Record that a conversation has ended

    Its open sessions then belong to no conversation, and another one may continue them.
    """,
)

stop_command = _event(
    "stop",
    """Keep an agent working until its session ends

    Only if a session of the agent's conversation is active. Never while a question waits for the user or
    all sub-agents are working, and at most three times without progress. Each time is recorded.
    """,
)

subagent_stop_command = _event(
    "subagent-stop",
    """Keep a sub-agent working until its dispatch ends

    Its work is what it claimed, as `post-tool-use` noted it.
    """,
)

pre_tool_use_command = _event(
    "pre-tool-use",
    """Deny a tool that the current step forbids

    Applies the rules in the step's `forbids`, such as Edit or Bash(git push*). Never denies `flow`
    commands.
    """,
)

post_tool_use_command = _event(
    "post-tool-use",
    """Note which dispatch a sub-agent claimed, and the commands of a step

    Hosts tell their hooks, but not the commands that they run, which sub-agent calls a tool. The last shell
    commands of a step are noted for an agent whose context was compacted.
    """,
)

post_tool_use_failure_command = _event(
    "post-tool-use-failure",
    """Note a command that failed

    It is among the commands of the step that are noted.
    """,
)

host = click.option(
    "--host",
    type=click.Choice([*HOSTS, OTHER]),
    default=HOSTS[0],
    show_default=True,
    help="Whose settings.",
)
where = click.option(
    "--to",
    type=click.Choice(["project", "home"]),
    default="project",
    show_default=True,
    help="The project's settings, or your own.",
)


@Call.command("install", "flow hook install --dry-run", "flow hook install --host codex --to home")
@host
@where
@click.option(
    "--permissions", is_flag=True, help="Also allow the agent to run flow's commands without asking."
)
@options.dry_run
@options.as_json
def install_command(call: Call, host: str, to: str, permissions: bool, dry_run: bool) -> None:
    """Add our hooks to a host's settings

    Other entries stay, in their order. Running it again changes nothing. Settings must be plain
    JSON: a file with comments is refused with the lines to add by hand.
    """
    if host == OTHER:
        call.answer({"hooks": [], "instructions": ELSEWHERE}, ELSEWHERE)
        return
    environment = call.environment
    file = settings_file(host, to, cwd=environment.cwd, home=environment.home, environ=environment.environ)
    wanted = permissions and host == "claude-code"
    forbidden = forbidden_tools(environment.loader)
    done = add_hooks(file, permissions=wanted, dry_run=dry_run, forbidden=forbidden)
    text = installed(done, PERMISSIONS, asked=permissions, dry_run=dry_run)
    call.answer(data(done, dry_run=dry_run, permissions=PERMISSIONS), text)


@Call.command("uninstall", "flow hook uninstall")
@host
@where
@options.dry_run
@options.as_json
def uninstall_command(call: Call, host: str, to: str, dry_run: bool) -> None:
    """Remove our hooks from a host's settings

    Other entries stay. A file that contains nothing else is deleted.
    """
    if host == OTHER:
        call.answer({"hooks": [], "instructions": NONE_ELSEWHERE}, NONE_ELSEWHERE)
        return
    environment = call.environment
    file = settings_file(host, to, cwd=environment.cwd, home=environment.home, environ=environment.environ)
    done = remove_hooks(file, dry_run=dry_run)
    call.answer(data(done, dry_run=dry_run), uninstalled(done, dry_run=dry_run))
