"""One walk played on a stage: every command as printed, every answer judged, every step shown again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from flowrail.errors import FlowError
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine.advance import start
from flowrail.machines.exploration.actions import FOUND, REASON, Act
from flowrail.machines.exploration.endings import to_end
from flowrail.machines.exploration.walks import Walk
from flowrail.machines.sessions.session import ABANDONED, COMPLETED, FAILED
from flowrail.testing.walks import rules
from flowrail.testing.walks.stage import Reply, Stage

ENDS = frozenset({COMPLETED, FAILED, ABANDONED})


class Turn(NamedTuple):
    """A command, and where the session stood afterwards."""

    command: str
    step: str | None


class Played(NamedTuple):
    """What became of a walk; ``problem`` is empty where all was in order."""

    walk: Walk
    turns: tuple[Turn, ...]
    problem: str = ""
    step: str | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing was wrong."""
        return not self.problem


class _WrongError(Exception):
    """The walk cannot go on; says why."""


class EnoughError(Exception):
    """As many commands were run as were to be; the walk at hand is given up."""


class Player:
    """Plays walks on one stage; work of agents that was walked once is cut short from then on.

    After ``left`` commands, where that is given, it plays no more: `EnoughError`.
    """

    def __init__(self, stage: Stage, *, thorough: bool = False) -> None:
        self.stage = stage
        self.thorough = thorough
        self.left: int | None = None
        self._walked: set[tuple[str, bool]] = set()
        self._ends: dict[tuple[str, str, bool], tuple[Act, ...] | None] = {}
        self._turns: list[Turn] = []
        self._step: str | None = None

    def play(self, address: str, walk: Walk) -> Played:
        """Play *walk* through the workflow at *address*."""
        self._turns, self._step = [], None
        try:
            self._play(self.stage.workflow(address), address, walk)
        except _WrongError as error:
            return Played(walk, tuple(self._turns), str(error), self._step)
        except EnoughError:
            raise
        except FlowError as error:
            return Played(walk, tuple(self._turns), f"{error.message} [{error.code}]", self._step)
        except Exception as error:  # noqa: BLE001 - whatever a workflow brings out is what is looked for
            what = f"raised {type(error).__name__}: {' '.join(str(error).split())[:200]}"
            return Played(walk, tuple(self._turns), what, self._step)
        return Played(walk, tuple(self._turns))

    def _play(self, workflow: Workflow, address: str, walk: Walk) -> None:
        if walk.loose:
            raise _WrongError("no way to an end was found from here on")
        params = [word for name, value in walk.params.items() for word in ("-p", f"{name}={_said(value)}")]
        reply = self._run(["start", address, *params])
        self._judge(reply, workflow)
        for act in walk.acts:
            reply = self._act(workflow, reply, act)
        if reply.data["status"] not in ENDS:
            raise _WrongError(f"the walk is over and the session is {reply.data['status']}")

    def _act(self, workflow: Workflow, reply: Reply, act: Act) -> Reply:
        """Do what *act* says through printed commands, and return the answer to its report."""
        prepared = self._prepare(reply, act)
        way = _way(prepared.data, act)
        if way is None:
            raise _WrongError(f"no way on for `{act.report}`{_with(act.facts)} is printed")
        told = {str(name): value for name, value in act.facts.items() if name not in way["facts"]}
        given = [word for name, value in told.items() for word in ("-s", f"{name}={_said(value)}")]
        after = self._run([*rules.words_of(way["command"]), *given])
        self._judge(after, workflow)
        self._hold(rules.landed(way, after.data, prepared.data))
        return after

    def _prepare(self, reply: Reply, act: Act) -> Reply:
        data = reply.data
        waiting = [each for each in data["dispatches"] if each["status"] == "pending"]
        for dispatch, outcome in zip(waiting, act.ended, strict=False):
            self._work(dispatch, well=outcome == "ok")
        for severity in act.findings:
            if not data.get("finding_command"):
                raise _WrongError("a review prints no command that records a finding")
            line = rules.words_of(data["finding_command"])
            self._expect(self._run([*line, "--severity", severity, "--text", FOUND]))
        for name, label in act.answers:
            session = next(each["session"] for each in data["questions"] if each["id"] == name)
            self._expect(self._run(["answer", session, f"{name}={label}", "--reason", REASON]))
        if not (act.ended or act.findings or act.answers):
            return reply
        return self._expect(self._run(["resume", reply.session]))

    def _work(self, dispatch: Mapping[str, Any], *, well: bool) -> None:
        """Claim a piece of work and bring it to an end, good or bad."""
        reply = self._expect(self._run(rules.words_of(dispatch["command"])))
        if "finish" in reply.data:
            line = reply.data["finish"][0 if well else 1]
            self._expect(self._run(rules.words_of(line)))
            return
        address, session = str(reply.data["skill"]), reply.session
        known = (address, well) in self._walked
        if known and not self.thorough and well and self.stage.settle(session):
            return
        cut_short = known and not self.thorough and not well
        acts = None if cut_short else self._end_of(address, reply.data["params"], well=well)
        if acts is None:
            if well:
                raise _WrongError(f"`{address}` has no way to be completed")
            self._expect(self._run(["abandon", session]))
            return
        self._walked.add((address, well))
        workflow = self.stage.workflow(address)
        self._judge(reply, workflow)
        for act in acts:
            reply = self._act(workflow, reply, act)

    def _end_of(self, address: str, params: Mapping[str, Any], *, well: bool) -> tuple[Act, ...] | None:
        key = (address, json.dumps(params, sort_keys=True, default=str), well)
        if key not in self._ends:
            workflow = self.stage.workflow(address)
            status = COMPLETED if well else FAILED
            self._ends[key] = to_end(workflow, start(workflow, params), status)
        return self._ends[key]

    def _judge(self, reply: Reply, workflow: Workflow) -> None:
        self._hold(rules.problems(reply, workflow))
        self._step = reply.data["step"]["id"] if reply.data["step"] else None
        again = self.stage.run(["resume", reply.session])
        self._hold(rules.differs(reply, again))
        if again.xml is not None and reply.xml is None:
            self._hold(rules.problems(again, workflow))

    def _run(self, words: list[str]) -> Reply:
        if self.left is not None:
            if not self.left:
                raise EnoughError
            self.left -= 1
        reply = self.stage.run(words)
        step = reply.data.get("step")
        at = step["id"] if isinstance(step, Mapping) else None
        self._turns.append(Turn(shlex.join(["flow", *words]), at))
        return reply

    def _expect(self, reply: Reply) -> Reply:
        if reply.problem:
            raise _WrongError(reply.problem)
        return reply

    def _hold(self, wrong: Iterable[str]) -> None:
        found = list(wrong)
        if found:
            raise _WrongError("; ".join(found))


def _way(data: Mapping[str, Any], act: Act) -> Mapping[str, Any] | None:
    """Return the printed way on that reports what *act* says."""
    for way in data["next"]:
        same = all(_said(act.facts.get(name)) == _said(value) for name, value in way["facts"].items())
        if way["outcome"] == act.report and same:
            found: Mapping[str, Any] = way
            return found
    return None


def _with(facts: Mapping[str, Any]) -> str:
    return f" with {', '.join(f'{name}={_said(value)}' for name, value in facts.items())}" if facts else ""


def _said(value: object) -> str:
    """Return a value as it is written on a command line."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=list)
