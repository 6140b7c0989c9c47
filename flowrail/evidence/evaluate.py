"""Evaluate the checks of a step: a verdict, what was expected and what was found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from flowrail.command import Command
from flowrail.evidence.command_evidence import check_command
from flowrail.evidence.context import Context, Found
from flowrail.evidence.file_evidence import check_file, check_files
from flowrail.evidence.project_files import UnreadableError, relative
from flowrail.machines.demanded_evidence import Evidence, Verdict
from flowrail.machines.evidence_results import EvidenceResult
from flowrail.machines.guidance.step_evidence import expected
from flowrail.text.phrases import joined


def evaluate(checks: Iterable[Evidence], context: Context) -> tuple[EvidenceResult, ...]:
    """Return the result of each check."""
    return tuple(_result(check, context) for check in checks)


def _result(check: Evidence, context: Context) -> EvidenceResult:
    try:
        finding = _KINDS[check.kind](check, context)
    except UnreadableError as error:
        finding = Found(Verdict.FAIL, str(error), "correct that, or ask the user")
    result = EvidenceResult(
        check=check.id,
        kind=check.kind,
        verdict=finding.verdict,
        expected=expected(check, lambda path: _shown(path, context), context.values),
        found=finding.found,
        remedy=finding.remedy,
    )
    for confirmation in context.evidence.confirmations:
        if confirmation.check == check.id:
            return replace(
                result,
                verdict=Verdict.WAIVED if confirmation.waived else Verdict.PASS,
                found=finding.found if confirmation.waived else "a person confirmed it",
                reason=confirmation.reason,
                by=confirmation.by,
                way=confirmation.way,
                remedy="",
            )
    return result


def _shown(path: str, context: Context) -> str:
    try:
        return relative(path, context.folder, context.values)
    except UnreadableError:
        return path


def _review(check: Evidence, context: Context) -> Found:
    if check.review == "submitted" and not context.is_reviewed:
        add, none = (
            Command(f"finding {word}", context.session, store=context.store) for word in ("add", "none")
        )
        remedy = f"record its findings with `{add}`, or, if it found nothing, run: {none}"
        return Found(Verdict.MISSING, "the review recorded nothing", remedy)
    if check.review == "resolved" and context.open_findings:
        resolve = Command("finding resolve", context.session, store=context.store)
        found = f"open: {joined(context.open_findings)}"
        return Found(Verdict.FAIL, found, f"fix them, then: {resolve} ID")
    return Found(Verdict.PASS, "recorded")


def _person(check: Evidence, context: Context) -> Found:
    approve = Command("approve", check.id, session=context.session, store=context.store)
    return Found(Verdict.MISSING, "no person confirmed it", f"a person runs: {approve}")


_KINDS: Mapping[str, Callable[[Evidence, Context], Found]] = {
    "file": check_file,
    "files": check_files,
    "command": check_command,
    "review": _review,
    "person": _person,
}
