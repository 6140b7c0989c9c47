"""Values of the wrong shape as findings, and the findings that only follow from them.

A value of the wrong shape is left out before the rules run, so that every rule can rely on the types of the
definition classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from flowrail.machines.definition.findings import Path, UnplacedFinding
from flowrail.machines.definition.from_data import DocumentProblem
from flowrail.text.phrases import did_you_mean
from flowrail.text.safe_text import in_quotes

Positions = Mapping[Path, list[int]]
"""For each list of which items were left out, the positions of the others."""
_OF_THE_WHOLE_STEP = {"FR108", "FR112", "FR115"}
"""Findings at a step, not at a key of it, that can follow from a key of the wrong shape."""
_JUDGED_TOGETHER = {"dispatch", "gate", "questions"}
"""Keys of a step whose own keys depend on each other."""
_PART = ("steps", 0, "dispatch")
_OF_THE_GRAPH = {"FR103", "FR104", "FR108", "FR114"}
"""Findings that can follow from a step that was left out."""
_DECLARATIONS = {"params", "reports"}
_OF_VALUES = {"FR123"}
"""Findings that can follow from a wrong declaration of a parameter or fact."""


def shape_finding(problem: DocumentProblem) -> UnplacedFinding:
    """Return a value of the wrong shape as a finding."""
    path = problem.path
    remedy = problem.remedy
    if problem.known:
        expected = f"use one of {', '.join(problem.known)}"
        remedy = did_you_mean(problem.word, problem.known, expected)
    at = path[:-1] if problem.what == "is missing" else path
    return UnplacedFinding(problem.code, at, f"{_name(path)} {problem.what}", remedy)


def _name(path: Path) -> str:
    """Return a path in words, with positions counted from 1, such as `reports.size` of step 2."""
    words = [str(part + 1) if isinstance(part, int) else str(part) for part in path]
    if not words:
        return "the file"
    is_in_step = len(path) > 1 and path[0] == "steps" and isinstance(path[1], int)
    inside = in_quotes(".".join(words[2:] if is_in_step else words))
    if not is_in_step:
        return f"`{inside}`"
    return f"`{inside}` of step {words[1]}" if inside else f"step {words[1]}"


def independent(
    findings: Iterable[UnplacedFinding], problems: Iterable[DocumentProblem], positions: Positions
) -> Iterator[UnplacedFinding]:
    """Yield the findings that do not only follow from a value of the wrong shape, which is reported already."""
    misshapen = {problem.path for problem in problems}
    for finding in findings:
        if not _follows(finding, path_in_data(finding.path, positions), misshapen, positions):
            yield finding


def path_in_data(path: Path, positions: Positions) -> Path:
    """Return a path into the definition as a path into the data, in which no item is left out."""
    if not positions:
        return path
    written: Path = ()
    for part in path:
        kept = positions.get(written) if isinstance(part, int) else None
        is_moved = kept is not None and isinstance(part, int) and part < len(kept)
        written = (*written, kept[part] if kept is not None and is_moved else part)  # type: ignore[index]
    return written


def _follows(raw: UnplacedFinding, path: Path, misshapen: set[Path], positions: Positions) -> bool:
    if raw.code in _OF_THE_GRAPH and ("steps",) in positions:
        return True
    if raw.code in _OF_VALUES and any(_DECLARATIONS.intersection(wrong) for wrong in misshapen):
        return True
    step_level = len(path) <= len(("steps", 0))
    if step_level and raw.code not in _OF_THE_WHOLE_STEP and path != ("steps",):
        return any(path[: len(wrong)] == wrong for wrong in misshapen)
    if len(path) > len(_PART) and path[2] in _JUDGED_TOGETHER:
        path = path[: len(_PART)]
    return any(path[: len(wrong)] == wrong or wrong[: len(path)] == path for wrong in misshapen)
