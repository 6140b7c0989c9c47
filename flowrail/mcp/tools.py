"""The tools of the server, and the conversion of commands to calls of them."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field

from flowrail.command import Command, Hint
from flowrail.errors import FlowError, UsageError
from flowrail.formatters.data import as_data
from flowrail.formatters.guidance import blocks
from flowrail.formatters.guidance.work import finding_data, put_data, put_text
from flowrail.formatters.reports.handoff import HandoffAnswer
from flowrail.hosts.conversation import host_id
from flowrail.machines.engine.question_input import parse_questions
from flowrail.operations.discover import find_skills
from flowrail.operations.environment import Environment
from flowrail.operations.handoffs.receive import ReceivedHandoff, receive_handoff
from flowrail.operations.handoffs.send import cancel_handoff, send_handoff
from flowrail.operations.handoffs.status import HandoffList, show_status
from flowrail.operations.running import findings, steps
from flowrail.operations.running import (
    questions as running_questions,
)
from flowrail.operations.running.conversations import release
from flowrail.operations.running.steps import Answer
from flowrail.operations.sessions.board import list_sessions
from flowrail.operations.sessions.listing import SessionList, session_details
from flowrail.operations.skills.list import list_skills
from flowrail.text.report import plain_text, table
from flowrail.text.safe_text import error_data, visible

INSTRUCTIONS = """\
Procedures as state machines. `discover` lists the skills. `step` starts one and shows its first step. Do what the
step says, then report its outcome with one of the calls that the answer shows, and continue until no call is shown.
A call is written as the tool's name and its arguments: step {"session": "…", "outcome": "ok", "expect": 0}. If values
are asked for, `-s NAME=VALUE` means the key NAME in `facts`. A command such as `flow resume ID` in a text is the tool
`step` with that session; `flow VERB …` is the tool VERB. Sessions are files: nothing is lost when your context is.
`sessions` lists the open sessions.
"""
WAIT = 5.0
"""Seconds that a call waits for a session that another process holds. Other calls wait meanwhile."""

Session: TypeAlias = Annotated[str, Field(description="The id of a session.")]
OptionalSession: TypeAlias = Annotated[str | None, Field(description="The id of a session.")]
Params: TypeAlias = Annotated[
    dict[str, Any] | None, Field(description="Parameters of the workflow, by name.")
]
Facts: TypeAlias = Annotated[
    dict[str, Any] | None,
    Field(
        description="Values that belong to the report, by name. Each has the type that is asked for, or is its text."
    ),
]
Note: TypeAlias = Annotated[
    str, Field(description="What to remember, in a sentence. Shown when the session is resumed.")
]


class ToolAnswer(NamedTuple):
    """The answer of a tool: a text to read, and the same as plain data, in which commands are values."""

    text: str
    data: dict[str, Any]


class ToolCall(NamedTuple):
    """A tool and its arguments."""

    tool: str
    arguments: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.tool} {json.dumps(self.arguments, ensure_ascii=False, default=list)}"


class Tools:
    """The tools for one store. Each call looks up folder, time and user again.

    A connection to the server is a conversation, unless the host names one in the environment.
    """

    def __init__(self, *, store: str | None, roots: Sequence[str]) -> None:
        self._store = store
        self._roots = roots
        self._conversation = host_id(os.environ) or f"mcp-{os.urandom(4).hex()}"

    @property
    def environment(self) -> Environment:
        """The environment of a call."""
        return Environment(store=self._store, roots=self._roots, conversation=self._conversation, wait=WAIT)

    def close(self) -> None:
        """Release the sessions of this connection, which has ended."""
        environment = self.environment
        release(
            environment.store,
            environment.store.ids(),
            self._conversation,
            at=environment.now,
            by=environment.by,
        )

    def show(self, command: Command) -> str:
        """Return *command* as a call, or as a shell line if no tool does it."""
        return str(call_of(command, self.environment.store.address) or command)

    def step(
        self,
        skill: Annotated[str | None, Field(description="The skill. Not needed with `session`.")] = None,
        session: OptionalSession = None,
        outcome: Annotated[
            str | None, Field(description="ok, fail, skip or iterate; `done` if the step itself decides.")
        ] = None,
        facts: Facts = None,
        expect: Annotated[
            int | None, Field(ge=0, strict=True, description="The revision that the report is for.")
        ] = None,
        params: Params = None,
        new: Annotated[
            bool, Field(description="Start a new session of the skill, even if one is open.")
        ] = False,
        note: Note = "",
        take_over: Annotated[
            bool, Field(description="Continue a session that belongs to another conversation.")
        ] = False,
        again: Annotated[
            str | None,
            Field(description="Replace the agent of this dispatch of the session's step, by number."),
        ] = None,
    ) -> ToolAnswer:
        """Show the current step of a session, or report its outcome and show the next.

        Without `outcome` nothing changes; for a `skill` without an open session one is started.
        """
        environment = self.environment
        if again is not None:
            if session is None or outcome is not None:
                raise UsageError("`again` needs a session and no outcome", hint="name the session")
            return self._step(steps.replace_agent(environment, session, again))
        if (params or new) and (session is not None or outcome is not None):
            raise UsageError(
                "`params` and `new` belong to a new session", hint="give facts of a report as `facts`"
            )
        if outcome is None:
            if facts or expect is not None or note:
                raise UsageError("facts, `expect` and `note` belong to a report", hint="name the outcome too")
            if session is not None:
                return self._step(steps.look(environment, session, skill, take_over=take_over))
            if skill is None:
                return self._step(steps.resume(environment, None))
            if new:
                return self._step(steps.begin(environment, skill, _given(params)))
            return self._step(steps.step_again(environment, skill, _given(params)))
        if skill is None and session is None:
            raise UsageError("the step to report is missing", hint="give `session`, or `skill`")
        answer = steps.report(
            environment,
            skill,
            outcome,
            facts=facts,
            session_id=session,
            expect=expect,
            note=note,
            take_over=take_over,
        )
        return self._step(answer)

    def sessions(self, session: OptionalSession = None) -> ToolAnswer:
        """Show the state of a session and its history, or without `session` list the open sessions."""
        environment = self.environment
        if session:
            details = session_details(environment, session)
            return ToolAnswer(plain_text(details.report(self.show)), as_data(details.data()))
        listed = SessionList(
            tuple(list_sessions(environment.store, environment.now)), environment.conversation, every=False
        )
        return ToolAnswer(plain_text(listed.report()), as_data(listed))

    def ask(
        self,
        session: Session,
        questions: Annotated[
            list[dict[str, Any]],
            Field(
                min_length=1,
                max_length=3,
                description="Each has a text and, unless it is answered in free text, two or three options, each a label; "
                "id, header (at most 12 characters) and multi can be left out.",
            ),
        ],
        note: Note = "",
    ) -> ToolAnswer:
        """Ask the user an agent's questions. Its session waits until they are answered.

        Return the resulting block as the whole answer.
        """
        parsed = parse_questions(json.dumps(questions), source="questions")
        put = running_questions.ask(self.environment, session, parsed, note=note)
        return ToolAnswer(put_text(put, self.show), put_data(put, self.show))

    def answer(
        self,
        session: Session,
        answers: Annotated[
            dict[str, str | list[str]],
            Field(
                description="The label for each question's id, several as a list; other words as `other:TEXT`."
            ),
        ],
        reason: Annotated[str, Field(description="The reason, for the journal.")] = "",
        note: Note = "",
    ) -> ToolAnswer:
        """Record the user's answers to the open questions of a session and show what comes next."""
        labels = {name: choice if isinstance(choice, list) else [choice] for name, choice in answers.items()}
        return self._step(running_questions.answer(self.environment, session, labels, reason, note=note))

    def finding(
        self,
        session: Session,
        action: Annotated[Literal["add", "list", "resolve"], Field(description="What to do.")] = "add",
        severity: Annotated[
            Literal["MUST", "SHOULD", "COULD"] | None, Field(description="add: how much it matters.")
        ] = None,
        text: Annotated[str | None, Field(description="add: what is wrong.")] = None,
        place: Annotated[str | None, Field(description="add: where, as FILE:LINE.")] = None,
        item: Annotated[
            str | None, Field(description="add: what it is about; the same again is its next version.")
        ] = None,
        finding: Annotated[str | None, Field(description="resolve: the finding that is settled.")] = None,
        note: Annotated[str, Field(description="resolve: how it was settled.")] = "",
    ) -> ToolAnswer:
        """Record a finding of a review, list the findings, or record that one is resolved.

        A review gate decides from these.
        """
        environment = self.environment
        if action == "list":
            home, recorded = findings.list_findings(environment, session)
            rows = [
                [stored.id, stored.severity, "open" if stored.is_open else "resolved", stored.text]
                for stored in recorded
            ]
            head = ["id", "severity", "state", "what"]
            shown = table(head, rows) if rows else f"no finding recorded in {home}, where the gate decides"
            return ToolAnswer(shown, {"findings": [finding_data(home, stored) for stored in recorded]})
        if action == "resolve":
            settled = _needed(finding, "finding", action)
            home, resolved = findings.resolve_finding(environment, session, settled, note)
            return ToolAnswer(f"{resolved.id} is resolved", finding_data(home, resolved))
        home, added = findings.add_finding(
            environment,
            session,
            severity=_needed(severity, "severity", action),
            text=_needed(text, "text", action),
            place=place,
            item=item,
        )
        shown = f"{added.id} {added.severity} recorded in {home}, where the gate decides"
        return ToolAnswer(shown, finding_data(home, added))

    def discover(
        self,
        what: Annotated[Literal["skills", "targets"], Field(description="What to list.")] = "skills",
        session: Annotated[str | None, Field(description="targets: for the work of this session.")] = None,
        problem_type: Annotated[
            str | None, Field(description="targets: ranked by fit to such a problem.")
        ] = None,
        categories: Annotated[Sequence[str], Field(description="targets: with one of these.")] = (),
        inputs: Annotated[Sequence[str], Field(description="targets: that take one of these.")] = (),
        source: Annotated[str, Field(description="targets: that accept work from this skill.")] = "",
        text: Annotated[str, Field(description="targets: words that must all be in the description.")] = "",
    ) -> ToolAnswer:
        """List the skills that can be started, or the targets that can take over work, best first. Runs nothing."""
        if what == "skills":
            listed = list_skills(self.environment)
            return ToolAnswer(plain_text(listed.report()), as_data(listed))
        menu = find_skills(
            self.environment,
            session=session,
            problem_type=problem_type or "",
            category=tuple(categories),
            input=tuple(inputs),
            from_=source,
            text=text,
        )
        return ToolAnswer(plain_text(menu.report()), as_data(menu))

    def handoff(
        self,
        action: Annotated[Literal["send", "receive", "status", "cancel"], Field(description="What to do.")],
        target: Annotated[str | None, Field(description="send: the skill that takes over.")] = None,
        session: Annotated[
            str | None, Field(description="send: the session whose work is handed over.")
        ] = None,
        file: Annotated[str | None, Field(description="receive: the payload.")] = None,
        sha256: Annotated[str, Field(description="receive: the digest that came with it.")] = "",
        force: Annotated[bool, Field(description="receive: accept an expired payload.")] = False,
        handoff: Annotated[str | None, Field(description="status, cancel: the handoff.")] = None,
        reason: Annotated[str, Field(description="Why.")] = "",
        yes: Annotated[
            bool, Field(description="send: although that skill had this work before; needs a reason.")
        ] = False,
        approved: Annotated[
            bool, Field(description="send: the user approved a chain of more than five.")
        ] = False,
        facts: Annotated[
            dict[str, Any] | None,
            Field(description="send: facts that the payload needs and no step reported."),
        ] = None,
        params: Params = None,
    ) -> ToolAnswer:
        """Hand the work of a session to another skill, take over such work, or show the state of handoffs."""
        environment = self.environment
        result: HandoffAnswer | HandoffList | ReceivedHandoff
        if action == "status":
            result = show_status(environment, handoff)
        elif action == "receive":
            payload = _needed(file, "file", action)
            result = receive_handoff(environment, payload, sha256=sha256, force=force, param=_given(params))
        elif action == "cancel":
            result = cancel_handoff(environment, _needed(handoff, "handoff", action), reason=reason)
        else:
            result = send_handoff(
                environment,
                _needed(target, "target", action),
                session=session or "",
                reason=reason,
                yes=yes,
                approved=approved,
                fact=facts or {},
            )
        if isinstance(result, ReceivedHandoff) and result.answer is not None:
            step = self._step(result.answer)
            return ToolAnswer(step.text, {**as_data(result), "step": step.data})
        return ToolAnswer(plain_text(result.report()), as_data(result))

    def _step(self, answer: Answer) -> ToolAnswer:
        text = "\n".join(
            [blocks.xml(answer.guidance, self.show), *(f"note: {note}" for note in answer.notes)]
        )
        return ToolAnswer(text, {**as_data(answer.guidance), "notes": answer.notes})


def as_sdk_tools(tools: Tools) -> list[Tool]:
    """Return the tools for the SDK's server, with schemas made from their annotations."""
    functions = (
        *(tools.step, tools.sessions, tools.ask, tools.answer),
        *(tools.finding, tools.discover, tools.handoff),
    )
    return [_as_sdk_tool(tools, function) for function in functions]


def _as_sdk_tool(tools: Tools, function: Callable[..., ToolAnswer]) -> Tool:
    @functools.wraps(function)
    async def call(**arguments: Any) -> CallToolResult:
        return _answered(tools, lambda: function(**arguments))

    reads = function.__name__ in {"sessions", "discover"}
    hints = ToolAnnotations(read_only_hint=reads, destructive_hint=False, open_world_hint=False)
    about = " ".join((function.__doc__ or "").split())
    tool = Tool.from_function(call, description=about, annotations=hints, structured_output=False)
    model = tool.fn_metadata.arg_model
    model.model_config["extra"] = "forbid"  # a misspelt argument must not be ignored
    model.model_rebuild(force=True)
    return tool.model_copy(update={"parameters": model.model_json_schema(by_alias=True)})


def _answered(tools: Tools, run: Callable[[], ToolAnswer]) -> CallToolResult:
    try:
        answer = run()
        text, data, is_error = answer.text, with_calls(answer.data, tools.environment.store.address), False
    except FlowError as error:
        hint = str(error.hint)
        if isinstance(error.hint, Hint):
            with suppress(FlowError):  # without a current folder there is no store
                hint = error.hint.render(tools.show)
        text, is_error = f"{error.message} [{error.code}]\n{hint}", True
        data = with_calls({"error": {**error_data(error), "hint": hint}}, None)
    content = TextContent(type="text", text=visible(text))
    return CallToolResult(content=[content], structured_content=data, is_error=is_error)


def _given(values: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the parameters that have a value; a client may send `null` for the others."""
    return {name: value for name, value in (values or {}).items() if value is not None}


def _needed(value: str | None, name: str, action: str) -> str:
    if value is None:
        raise UsageError(f"`{action}` needs `{name}`", hint=f"give `{name}` too", argument=name)
    return value


_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "step": ("skill", "outcome"),
    "resume": ("session",),
    "ask": ("session",),
    "answer": ("session",),
    "finding add": ("session",),
    "finding list": ("session",),
    "handoff send": ("target",),
    "handoff receive": ("file",),
    "handoff status": ("handoff",),
    "handoff cancel": ("handoff",),
    "discover": (),
    "sessions": ("session",),
    "list": (),
    "show": (),
}
"""The commands that a tool offers too, and what the tool calls their arguments."""
_TOOLS = {"resume": "step", "list": "discover", "show": "discover"}
_FIXED = {
    "finding add": {"action": "add"},
    "finding list": {"action": "list"},
    "discover": {"what": "targets"},
}
_NOT_FOR_TOOLS = frozenset({"json", "format", "all", "root"})


def call_of(command: Command, store: str | None) -> ToolCall | None:
    """Return the call that is equivalent to *command*; `None` if there is no such tool, or not for this *store*."""
    names = _ARGUMENTS.get(command.verb)
    if names is None or command.store not in {None, store}:
        return None
    verb, _, action = command.verb.partition(" ")
    tool = _TOOLS.get(verb, verb)
    fixed = _FIXED.get(command.verb, {"action": action} if action else {})
    arguments = dict(zip(names, command.arguments, strict=False))
    options = {
        name: dict(value) if isinstance(value, Mapping) else value
        for name, value in command.options.items()
        if name not in _NOT_FOR_TOOLS and value != {}
    }
    return ToolCall(tool, {**fixed, **arguments, **options})


def with_calls(value: Any, store: str | None) -> Any:
    """Return plain data with its commands as calls, or as shell lines if no tool does it, and every character visible."""
    if isinstance(value, Command):
        call = call_of(value, store)
        return with_calls(call._asdict() if call is not None else str(value), store)
    if isinstance(value, (list, tuple)):
        return [with_calls(item, store) for item in value]
    if isinstance(value, Mapping):
        return {visible(key): with_calls(item, store) for key, item in value.items()}
    return value if value is None or isinstance(value, (bool, int, float)) else visible(str(value))
