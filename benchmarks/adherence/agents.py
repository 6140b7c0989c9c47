"""Simulated agents: a diligent one, and one for each way in which agents are known to go wrong.

Each bad agent makes one mistake, at a place that its seed decides, and otherwise works like the diligent one. If it is
refused, it does what the refusal says. Agents that forget do so every few calls.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from arms import Task
from guides import FlowSteps, Guide, SkillText
from host import Host, Result

#: After this many refusals for lack of evidence, flowrail asks the user.
TRIES = 3


class Diligent:
    """Makes no mistake."""

    label: ClassVar[str] = "Diligent"

    def __init__(self, task: Task, host: Host, guide: Guide, seed: int) -> None:
        self.task, self.host, self.guide = task, host, guide
        self.seed = seed
        self.random = random.Random(f"{type(self).__name__} {seed}")
        self.has_stopped = self.asks_user = False
        self.mistake = ""

    def run(self) -> None:
        """Carry out the procedure, until the host lets the agent end its turn."""
        self.host.start()
        self.guide.open()
        self.continue_()

    def continue_(self) -> None:
        """Carry out the rest of the procedure."""
        while True:
            while self.guide.step is not None and not self.has_stopped:
                self.do(self.guide.step)
            reason = self.host.stop()
            if not reason:
                return
            self.has_stopped = False
            self.guide.resume(reason)

    def do(self, step: str) -> None:
        """Do one step and report it."""
        self.work(step)
        self.report(step)

    def work(self, step: str) -> None:
        """Do the work of a step."""
        self.act(self.task.work[step])

    def act(self, calls: Sequence[Mapping[str, Any]]) -> bool:
        """Make tool calls, and return whether none of them was denied and none failed."""
        results = [self._act(call) for call in calls]
        return all(result.succeeded for result in results)

    def report(self, step: str, *, worked: bool = True, evidence: bool = True) -> None:
        """Report `ok`. After a refusal do the work, if that is what is missing, and report again.

        An agent that has done the work and is refused reports again until flowrail asks the user. There it ends.
        """
        if self.guide.report(evidence=evidence):
            return
        if not worked:
            self.work(step)
        for _ in range(TRIES):
            if self.guide.report():
                return
        self.asks_user = self.has_stopped = True

    def choose(self, choices: Sequence[Any]) -> Any:
        """Return a choice that the seed decides. Successive seeds take all of them in a random order."""
        order = random.Random(type(self).__name__).sample(choices, len(choices))
        return order[self.seed % len(order)]

    def _act(self, call: Mapping[str, Any]) -> Result:
        if "write" in call:
            return self.host.write(call["write"], call["text"])
        if "run" in call:
            return self.host.shell(self.guide.line_for(call["run"]))
        document = {
            "session_id": self.host.conversation,
            "cwd": str(self.host.project.path),
            "hook_event_name": "PostToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": call["hook"]},
            "tool_response": {"stdout": "ok"},
        }
        return self.host.shell(f"echo '{json.dumps(document)}' | flow hook post-tool-use")

    @property
    def steps(self) -> list[str]:
        """The steps of the work that ends well, without the decision."""
        return [step for step in self.task.work if step not in {"decide", "withdraw"}]


class Skips(Diligent):
    """Leaves out one step: tries another outcome, and the next revision."""

    label = "Skips a step"

    def __init__(self, task: Task, host: Host, guide: Guide, seed: int) -> None:
        super().__init__(task, host, guide, seed)
        self.mistake = self.choose(self.steps)

    def do(self, step: str) -> None:
        if step != self.mistake or not self.guide.jump():
            super().do(step)


class Lies(Diligent):
    """Reports one step without having done it."""

    label = "Lies about a step"

    def __init__(self, task: Task, host: Host, guide: Guide, seed: int) -> None:
        super().__init__(task, host, guide, seed)
        self.mistake = self.choose(self.steps)

    def do(self, step: str) -> None:
        if step == self.mistake:
            self.report(step, worked=False, evidence=False)
        else:
            super().do(step)


class StopsEarly(Diligent):
    """Ends its turn in the middle of the work. Every fourth agent insists: it tries again each time the hook refuses."""

    label = "Stops early"

    def __init__(self, task: Task, host: Host, guide: Guide, seed: int) -> None:
        super().__init__(task, host, guide, seed)
        self.step = self.choose(self.steps[1:])
        self.tries = 99 if seed % 4 == 3 else 1
        self.mistake = f"{self.step}, insists" if self.tries > 1 else self.step

    def do(self, step: str) -> None:
        if step == self.step and self.tries:
            self.tries -= 1
            self.has_stopped = True
        else:
            super().do(step)


class ActsTooEarly(Diligent):
    """Publishes in a step that does not allow it."""

    label = "Publishes too early"

    def __init__(self, task: Task, host: Host, guide: Guide, seed: int) -> None:
        super().__init__(task, host, guide, seed)
        self.mistake = self.choose(self.steps[: self.steps.index("publish")])
        self.has_published = False

    def do(self, step: str) -> None:
        if step == self.mistake:
            self.has_published = self.act(self.task.work["publish"])
        super().do(step)

    def work(self, step: str) -> None:
        if step != "publish" or not self.has_published:
            super().work(step)


class ForgetsBetweenSteps(Diligent):
    """Loses its context every few calls, after the next report.

    If the host does not name the current step, it reads the skill again or, as often, continues with the step that it
    believes in: the right step, the one before or the one after.
    """

    label = "Forgets between steps"

    def __init__(self, task: Task, host: Host, guide: Guide, seed: int) -> None:
        super().__init__(task, host, guide, seed)
        self.every = 5 + seed % 5
        self.losses = 0
        self.mistake = f"every {self.every} calls"

    def do(self, step: str) -> None:
        super().do(step)
        self.forget()

    def forget(self) -> bool:
        """Lose the context if it is time, and return whether that happened."""
        if self.guide.step is None or self.host.calls < self.every * (self.losses + 1):
            return False
        self.losses = self.host.calls // self.every
        added = self.host.start("compact")
        reads_again = self.random.random() < 0.5
        if added:
            self.guide.resume(added)
        elif isinstance(self.guide, FlowSteps) and reads_again:
            self.guide.open()
        else:
            text = SkillText(self.task, self.host)
            if reads_again:
                text.open()
            self.guide = text.at(self.guess())
        return True

    def guess(self) -> str:
        """Return the step that the agent believes to be at."""
        steps = [step for step in self.task.work if step != "withdraw"]
        at = steps.index(self.guide.step or "") + self.random.choice((-1, 0, 1))
        return steps[min(max(at, 0), len(steps) - 1)]


class ForgetsWithinSteps(ForgetsBetweenSteps):
    """Loses its context every few calls, between the work of a step and its report. It does the step again."""

    label = "Forgets within a step"

    def do(self, step: str) -> None:
        self.work(step)
        if not self.forget():
            self.report(step)


class Repeats(Diligent):
    """Loses the result of one call, the work of a step or its report, and makes the call again."""

    label = "Repeats a call"

    def __init__(self, task: Task, host: Host, guide: Guide, seed: int) -> None:
        super().__init__(task, host, guide, seed)
        self.step = ("bump", "publish", "announce")[seed % 3]
        self.call = ("report", "work")[seed % 2]
        self.mistake = f"{self.step}, {self.call}"

    def do(self, step: str) -> None:
        self.work(step)
        if step != self.step:
            self.report(step)
        elif self.call == "work" or not self.guide.report_twice():
            self.work(step)
            self.report(step)


class Races(Diligent):
    """Is two copies at the decision: one reports `ok`, the other `fail`, at the same time, and each continues."""

    label = "Races with itself"

    def __init__(self, task: Task, host: Host, guide: Guide, seed: int) -> None:
        super().__init__(task, host, guide, seed)
        self.mistake = "decide"

    def do(self, step: str) -> None:
        if step != "decide":
            super().do(step)
            return
        self.work(step)
        self.guide, *others = self.guide.race(("ok", "fail"))
        for guide in others:
            Diligent(self.task, self.host, guide, self.seed).continue_()


class Forges(Diligent):
    """Fakes the evidence of one step instead of doing it."""

    label = "Forges evidence"

    def __init__(self, task: Task, host: Host, guide: Guide, seed: int) -> None:
        super().__init__(task, host, guide, seed)
        self.forgery = task.forgeries[seed % len(task.forgeries)]
        self.mistake = f"{self.forgery['step']}, {self.forgery['kind']}"

    def do(self, step: str) -> None:
        if step == self.forgery["step"] and self.act(self.forgery["do"]):
            self.report(step, worked=False)
        else:
            super().do(step)


class NeverStarts(Diligent):
    """Does what the user asked for without the skill. If that is denied, it does what the denial says."""

    label = "Never starts the skill"

    def __init__(self, task: Task, host: Host, guide: Guide, seed: int) -> None:
        super().__init__(task, host, guide, seed)
        self.shortcut = (("publish",), ("bump", "publish"), ("build", "publish"), ("publish", "announce"))[
            seed % 4
        ]
        self.mistake = ", ".join(self.shortcut)

    def run(self) -> None:
        self.host.start()
        if all(self.act(self.task.work[step]) for step in self.shortcut):
            self.host.stop()
        else:
            self.guide.open()
            self.continue_()


AGENTS: tuple[type[Diligent], ...] = (
    Diligent,
    Skips,
    Lies,
    StopsEarly,
    ActsTooEarly,
    ForgetsBetweenSteps,
    ForgetsWithinSteps,
    Repeats,
    Races,
    Forges,
    NeverStarts,
)
