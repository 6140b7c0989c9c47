"""Play one walk on a stage: run commands as printed, check every answer, resume every step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from flowrail.command import Command, value_text
from flowrail.errors import FlowError
from flowrail.machines.walks.actions import REASON, Act
from flowrail.machines.walks.plan import Walk
from flowrail.session_status import ENDED
from flowrail.testing.walks import rules
from flowrail.testing.walks.stage import Reply, Stage


@dataclass(frozen=True)
class PlayedWalk:
    """The result of a walk."""

    walk: Walk
    commands: tuple[Command, ...]
    """Its commands as they ran."""
    problem: str = ""
    """What is wrong; empty if it passed."""
    step: str | None = None
    """The step with the problem."""

    @property
    def passed(self) -> bool:
        """Whether the walk had no problem."""
        return not self.problem


class _WalkFailedError(Exception):
    """The walk cannot continue; the text is the reason."""


class Player:
    """Plays walks on one stage. The sessions of sub-agents are ended at once: their workflows have walks of their own."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self._commands: list[Command] = []
        self._step: str | None = None

    def play(self, address: str, walk: Walk) -> PlayedWalk:
        """Play *walk* through the workflow at *address*."""
        self._commands, self._step = [], None
        problem = ""
        try:
            self._play(address, walk)
        except _WalkFailedError as error:
            problem = str(error)
        except FlowError as error:
            problem = f"{error.message} [{error.code}]"
        except Exception as error:  # noqa: BLE001 - an author's function may raise anything
            problem = f"raised {type(error).__name__}: {' '.join(str(error).split())[:200]}"
        return PlayedWalk(walk, tuple(self._commands), problem, self._step if problem else None)

    def _play(self, address: str, walk: Walk) -> None:
        if walk.loose:
            raise _WalkFailedError("no path to an end was found from this step")
        reply = self._run(Command("step", address, new=True, params=walk.params))
        self._check(reply)
        for act in walk.acts:
            reply = self._perform(reply, act)
        if reply.data["status"] not in ENDED:
            raise _WalkFailedError(f"the walk is over and the session is {reply.data['status']}")

    def _perform(self, reply: Reply, act: Act) -> Reply:
        """Perform *act* with printed commands, and return the answer to its report."""
        prepared = self._prepare(reply, act)
        transition = _transition(prepared.data, act)
        if transition is None:
            facts = ", ".join(f"{name}={value_text(value)}" for name, value in act.facts.items())
            with_facts = f" with {facts}" if facts else ""
            raise _WalkFailedError(f"no command for `{act.report}`{with_facts} is printed")
        printed: Command = transition["command"]
        after = self._run(printed.with_options(facts={**transition["facts"], **act.facts}))
        self._check(after)
        self._require(rules.transition_problems(transition, after.data, prepared.data))
        return after

    def _prepare(self, reply: Reply, act: Act) -> Reply:
        data = reply.data
        pending = [dispatch for dispatch in data["dispatches"] if dispatch["status"] == "pending"]
        for dispatch, outcome in zip(pending, act.agents, strict=False):
            self._work(data["work"], dispatch, succeeds=outcome == "ok")
        for severity, text in act.findings:
            if not data.get("finding_command"):
                raise _WalkFailedError("a review prints no command that records a finding")
            printed: Command = data["finding_command"]
            self._succeed(printed.with_options(severity=severity, text=text))
        for name, label in act.answers:
            session = next(question["session"] for question in data["questions"] if question["id"] == name)
            self._succeed(Command("answer", session, answers={name: label}, reason=REASON))
        if not (act.agents or act.findings or act.answers):
            return reply
        return self._succeed(Command("resume", reply.session))

    def _work(self, work: Mapping[str, Any], dispatch: Mapping[str, Any], *, succeeds: bool) -> None:
        """Do a piece of work in its child session, with success or failure."""
        reply = self._succeed(dispatch["command"])
        if work["workflow"] is None:
            self._succeed(reply.data["next"][0 if succeeds else 1]["command"])
        elif succeeds:
            self.stage.complete(reply.session)
        else:
            self._succeed(Command("session abandon", reply.session))

    def _check(self, reply: Reply) -> None:
        self._require(rules.problems(reply))
        self._step = reply.data["step"]["id"] if reply.data["step"] else None
        resumed = self.stage.run(Command("resume", reply.session))
        self._require(rules.resume_differences(reply, resumed))

    def _run(self, command: Command) -> Reply:
        self._commands.append(command)
        return self.stage.run(command)

    def _succeed(self, command: Command) -> Reply:
        reply = self._run(command)
        if reply.problem:
            raise _WalkFailedError(reply.problem)
        return reply

    def _require(self, problems: Iterable[str]) -> None:
        if texts := list(problems):
            raise _WalkFailedError("; ".join(texts))


def _transition(data: Mapping[str, Any], act: Act) -> Mapping[str, Any] | None:
    """Return the printed transition for the report of *act*."""
    for transition in data["next"]:
        same = all(
            value_text(act.facts.get(name)) == value_text(value)
            for name, value in transition["facts"].items()
        )
        if transition["outcome"] == act.report and same:
            return dict(transition)
    return None
