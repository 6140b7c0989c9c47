"""A stand-in for a host: carries out a task as its work.yaml says, with the hooks of the project.

It shows that the driver, the tasks and their grading work. It says nothing about models.
"""

from __future__ import annotations

import os
import re
import sys
import time
import uuid
from pathlib import Path

from agents import Diligent
from arms import STEPS, TEXT, Project, task_named
from guides import FlowSteps, guide_for
from host import Host


class StandIn(Diligent):
    """Reports `iterate` if a command of a step fails and the step can be repeated."""

    def do(self, step: str) -> None:
        """Do one step and report it, slowly enough to be killed in the middle."""
        time.sleep(0.3)
        succeeded = self.act(self.task.work[step])
        steps = {declared["id"]: declared for declared in self.task.workflow["steps"]}
        if not succeeded and "iterate" in steps[step]["next"]:
            self.guide.report("iterate")
        else:
            self.report(step)


def main() -> int:
    """Carry out the task that the prompt names."""
    prompt = sys.argv[1]
    found = re.search(r"skill (\w+)", prompt)
    assert found, prompt
    task = task_named(found[1])
    host = Host(Project(Path.cwd(), dict(os.environ)), str(uuid.uuid4()))
    has_workflow = (Path.cwd() / ".claude" / "skills" / task.name / "workflow.yaml").exists()
    guide = guide_for(STEPS if has_workflow else TEXT, task, host)
    agent = StandIn(task, host, guide, 0)
    if "interrupted" in prompt and isinstance(guide, FlowSteps):
        host.start()
        if guide.take_over():
            agent.continue_()
            return 0
    agent.run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
