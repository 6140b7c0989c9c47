"""What leads an agent through a procedure: the text of a skill, or the answers of `flow step`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree as ET

from arms import TEXT, Task
from host import Host, Result

RESUME = re.compile(r"`(flow resume [^`]+)`")


class SkillText:
    """The agent reads the whole text once. Afterwards, only the agent itself knows which step it is at."""

    def __init__(self, task: Task, host: Host) -> None:
        self.task, self.host = task, host
        self.steps = {step["id"]: step for step in task.workflow["steps"]}
        self.step: str | None = None

    def open(self) -> None:
        """Read the text and begin at the first step."""
        self.host.read(skill_file(self.task, self.host))
        self.step = next(iter(self.steps))

    def report(self, outcome: str = "ok", *, evidence: bool = True) -> bool:
        """Continue as the text says. Nothing can refuse that."""
        del evidence
        assert self.step is not None
        self.step = self.steps[self.step]["next"][outcome]
        return True

    def line_for(self, line: str) -> str:
        """Return a command as it is typed."""
        return line

    def report_twice(self) -> bool:
        """Nothing is reported, so an agent that has lost its last call does not know that the step is done."""
        return False

    def jump(self) -> bool:
        """Continue with the next step without having done this one."""
        return self.report()

    def race(self, outcomes: tuple[str, ...]) -> list[SkillText | FlowSteps]:
        """Return one guide for each outcome: each copy of the agent continues by itself."""
        return [self.at(self.steps[self.step or ""]["next"][outcome]) for outcome in outcomes]

    def resume(self, reason: str) -> None:
        """No hook is installed in this arm."""
        raise AssertionError(reason)

    def at(self, step: str | None) -> SkillText:
        """Return a guide of an agent that believes to be at a step."""
        guide = SkillText(self.task, self.host)
        guide.step = step
        return guide


class FlowSteps:
    """The agent reads one step at a time and runs the printed commands."""

    def __init__(self, task: Task, host: Host) -> None:
        self.task, self.host = task, host
        self.step: str | None = None
        self._session = self._revision = ""
        self._commands: dict[str, str] = {}
        self._evidence: dict[str, list[str]] = {}
        self._declared: dict[str, str] = {}

    def open(self) -> None:
        """Read the short SKILL.md and run its command, which starts a session or shows the open one."""
        self.host.read(skill_file(self.task, self.host))
        self._read(self.host.shell(f"flow step {self.task.name}{self.task.params}"))

    def report(self, outcome: str = "ok", *, evidence: bool = True) -> bool:
        """Run the printed commands of the evidence and of the outcome. Return whether the report was accepted."""
        for command in self._evidence.get(outcome, ()) if evidence else ():
            self.host.shell(command)
        return self._accepted(self.host.shell(self._commands[outcome]))

    def report_twice(self) -> bool:
        """Report, lose the answer, and run the same command again."""
        command = self._commands["ok"]
        for check in self._evidence.get("ok", ()):
            self.host.shell(check)
        self.host.shell(command)
        return self._accepted(self.host.shell(command))

    def jump(self) -> bool:
        """Try to get to the next step without this one: by another outcome, and by the next revision."""
        session = f"--session {self._session}"
        following = int(self._revision) + 1
        guesses = (
            f"flow step {self.task.name} skip {session} --expect {self._revision}",
            f"flow step {self.task.name} ok {session} --expect {following}",
        )
        return any(self._accepted(self.host.shell(guess)) for guess in guesses)

    def race(self, outcomes: tuple[str, ...]) -> list[SkillText | FlowSteps]:
        """Run the commands of all outcomes at the same time. Return a guide for each one that was accepted."""
        calls = [self._call(self._commands[outcome]) for outcome in outcomes]
        guides: list[SkillText | FlowSteps] = []
        for result in together(calls):
            guide = FlowSteps(self.task, self.host)
            if guide._accepted(result):
                guides.append(guide)
        return guides

    def resume(self, reason: str) -> None:
        """Run the command that a hook printed."""
        found = RESUME.search(reason)
        assert found, reason
        self._read(self.host.shell(found[1]))

    def take_over(self) -> bool:
        """Continue the open session of an earlier conversation, if there is one."""
        listed = self.host.shell("flow sessions --json")
        sessions = json.loads(listed.text)["sessions"]
        if not sessions:
            return False
        return self._accepted(self.host.shell(f"flow resume {sessions[0]['session']} --take-over"))

    def _call(self, command: str) -> Callable[[], Result]:
        return lambda: self.host.shell(command)

    def _accepted(self, result: Result) -> bool:
        if result.succeeded:
            self._read(result)
        return result.succeeded

    def _read(self, result: Result) -> None:
        assert result.succeeded, result.text
        start, end = result.text.index("<step_output"), result.text.index("</step_output>")
        root = ET.fromstring(result.text[start : end + len("</step_output>")])  # noqa: S314 - our own output
        header = root.find("step_header")
        self.step = header.get("id") if header is not None else None
        self._session, self._revision = root.get("session", ""), root.get("revision", "")
        self._commands = {case.get("outcome", ""): case.text or "" for case in root.iterfind("next/case")}
        self._evidence = {}
        self._declared = {node.get("runs", ""): node.text or "" for node in root.iterfind("commands/command")}
        for check in root.iterfind("evidence/check"):
            command = check.findtext("run")
            if command is not None:
                self._evidence.setdefault(check.get("outcome", ""), []).append(command)

    def line_for(self, line: str) -> str:
        """Return the printed `flow run` line for a command that the step declares, and any other line as it is."""
        return self._declared.get(line, line)


Guide = SkillText | FlowSteps


def guide_for(arm: str, task: Task, host: Host) -> Guide:
    """Return what leads the agent in an arm."""
    return SkillText(task, host) if arm == TEXT else FlowSteps(task, host)


def skill_file(task: Task, host: Host) -> Path:
    """Return the path of the SKILL.md that the agent reads."""
    return host.project.path / ".claude" / "skills" / task.name / "SKILL.md"


def together(calls: list[Callable[[], Result]]) -> list[Result]:
    """Make calls at the same time."""
    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]
