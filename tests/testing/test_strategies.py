"""Hypothesis strategies that users can test their own code with."""

from __future__ import annotations

import subprocess
import sys

from hypothesis import given, settings
from hypothesis import strategies as st
from support.sandbox import clean_environment

from flowrail.machines.exploration.actions import acts, perform
from flowrail.testing import sessions, workflows


@given(st.data())
@settings(max_examples=20)
def test_a_session_is_at_a_step_of_its_workflow_and_moves_by_one_revision(data: st.DataObject) -> None:
    workflow = data.draw(workflows())
    session = data.draw(sessions(workflow))

    assert session.is_open == (session.step in workflow)
    if session.is_open:
        after = perform(workflow, session, next(acts(workflow, session)))
        assert after.revision in {session.revision, session.revision + 1}


def test_the_test_tools_can_be_imported_without_hypothesis() -> None:
    code = "import sys; sys.modules['hypothesis'] = None; from flowrail.testing import *; print(Run, load)"

    subprocess.run([sys.executable, "-c", code], env=clean_environment(), check=True)
