"""Evaluate the checks of a step: a verdict, the level reached, what was expected and what was found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from flowrail.command import Command
from flowrail.evidence import citations, diffs, git_state, json_schema, project_files
from flowrail.evidence.baseline import machine_name, named_path, paths_of, relative
from flowrail.evidence.project_files import UnreadableError
from flowrail.machines.definition.evidence import (
    Baseline,
    CommandRun,
    EvidenceCheck,
    EvidenceResult,
    Level,
    StepEvidence,
    Verdict,
)
from flowrail.machines.guidance.evidence import expected, line_of
from flowrail.storage.files import sha256_hex
from flowrail.text.phrases import count, joined
from flowrail.text.placeholders import fill

MOST_RECORDED = 50
"""Files whose digests a result holds."""
MOST_SHOWN = 10
"""Wrong files or citations that a result names."""
_NO_BASELINE = "a person decides: `flow evidence waive`, or `flow session rewind` for a new baseline"


class Context(NamedTuple):
    """The session, files and values with which checks are evaluated. ``values`` fill placeholders."""

    evidence: StepEvidence
    values: Mapping[str, object]
    environ: Mapping[str, str]
    session: str
    revision: int
    is_reviewed: bool = False
    """Whether a review was submitted."""
    open_findings: tuple[str, ...] = ()
    store: str | None = None

    def baseline(self, check: EvidenceCheck) -> Baseline:
        """Return the baseline that a check compares with."""
        return self.evidence.entry if check.since == "entry" else self.evidence.first

    def command(self, verb: str, check: str) -> str:
        """Return the command that does *verb* to a check."""
        reason = "REASON" if verb == "approve" else None
        return str(Command(f"evidence {verb}", self.session, check, reason=reason, store=self.store))

    @property
    def folder(self) -> str:
        """The folder of the project, fixed when the step was first entered."""
        return self.evidence.entry.folder


class _Finding(NamedTuple):
    """The result of one kind of check. ``state`` identifies the content that was checked, by default from ``files``."""

    verdict: Verdict
    found: str
    remedy: str = ""
    files: Mapping[str, str] = {}
    state: str | None = None
    level: Level = Level.CHECKED
    run: CommandRun | None = None


def evaluate(checks: Iterable[EvidenceCheck], context: Context) -> tuple[EvidenceResult, ...]:
    """Return the result of each check."""
    return tuple(_result(check, context) for check in checks)


def state_of_run(check: EvidenceCheck, folder: str, values: Mapping[str, object], revision: int) -> str:
    """Return a digest of the files that the command of *check* depends on; empty if no file matches `reads`."""
    if not check.reads:
        return f"revision {revision}"
    paths: set[str] = set()
    for pattern in check.reads:
        paths.update(project_files.matching(folder, relative(pattern, folder, values)))
    return project_files.state_of(project_files.digests(folder, paths)) if paths else ""


def _shown(path: str, context: Context) -> str:
    try:
        return relative(path, context.folder, context.values)
    except UnreadableError:
        return path


def _result(check: EvidenceCheck, context: Context) -> EvidenceResult:
    try:
        finding = (_run if check.run else _KINDS[check.kind])(check, context)
    except UnreadableError as error:
        finding = _Finding(Verdict.ERROR, str(error), "correct that, or ask the user", state="")
    run = finding.run or CommandRun(check.id, finding.level, finding.verdict, (), "", "", "")
    state = project_files.state_of(finding.files) if finding.state is None else finding.state
    result = EvidenceResult(
        check=check.id,
        kind=check.kind,
        verdict=finding.verdict,
        level=run.level,
        lowest_level=check.lowest_level,
        expected=expected(check, lambda path: _shown(path, context), context.values),
        found=finding.found,
        remedy=finding.remedy,
        by=run.by,
        state=state,
        folder=context.folder,
        machine=machine_name(),
        files=dict(sorted(finding.files.items())[:MOST_RECORDED]),
        command=tuple(check.run),
        exit_status=run.exit_status,
        event=run.event,
        seconds=run.seconds,
        output_digest=run.output_digest,
        output=run.output,
    )
    return _confirmed(result, context)


def _confirmed(result: EvidenceResult, context: Context) -> EvidenceResult:
    """Return *result* with a person's approval or waiver. An approval counts only for the content that the person saw."""
    confirmation = next(
        (entry for entry in context.evidence.confirmations if entry.check == result.check), None
    )
    if confirmation is not None and confirmation.waived:
        return result._replace(waived=True, reason=confirmation.reason, by=confirmation.by)
    if confirmation is not None and confirmation.state == result.state and result.state:
        is_run = result.kind == "run"
        verdict = Verdict.PASS if is_run else result.verdict
        found = f"approved by {confirmation.by}" if is_run else result.found
        return result._replace(
            verdict=verdict,
            level=Level.APPROVED,
            found=found,
            reason=confirmation.reason,
            by=confirmation.by,
            remedy="",
        )
    if result.verdict == Verdict.PASS and result.lowest_level == Level.APPROVED:
        stale = ", but what it looks at has changed since it was approved" if confirmation is not None else ""
        return result._replace(
            found=f"{result.found}, not approved by a person{stale}",
            remedy=f"a person runs: {context.command('approve', result.check)}",
        )
    return result


def _file(check: EvidenceCheck, context: Context) -> _Finding:
    path = paths_of(check, context.folder, context.values)[0]
    data = project_files.read(context.folder, path)
    if data is None:
        return _Finding(Verdict.FAIL, "no such file", f"write {path}", {path: ""})
    digests = {path: sha256_hex(data)}
    problem = _problem_in(check, path, data, digests[path], context)
    if problem:
        return _Finding(Verdict.FAIL, *problem, digests)
    return _Finding(Verdict.PASS, "it matches" if check.json else count(len(data), "byte"), "", digests)


def _problem_in(
    check: EvidenceCheck, path: str, data: bytes, digest: str, context: Context
) -> tuple[str, str] | None:
    """Return the problem of a file and its remedy, or `None`."""
    unchanged = _unchanged(check, path, digest, context)
    if unchanged:
        return unchanged
    if len(data) < check.min_bytes:
        return f"{path} has {count(len(data), 'byte')}", f"write more in {path}"
    demanded = [fill(text, context.values) for text in check.contains]
    missing = [text for text in demanded if text.encode() not in data]
    if missing:
        return f"{path} without {joined([repr(text) for text in missing])}", f"add it to {path}"
    if check.citations:
        wrong = _problem_of_citations(path, data, context.folder)
        if wrong:
            return wrong
    wrong_json = json_schema.problems(data, check.schema) if check.json else []
    if wrong_json:
        return joined(wrong_json), f"fix {path}"
    problem = diffs.problem(data, context.folder, context.environ) if check.diffs else ""
    return (f"{path}: {problem}", f"correct that in {path}") if problem else None


def _unchanged(check: EvidenceCheck, path: str, digest: str, context: Context) -> tuple[str, str] | None:
    """Return the problem of an unchanged file and its remedy, if the check demands a change."""
    if not check.changed:
        return None
    before = context.baseline(check).digests
    if named_path(check, context.folder, context.values) not in before:
        return f"{path} was not looked at when the step was entered", _NO_BASELINE
    if before.get(path, "") == digest:
        return f"{path} unchanged since the step was entered", f"change {path}"
    return None


def _problem_of_citations(path: str, data: bytes, folder: str) -> tuple[str, str] | None:
    """Return the problem of the citations in a file and its remedy, or `None`."""
    cited = citations.cited_lines(data.decode("utf-8", "replace"))
    if not cited:
        return f"{path} cites no code", f"cite code in {path} as FILE:LINE, from the project root"
    wrong = citations.missing(folder, cited)
    if wrong:
        return f"{path} cites lines that do not exist: {joined(_first(wrong))}", f"correct them in {path}"
    return None


def _first(texts: Sequence[str]) -> list[str]:
    """Return the first texts, and how many more there are."""
    more = [f"{len(texts) - MOST_SHOWN} more"] if len(texts) > MOST_SHOWN else []
    return [*texts[:MOST_SHOWN], *more]


def _files(check: EvidenceCheck, context: Context) -> _Finding:
    paths = paths_of(check, context.folder, context.values)
    if not paths:
        return _Finding(Verdict.EMPTY, "no matching file", "write the files")
    digests: dict[str, str] = {}
    problems: list[tuple[str, str]] = []
    for path in paths:
        data = project_files.read(context.folder, path) or b""
        digests[path] = sha256_hex(data)
        problem = _problem_in(check, path, data, digests[path], context)
        problems += [problem] if problem else []
    good = len(paths) - len(problems)
    if good >= check.at_least and (check.changed or not problems):
        return _Finding(Verdict.PASS, count(good, "file"), "", digests)
    if problems:
        found = ", ".join(_first([text for text, _ in problems]))
        return _Finding(Verdict.FAIL, found, problems[0][1], digests)
    return _Finding(
        Verdict.FAIL, count(good, "file"), f"write {count(check.at_least - good, 'more file')}", digests
    )


def _git(check: EvidenceCheck, context: Context) -> _Finding:
    assert check.git is not None  # noqa: S101 - it is a check of this kind
    baseline = context.baseline(check)
    if baseline.commit is None:
        git_state.current(
            context.folder, context.environ
        )  # says why it could not be looked at, if that still holds
        return _Finding(Verdict.ERROR, "git was not looked at when the step was entered", _NO_BASELINE)
    before = git_state.GitState(baseline.commit, baseline.dirty_digests)
    changed = git_state.changed_since(context.folder, before, context.environ)
    patterns = [relative(pattern, context.folder, context.values) for pattern in check.git.within]
    unexpected = git_state.outside(changed, patterns) if patterns else []
    if unexpected:
        allowed = joined(patterns)
        return _Finding(
            Verdict.FAIL, f"also changed: {joined(unexpected)}", f"change only {allowed}", changed
        )
    too_few = check.git.changed_at_least - len(changed)
    if too_few > 0:
        remedy = f"change {count(too_few, 'more file')}" + (f" in {joined(patterns)}" if patterns else "")
        return _Finding(Verdict.FAIL, count(len(changed), "changed file"), remedy, changed)
    return _Finding(Verdict.PASS, count(len(changed), "changed file"), "", changed)


def _records(check: EvidenceCheck, context: Context) -> _Finding:
    if "review" in check.records and not context.is_reviewed:
        add, none = (
            Command(f"finding {word}", context.session, store=context.store) for word in ("add", "none")
        )
        remedy = f"record its findings with `{add}`, or, if it found nothing, run: {none}"
        return _Finding(Verdict.FAIL, "the review recorded nothing", remedy, state="nothing")
    if "findings" in check.records and context.open_findings:
        found = f"open: {joined(context.open_findings)}"
        resolve = Command("finding resolve", context.session, store=context.store)
        return _Finding(Verdict.FAIL, found, f"fix them, then: {resolve} ID", state=found)
    return _Finding(Verdict.PASS, "recorded", state="recorded")


def _run(check: EvidenceCheck, context: Context) -> _Finding:
    state = state_of_run(check, context.folder, context.values, context.revision)
    if not state:
        found = f"no file that matches {joined(check.reads)}"
        return _Finding(Verdict.EMPTY, found, "write the files that it reads", state=state)
    runs = [run for run in context.evidence.runs if run.check == check.id and _is_of(run, check, context)]
    enough = [run for run in runs if Level(run.level).rank >= check.lowest_level.rank]
    newest = max(enough or runs, key=lambda run: run.at, default=None)
    to_run = _how_to_run(check, context)
    if newest is None and check.lowest_level is Level.CLAIMED:
        return _Finding(Verdict.PASS, "the agent says so", state=state, level=Level.CLAIMED)
    if newest is None:
        return _Finding(Verdict.NOT_RUN, "no run of it", to_run, state=state, level=Level.CLAIMED)
    finding = _Finding(Verdict.PASS, f"{newest.level}: it passed", state=state, run=newest)
    if newest.state != state:
        found = "the files that it reads have changed since" if check.reads else "it ran before the last move"
        return finding._replace(verdict=Verdict.STALE, found=found, remedy=to_run)
    if newest.verdict != Verdict.PASS:
        found, remedy = newest.problem or "it failed", f"fix the cause; {to_run}"
        return finding._replace(verdict=Verdict(newest.verdict), found=found, remedy=remedy)
    if newest not in enough:
        return finding._replace(found=f"it passed, but was only {newest.level}", remedy=to_run)
    return finding


def _is_of(run: CommandRun, check: EvidenceCheck, context: Context) -> bool:
    return run.command == tuple(check.run) and run.folder == context.folder and run.machine == machine_name()


def _how_to_run(check: EvidenceCheck, context: Context) -> str:
    by_us = context.command("run", check.id)
    if check.lowest_level is Level.CHECKED:
        return f"run: {by_us}"
    if check.lowest_level is Level.APPROVED:
        return f"a person runs: {context.command('approve', check.id)}"
    alone = f"run exactly `{line_of(check.run)}` as one command of its own in {context.folder}"
    return f"{alone}; if your host does not report commands, run: {by_us}"


_KINDS: Mapping[str, Callable[[EvidenceCheck, Context], _Finding]] = {
    "file": _file,
    "files": _files,
    "json": _file,
    "git": _git,
    "records": _records,
}
