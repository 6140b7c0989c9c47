"""Help: of commands, for a shell, and about codes."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from flowrail.cli import options, output
from flowrail.cli.options import Call
from flowrail.errors import UsageError
from flowrail.operations.explanations import explain, listed_codes
from flowrail.text.phrases import did_you_mean
from flowrail.text.report import Table, columns

SHELLS = ("bash", "zsh", "fish")


@Call.command("completion", "flow completion bash")
@click.argument("shell", type=click.Choice(SHELLS))
def completion_command(_call: Call, shell: str) -> None:
    """Print the script that completes flow commands in a shell

    It completes commands, options, skills, steps, outcomes and sessions. It reads skills as text and runs nothing.
    """
    group = click.get_current_context().find_root().command
    completion_class = get_completion_class(shell)
    assert completion_class is not None  # noqa: S101 - click knows all three shells
    output.exact(completion_class(group, {}, "flow", "_FLOW_COMPLETE").source().strip("\n"))


@Call.command("help", "flow help", "flow help session rewind")
@click.argument("words", metavar="[COMMAND]...", nargs=-1)
def help_command(_call: Call, words: tuple[str, ...]) -> None:
    """Show the help of flow or of a command"""
    context = click.get_current_context().find_root()
    command: click.Command = context.command
    for word in words:
        subcommand = command.get_command(context, word) if isinstance(command, click.Group) else None
        if subcommand is None:
            known = command.list_commands(context) if isinstance(command, click.Group) else []
            raise UsageError(
                f"unknown command `{word[:40]}`", hint=did_you_mean(word, known, "see `flow help`")
            )
        context, command = click.Context(subcommand, info_name=word, parent=context), subcommand
    output.exact(command.get_help(context))


@Call.command("explain", "flow explain FR163", "flow explain")
@click.argument("code", required=False, shell_complete=options.complete("codes"))
@options.as_json
def explain_command(call: Call, code: str | None) -> None:
    """Explain the code of a finding or an error, or list the codes

    Prints the page of a finding of `flow check`: what it means, a correct example, and a change that causes it.
    For a note of `flow discover` or `flow doctor`, prints what to do. For an error, prints when it occurs.
    """
    if code is None:
        codes = listed_codes()
        rows = [[listed.code, listed.kind, listed.about] for listed in codes]
        table = Table(columns("code", "kind", "about", wraps=("about",)), rows)
        call.answer({"codes": [listed._asdict() for listed in codes]}, [table])
        return
    explanation = explain(code)
    if call.as_json:
        output.data(explanation._asdict())
    elif output.is_for_people():
        output.put(output.terminal().rendered_markdown(explanation.page))
    else:
        output.text(explanation.page.rstrip("\n"))
