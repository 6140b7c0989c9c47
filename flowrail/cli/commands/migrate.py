"""`flow migrate`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.world import world
from flowrail.errors import UsageError
from flowrail.formatters.data import plain
from flowrail.formatters.escape import one_line
from flowrail.machines.migration import Plan
from flowrail.skills.migrating import migrate


@click.command("migrate")
@options.session_argument
@click.option("--plan", "only_plan", is_flag=True, help="Only show what it would do.")
@click.option(
    "--map", "names", multiple=True, metavar="OLD=NEW", help="What a step is called now. May be repeated."
)
@click.option("--accept", is_flag=True, help="Agree to names that were guessed, and to other ways on.")
@options.form
@options.store
@options.root
@options.wait
def command(
    session_id: str,
    only_plan: bool,
    names: tuple[str, ...],
    accept: bool,
    form: str | None,
    store: str | None,
    roots: tuple[str, ...],
    wait: float,
) -> None:
    """Take a session over to its workflow as it is now

    Shows what became of each step. Goes ahead where it is plain what is meant, and records it.
    """
    done = migrate(
        world(store=store, roots=roots, wait=wait),
        session_id,
        names=dict(_pair(each) for each in names),
        accept=accept,
        only_plan=only_plan,
    )
    if done.answer is not None:
        output.notes([f"migrated: {done.plan.verdict}", *done.answer.notes])
        output.show(done.answer.guidance, form)
    elif form == "json":
        output.data(plain({**done.plan._asdict(), "steps": [each._asdict() for each in done.plan.steps]}))
    else:
        output.text(_shown(done.plan))


def _pair(text: str) -> tuple[str, str]:
    old, equals, new = text.partition("=")
    if not equals or not old or not new:
        raise UsageError(f"`--map {text[:60]}` is not OLD=NEW", hint="write it as --map look=survey")
    return old, new


def _shown(plan: Plan) -> str:
    lines = [f"{plan.session}: {plan.verdict}"]
    lines += [f"  {one_line(each.step)}: {one_line(each.change)}" for each in plan.steps]
    lines += [f"  {old} is called {new} now" for old, new in plan.renamed.items()]
    lines += [f"  {one_line(problem)}" for problem in plan.problems]
    if plan.at is not None:
        lines.append(
            f"stands at {plan.at}; would stand at {plan.to or 'a step that has to be named by --map'}"
        )
    lines.append(f"needs {', '.join('--' + need for need in plan.needs)}" if plan.needs else "needs nothing")
    return "\n".join(lines)
