"""Values of the wrong shape as findings, and the findings that only follow from them.

A value of the wrong shape is left out before the rules run, so that every rule can rely on the types of the
definition classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from flowrail.machines.definition.findings import Path, UnplacedFinding
from flowrail.machines.definition.from_data import DocumentProblem
from flowrail.text.phrases import did_you_mean
from flowrail.text.safe_text import in_quotes

_OF_THE_GRAPH = {"FR103", "FR104", "FR108", "FR114"}
"""Findings that can follow from a step that was left out."""
_OF_THE_STEP = {"FR108", "FR112", "FR115"}
"""Findings at a step, not at a key of it, that can follow from a key of the wrong shape."""
_OF_VALUES = {"FR123"}
"""Findings that can follow from a wrong declaration of a parameter or fact."""
_MISSING_TEXT = "FR125"
_STEP, _KEY = ("steps", 0), ("steps", 0, "gate")
_JUDGED_TOGETHER = {"dispatch", "gate", "questions"}
"""Keys of a step whose own keys depend on each other."""


def shape_finding(problem: DocumentProblem, ids: Mapping[int, str]) -> UnplacedFinding:
    """Return a value of the wrong shape as a finding; *ids* are those of the steps that could be read."""
    path = problem.path
    remedy = problem.remedy
    if problem.known:
        expected = f"use one of {', '.join(problem.known)}"
        remedy = did_you_mean(problem.word, problem.known, expected)
    at = path[:-1] if problem.message == "is missing" else path
    return UnplacedFinding(problem.code, at, f"{_name(path, ids)} {problem.message}", remedy)


def _name(path: Path, ids: Mapping[int, str]) -> str:
    """Return a path in words, such as `reports.size` of step `look`; positions are counted from 1."""
    words = [str(part + 1) if isinstance(part, int) else str(part) for part in path]
    if not words:
        return "the file"
    if len(path) == 1 or path[0] != "steps" or not isinstance(path[1], int):
        return f"`{in_quotes('.'.join(words))}`"
    step = f"step `{in_quotes(ids[path[1]])}`" if path[1] in ids else f"step {words[1]}"
    return f"`{in_quotes('.'.join(words[2:]))}` of {step}" if words[2:] else step


def independent(
    findings: Iterable[UnplacedFinding], problems: Sequence[DocumentProblem], steps_read: Sequence[int]
) -> Iterator[UnplacedFinding]:
    """Yield the findings that do not only follow from *problems*, with paths into the data.

    *steps_read* are the positions of the steps that were not left out.
    """
    misshapen = {problem.path for problem in problems}
    steps = {path[1] for path in misshapen if path[:1] == ("steps",) and len(path) > 1}
    lacks_steps = not steps <= set(steps_read)
    for raw in findings:
        path = path_in_data(raw.path, steps_read)
        if not (
            (lacks_steps and raw.code in _OF_THE_GRAPH)
            or (raw.code in _OF_VALUES and any({"params", "reports"} & {*wrong} for wrong in misshapen))
            or any(_follows(raw.code, path, problem) for problem in problems)
        ):
            yield raw._replace(path=path)


def path_in_data(path: Path, steps_read: Sequence[int]) -> Path:
    """Return a path into the definition as a path into the data, in which no step is left out."""
    if len(path) > 1 and path[0] == "steps" and isinstance(path[1], int):
        return ("steps", steps_read[path[1]], *path[2:])
    return path


def _follows(code: str, path: Path, problem: DocumentProblem) -> bool:
    """Return whether a finding at *path* can follow from a value of the wrong shape, or from a missing text."""
    wrong = problem.path
    if path[2:3] and path[2] in _JUDGED_TOGETHER and problem.code != _MISSING_TEXT:
        path = path[: len(_KEY)]
    is_inside = path[: len(wrong)] == wrong
    is_around = wrong[: len(path)] == path
    return is_inside or (is_around and (len(path) != len(_STEP) or code in _OF_THE_STEP))
