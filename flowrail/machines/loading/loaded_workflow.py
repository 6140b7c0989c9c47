"""A workflow that was read from a skill's folder, as complete as its file allows, with its findings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from flowrail.machines.findings import Finding, Locate, raise_errors
from flowrail.machines.frozen import Frozen, put
from flowrail.machines.step import NAMES, WORKFLOW_NAME
from flowrail.machines.workflow import Workflow
from flowrail.storage.files import sha256_hex
from flowrail.text.safe_text import in_quotes


class LoadedWorkflow(NamedTuple):
    """A workflow, its findings, and the content of each of its files.

    ``locate`` returns where a path of the definition is written.
    """

    definition: Workflow
    findings: tuple[Finding, ...]
    locate: Locate
    files: Mapping[str, bytes] = Frozen()

    @property
    def digests(self) -> dict[str, str]:
        """The digest of each file."""
        return {path: sha256_hex(data) for path, data in self.files.items()}

    def workflow(self) -> Workflow:
        """Return the validated workflow; `WorkflowError` with every error if there are any."""
        raise_errors(self.definition.name, self.findings)
        put(self.definition, is_checked=True)
        return self.definition


def misnamed(written: object, address: str, locate: Locate) -> list[Finding]:
    """Return a finding if the name that is *written* in a file differs from its address."""
    if not isinstance(written, str) or written == address:
        return []
    message = f"the file says `name: {in_quotes(written)}` but its path says `{in_quotes(address)}`"
    usable = WORKFLOW_NAME.match(address)
    hint = f"write `name: {address}`, or rename the folder" if usable else f"rename the folder: {NAMES}"
    return [Finding("FR107", "error", message, hint, locate(("name",)))]
