"""A workflow file that was read: the workflow as far as the file gives one, with everything that is wrong with it."""

from __future__ import annotations

from typing import NamedTuple

from flowrail.machines.definition.findings import Finding, Locate
from flowrail.machines.definition.step import NAMES, WORKFLOW_NAME
from flowrail.machines.definition.workflow import Workflow
from flowrail.text.safe_text import in_quotes


class ReadWorkflow(NamedTuple):
    """A workflow as far as a file gives one, its findings, and where a path of the definition is written."""

    definition: Workflow
    findings: tuple[Finding, ...]
    locate: Locate


def misnamed(written: object, address: str, place: Locate) -> list[Finding]:
    """Return the finding that the name that is *written* in a file differs from its address, if it does."""
    if not isinstance(written, str) or written == address:
        return []
    what = f"the file says `name: {in_quotes(written)}` but its address is `{in_quotes(address)}`"
    usable = WORKFLOW_NAME.match(address)
    hint = f"write `name: {address}`, or rename the folder" if usable else f"rename the folder: {NAMES}"
    return [Finding("FR107", "error", what, hint, place(("name",)))]
