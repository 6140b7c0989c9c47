"""A workflow that has been checked: what authors construct and everything else takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flowrail.machines.definition.step import Definition, StepDef, sys_caller
from flowrail.machines.definition.values import Arg


class Workflow(Definition):
    """Steps and the ways between them under one name.

    Raises one `WorkflowError` with every finding of severity error; ``validate=False`` keeps
    the workflow as it is, for `check_workflow`. ``entry_point`` is the first step unless said.
    """

    __slots__ = ()

    def __init__(
        self,
        name: str,
        *steps: StepDef,
        entry_point: str | None = None,
        description: str = "",
        params: Mapping[str, Arg | Mapping[str, Any]] | None = None,
        validate: bool = True,
        origin: str | None = None,
        then: str | None = None,
        resources: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(
            name,
            steps,
            entry_point=entry_point,
            description=description,
            params=params,
            origin=origin or sys_caller(2),
            then=then,
            resources=resources,
        )
        if validate:
            from flowrail.machines.definition.validation import raise_errors

            raise_errors(self)
            self.derived["checked"] = True
