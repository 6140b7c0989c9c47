"""Commands that list, show, change, verify and delete sessions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from flowrail.cli import options, output
from flowrail.cli.environment import SessionCall
from flowrail.cli.progress import ProgressBar
from flowrail.command import Command, Hint
from flowrail.errors import StorageError, UsageError
from flowrail.formatters.data import as_data
from flowrail.formatters.guidance import blocks
from flowrail.formatters.guidance.as_data import broken_item, session_item
from flowrail.formatters.guidance.content import result_lines
from flowrail.formatters.reports.history import done_text, entries, plan_data, plan_report, report
from flowrail.hosts.conversation import short_id
from flowrail.machines.guidance.guide import handed_back
from flowrail.machines.sessions.record import Record
from flowrail.machines.sessions.session import ABANDONED, COMPLETED, FAILED
from flowrail.machines.sessions.store import ForeignSessionError
from flowrail.operations.environment import Environment
from flowrail.operations.running import steps
from flowrail.operations.running.conversations import Summary, summaries
from flowrail.operations.sessions import migrate, rewind, verify
from flowrail.operations.sessions.board import position_in
from flowrail.operations.sessions.prune import LOST, UNBEGUN, prune
from flowrail.text.phrases import ago, count
from flowrail.text.report import Line, Part, Span, Style, Table, columns, line, status
from flowrail.text.safe_text import error_data, one_line


@SessionCall.command("sessions", "flow sessions", "flow sessions --all")
@click.option("--all", "every", is_flag=True, help="Include sessions that have ended.")
@options.utc
@options.as_json
@options.store
def sessions_command(call: SessionCall, every: bool) -> None:
    """List the open sessions

    The sessions of sub-agents are listed below the session that they work for. In a conversation of a host, its
    own sessions are marked, and those of other conversations. A session that came with a clone is marked foreign.
    A sub-agent's session whose dispatch was reassigned or cancelled is marked lost. If a session cannot be read,
    the reason is shown.
    """
    environment = call.environment
    listed = summaries(environment.store, every=every)
    data = {"sessions": [_item(summary, environment) for summary in listed]}
    if not listed:
        none = "no session here" if every else "no open session here; `flow list` shows what can be started"
        call.answer(data, none)
        return
    titles = ["session", "status", "topic", "step", "active"]
    if any(summary.kept and summary.kept.session.owner for summary in listed):
        titles.append("conversation")
    head = columns(*titles, wraps=("status", "topic", "step"), optional=("conversation",))
    rows = (_session_row(summary, branch, environment)[: len(titles)] for branch, summary in _tree(listed))
    call.answer(data, [Table(head, rows)])


def _item(summary: Summary, environment: Environment) -> dict[str, object]:
    if summary.kept is None:
        return broken_item(summary.id, summary.problem)
    return session_item(summary.kept, store=environment.shown_store, lost=summary.lost)


def _tree(listed: Sequence[Summary]) -> Iterator[tuple[str, Summary]]:
    """Yield each session with the branch to it: sub-agents below the session that they work for, if it is listed."""
    children: dict[str, list[Summary]] = {}
    ids = {summary.id for summary in listed}
    for summary in listed:
        parent = summary.kept.session.parent if summary.kept else None
        children.setdefault(parent.session if parent and parent.session in ids else "", []).append(summary)

    def below(parent: str, indent: str) -> Iterator[tuple[str, Summary]]:
        siblings = children.get(parent, [])
        for number, summary in enumerate(siblings, start=1):
            is_last = number == len(siblings)
            yield f"{indent}{'└─ ' if is_last else '├─ '}" if parent else "", summary
            yield from below(summary.id, f"{indent}{'   ' if is_last else '│  '}" if parent else "")

    return below("", "")


def _session_row(summary: Summary, branch: str, environment: Environment) -> list[Part]:
    name = f"{branch}{summary.id}"
    if summary.kept is None:
        problem = str(summary.problem.message) if summary.problem else "unknown"
        is_foreign = isinstance(summary.problem, ForeignSessionError)
        return [name, Span("foreign" if is_foreign else "cannot be read", Style.BAD), problem, "", "", ""]
    session, at = summary.kept.session, summary.kept.at
    position = position_in(environment.store, session)
    step = session.step
    if position is not None and position.total:
        step = f"{position.number} of {position.total}: {position.id}"
    owner = short_id(session.owner).removeprefix("conversation ") if session.owner else ""
    if environment.conversation is not None and session.owner is not None:
        owner = "yours" if session.owner == environment.conversation else f"another: {owner}"
    return [
        name,
        status(session.status, " (lost)" if summary.lost else ""),
        one_line(session.topic or "-"),
        one_line(step or "-"),
        at if output.shows_exact_times() else ago(at, environment.now),
        owner,
    ]


@SessionCall.command("status", "flow status", "flow status problem-analysis-k3x9q2 --json")
@options.optional_session
@options.as_json
@options.store
def status_command(call: SessionCall, session_id: str | None) -> None:
    """Show the state of a session

    Without ID, shows this conversation's open session. The JSON has the same form as a step's.
    """
    answer = steps.resume(call.environment, call.session(session_id))
    output.notes(answer.notes)
    call.answer(as_data(answer.guidance), blocks.state_report(answer.guidance))


@SessionCall.command("history", "flow history problem-analysis-k3x9q2")
@options.optional_session
@options.utc
@options.as_json
@options.store
def history_command(call: SessionCall, session_id: str | None) -> int:
    """Show what happened in a session, when and by whom

    Without ID, shows this conversation's open session. Prints one line for each record of the journal and checks it
    against the one before. If the journal is damaged, prints the records before the damage and exits 3.
    """
    shown_id = call.session(session_id)
    records: list[Record] = []
    damage: StorageError | None = None
    try:
        for record in call.environment.store.records(shown_id):
            records.append(record)  # noqa: PERF402 - those before a damage stay
    except StorageError as error:
        if not records:
            raise
        revision = records[-1].session.revision
        fork = Command("session fork", shown_id, at=revision, store=call.environment.shown_store)
        error.hint = Hint(error.hint, "; continue from what is shown above: ", fork)
        damage = error
    if call.as_json:
        problem = {"error": error_data(damage)} if damage else {}
        output.data({"steps": [entry.data for entry in entries(records)], **problem})
        return damage.exit_status if damage else 0
    output.report(report(records))
    return output.refuse(damage, as_json=False) if damage else 0


@SessionCall.command("rewind", "flow session rewind problem-analysis-k3x9q2 --to 2")
@options.session_argument
@click.option(
    "--to", "revision", type=click.IntRange(min=0), required=True, metavar="REV", help="Which revision."
)
@options.expect
@options.reason
@options.form
@options.store
@options.root
@options.wait
def rewind_command(
    call: SessionCall, session_id: str, revision: int, expect: int | None, reason: str
) -> None:
    """Take a session back to an earlier revision

    Adds a record; nothing is deleted. A session that had ended is open again. The revision still
    increases, so commands that were printed before are refused. The step's dispatches and questions start
    again. `flow history ID` lists the revisions.
    """
    answer = rewind.rewind(call.environment, session_id, revision, expect=expect, reason=reason)
    call.show(answer.guidance, answer.notes)


@SessionCall.command("fork", "flow session fork problem-analysis-k3x9q2 --at 2")
@options.session_argument
@click.option(
    "--at", "revision", type=click.IntRange(min=0), required=True, metavar="REV", help="From which revision."
)
@options.reason
@options.form
@options.store
@options.root
@options.wait
def fork_command(call: SessionCall, session_id: str, revision: int, reason: str) -> None:
    """Start a new session from an earlier revision of another

    The other session stays open unless its journal is damaged. The new session has no parent, even if
    the other one has. Damage after that revision does not matter.
    """
    answer = rewind.fork(call.environment, session_id, revision, reason=reason)
    call.show(answer.guidance, answer.notes)


@SessionCall.command(
    "migrate",
    "flow session migrate problem-analysis-k3x9q2 --plan",
    "flow session migrate problem-analysis-k3x9q2 --map gate=check --accept",
)
@options.session_argument
@click.option("--plan", "only_plan", is_flag=True, help="Show what would change, without changing it.")
@click.option(
    "--map",
    "renamed",
    multiple=True,
    callback=options.pairs("--map", "OLD=NEW"),
    metavar="OLD=NEW",
    help="The new name of a step.",
)
@click.option("--accept", is_flag=True, help="Accept changed transitions and recognised names.")
@options.params
@options.form
@options.store
@options.root
@options.wait
def migrate_command(
    call: SessionCall,
    session_id: str,
    only_plan: bool,
    renamed: dict[str, str],
    accept: bool,
    params: dict[str, str],
) -> None:
    """Move a session to a changed workflow

    Shows what became of each step: identical, text only, compatible, changed, renamed, gone, new.
    Then migrates, or exits 5 and says what you must decide: the step that the session is at now (--map),
    whether changed transitions are intended (--accept), the value of a new parameter (-p).
    """
    call.form = call.form or "text"
    plan = migrate.outlook(call.environment, session_id, renamed, params)
    if only_plan:
        call.answer(plan_data(plan), plan_report(plan))
        return
    if call.form == "text":
        output.report(plan_report(plan))
    done = migrate.migrate(call.environment, session_id, renamed, params, accept=accept)
    notes = [*done.answer.notes, done_text(done.plan, changed=done.changed)]
    if call.as_json:
        output.notes(notes)
        migration = {**plan_data(done.plan), "changed": done.changed}
        output.data({**as_data(done.answer.guidance), "migration": migration})
    else:
        call.show(done.answer.guidance, notes)


@SessionCall.command("abandon", "flow session abandon problem-analysis-k3x9q2 --reason 'solved otherwise'")
@options.session_argument
@options.reason
@options.as_json
@options.store
@options.wait
def abandon_command(call: SessionCall, session_id: str, reason: str) -> None:
    """End a session that will not be finished

    Its journal stays. Nothing more can be reported.
    """
    stored = steps.abandon(call.environment, session_id, reason)
    session = stored.session
    lines = [f"{session_id} is {session.status}"]
    if session.status == ABANDONED:
        recorded = stored.note.get("reason")
        lines[0] += f" because: {one_line(recorded)}" if recorded else ""
        if session.parent:
            lines += ["", *result_lines(handed_back(session, call.environment.store.address), str)]
        else:
            undo = Command(
                "session rewind", session_id, to=session.revision, store=call.environment.shown_store
            )
            lines.append(f"continue it after all: {undo}")
    call.answer(session_item(stored), lines)


@SessionCall.command(
    "verify",
    "flow session verify --all",
    "flow session verify problem-analysis-k3x9q2 --head 1f0c6d2a9b3e4857",
)
@options.optional_session
@click.option("--all", "every", is_flag=True, help="Verify every session (the default without ID).")
@click.option("--head", metavar="HEX", help="A head from an earlier run. It must be in the journal.")
@options.as_json
@options.store
def verify_command(call: SessionCall, session_id: str | None, every: bool, head: str | None) -> int:
    """Check that sessions are as they were written

    Recomputes the chain of records, and compares the snapshot, the texts and the definition with the journal.
    If anything differs, exits 1 and names file and line. Nothing is run or changed.
    """
    if session_id and every:
        raise UsageError("an ID and --all are both given", hint="leave one of them out")
    if head and not session_id:
        raise UsageError(
            "--head belongs to one session, and none was named",
            hint=Hint("name it: ", Command("session verify", "ID", head="HEX")),
        )
    store = call.environment.store
    with ProgressBar("Verifying sessions") as bar:
        ids = [] if session_id else store.ids()
        results = [verify.verify(store, session_id, head=head)] if session_id else []
        results += verify.verify_all(store, bar.each(ids, len(ids)))
    wrong = sum(len(result.problems) for result in results)
    verdict = (
        Span(f"{count(wrong, 'problem')} found", Style.BAD) if wrong else Span("nothing is wrong", Style.GOOD)
    )
    lines = [text for result in results for text in _verified_lines(result)]
    call.answer(
        {"sessions": [_verified_data(result) for result in results], "ok": not wrong},
        [*lines, line(f"{count(len(results), 'session')} verified, ", verdict)],
    )
    return 1 if wrong else 0


def _verified_data(result: verify.VerificationResult) -> dict[str, object]:
    problems = [problem._asdict() for problem in result.problems]
    return {**result._asdict(), "problems": problems, "ok": not problems}


def _verified_lines(result: verify.VerificationResult) -> Iterator[str | Line]:
    is_foreign = any(problem.code == ForeignSessionError.code for problem in result.problems)
    bad = Span("foreign" if is_foreign else "damaged", Style.BAD)
    verdict = bad if result.problems else Span("as it was written", Style.GOOD)
    counts = f"; {count(result.records, 'record')}, {count(result.moves, 'move')}; head {result.head}"
    yield line(f"{result.session}: ", verdict, "" if is_foreign else counts)
    for problem in result.problems:
        yield f"  {one_line(problem.place)}: {one_line(problem.message)} [{problem.code}]"


MONTH = 30.0


@SessionCall.command("prune", "flow session prune --older-than 30d --dry-run")
@click.option(
    "--older-than",
    type=options.Age(min=0),
    default=MONTH,
    show_default=True,
    metavar="DAYS",
    help="Only sessions whose last record is older: days, or 30m, 12h, 7d, 2w.",
)
@click.option(
    "--status",
    "statuses",
    multiple=True,
    type=click.Choice([COMPLETED, FAILED, ABANDONED, LOST, UNBEGUN]),
    help="Only sessions with this status. May be repeated.",
)
@click.option("--dry-run", is_flag=True, help="List them without deleting them.")
@options.as_json
@options.store
@options.wait
def prune_command(call: SessionCall, older_than: float, statuses: tuple[str, ...], dry_run: bool) -> None:
    """Delete old sessions that have ended

    Keeps sessions that are open, that work for an open session, that have an open handoff, that another
    user started or that cannot be read. A sub-agent's session that lost its dispatch counts as ended.
    """
    pruned = prune(call.environment, older_than=older_than, statuses=statuses, dry_run=dry_run)
    deleted, kept = ([session._asdict() for session in sessions] for sessions in pruned)
    action = "would be deleted" if dry_run else "deleted"
    rows = [
        [old.session, old.status, f"{old.days:.1f}", f"kept: {one_line(old.why)}" if old.why else action]
        for old in (*pruned.gone, *pruned.kept)
    ]
    table = [Table(columns("session", "status", "days", "result", wraps=("result",)), rows)] if rows else []
    age = f"sessions that ended at least {older_than:g} days ago"
    call.answer(
        {"sessions": deleted, "kept": kept, "dry_run": dry_run},
        [*table, f"{age}: {len(deleted)} {action}, {len(kept)} kept" if rows else f"{age}: none"],
    )
