"""Results as a JUnit document, the form that every CI reads."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as ET

from flowrail.testing.walks.reproduce import repeat
from flowrail.testing.walks.run import FAILED, SKIPPED, Rehearsed
from flowrail.text.safe_text import visible


def document(results: Sequence[Rehearsed]) -> str:
    """Return *results* as JUnit XML: a suite a workflow, a case a walk."""
    root = ET.Element("testsuites", name="flow test")
    for result in results:
        cases = len(result.played) or 1
        suite = ET.SubElement(
            root,
            "testsuite",
            name=visible(result.address),
            tests=str(cases),
            failures=str(len(result.failures) or int(result.status == FAILED)),
            skipped=str(int(result.status == SKIPPED)),
            errors="0",
            time=f"{result.seconds:.3f}",
        )
        if not result.played:
            _case(suite, result.address, "load", result.why, skipped=result.status == SKIPPED)
        for played in result.played:
            told = "\n".join(repeat(result.place, played).told)
            _case(suite, result.address, played.walk.name, played.problem, told=told)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True)


def _case(
    suite: ET.Element, address: str, name: str, problem: str, *, told: str = "", skipped: bool = False
) -> None:
    classname = visible(address.replace("/", "."))
    case = ET.SubElement(suite, "testcase", classname=classname, name=visible(name))
    if problem:
        about = ET.SubElement(case, "skipped" if skipped else "failure", message=visible(problem))
        about.text = visible(told)
