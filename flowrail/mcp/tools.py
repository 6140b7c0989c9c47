"""The tools by name: what each is for, what it takes, and the check that it was given that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from flowrail.errors import FlowError, UsageError
from flowrail.mcp import verbs
from flowrail.mcp.forgetting import forgetting
from flowrail.mcp.verbs import Place, Told
from flowrail.text.suggestions import did_you_mean

INSTRUCTIONS = """\
Procedures as state machines. `discover` lists the skills, `start` begins one and tells its first step; do what it
tells, then report it by one of the calls that the answer shows, and go on with what comes back until no call is
shown. A call is written as the tool's name and its arguments: step {"session": "…", "outcome": "ok", "expect": 0}.
Where values are asked for, `-s NAME=VALUE` means the key NAME in `facts`. A command such as `flow resume ID` in a
text is the tool `step` with that session; `flow VERB …` is the tool VERB. Sessions are files: nothing is lost when a
context is. `status` lists what is open.
"""
_SESSION = {"type": "string", "description": "The id of a session."}
_FACTS = {
    "type": "object",
    "description": "Values that belong to the report, by name; each of the type that is asked for, or its text.",
}
_PARAMS = {"type": "object", "description": "Parameters of the workflow, by name."}
_TEXTS = {"type": "array", "items": {"type": "string"}}
_KINDS: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "boolean": (bool,),
    "object": (dict,),
    "array": (list,),
}


class WrongArgumentsError(UsageError):
    """A tool was called with arguments that it does not take."""

    code = "WRONG_ARGUMENTS"


class FaultError(FlowError):
    """A tool failed in a way that nobody foresaw; the server lives on."""

    code = "FAULT"


class Tool(NamedTuple):
    """One tool. ``reads`` says that it changes nothing."""

    about: str
    takes: Mapping[str, Mapping[str, Any]]
    needs: tuple[str, ...]
    run: Callable[[Place, Mapping[str, Any]], Told]
    reads: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        """What it takes, as a JSON Schema."""
        return {
            "type": "object",
            "properties": {name: dict(each) for name, each in self.takes.items()},
            "required": list(self.needs),
            "additionalProperties": False,
        }


def _text(about: str, *choices: str) -> dict[str, Any]:
    return {"type": "string", "description": about, **({"enum": list(choices)} if choices else {})}


def _flag(about: str) -> dict[str, Any]:
    return {"type": "boolean", "description": about}


TOOLS: dict[str, Tool] = {
    "step": Tool(
        "Shows the current step of a session, or reports how it went and shows the next. Without `outcome` nothing "
        "changes; with a `skill` of which no session is open one is begun.",
        {
            "skill": _text("The skill, such as problem-analysis; not needed where `session` is given."),
            "session": _SESSION,
            "outcome": _text("ok, fail, skip or iterate; `done` where the step itself decides."),
            "facts": _FACTS,
            "expect": {
                "type": "integer",
                "minimum": 0,
                "description": "The revision that the report is for.",
            },
            "params": _PARAMS,
        },
        (),
        verbs.step,
    ),
    "start": Tool(
        "Begins a new session of a skill and shows its first step; other open ones go on beside it.",
        {"skill": _text("The skill, such as problem-analysis."), "params": _PARAMS},
        ("skill",),
        verbs.start,
    ),
    "status": Tool(
        "Tells where a session stands and its ways on, or without `session` which ones are open here.",
        {"session": _SESSION},
        (),
        verbs.status,
        reads=True,
    ),
    "ask": Tool(
        "Puts an agent's questions to the user; its session waits until they are answered. Return the block that "
        "comes back as the whole answer.",
        {
            "session": _SESSION,
            "questions": {
                "type": "array",
                "minItems": 1,
                "maxItems": 3,
                "items": {"type": "object"},
                "description": "Each with id, header (12 characters at most), text, and two or three options, each "
                "with a label.",
            },
            "token": _text("The word that came with the prompt of the work."),
        },
        ("session", "questions"),
        verbs.ask,
    ),
    "answer": Tool(
        "Records the user's answers to the open questions of a session and shows how to go on.",
        {
            "session": _SESSION,
            "answers": {
                "type": "object",
                "description": "The label for each question's id, several as a list; other words as `other:TEXT`.",
            },
            "reason": _text("Why, for the record."),
        },
        ("session", "answers"),
        verbs.answer,
    ),
    "claim": Tool(
        "Takes a piece of work that a step hands out: the first step of a session of one's own, or a prompt and the "
        "calls that end it.",
        {
            "session": _SESSION,
            "dispatch": _text("The piece of work, such as d3-1."),
            "holder": _text("Who takes it, for the record."),
            "token": _text("Goes on with what another agent had claimed, by its token."),
        },
        ("session", "dispatch"),
        verbs.claim,
    ),
    "finish": Tool(
        "Ends a piece of work that was given with a prompt, with its result; or calls it off.",
        {
            "session": _SESSION,
            "dispatch": _text("The piece of work."),
            "outcome": _text("How it ended.", "ok", "fail"),
            "token": _text("The word that came with the prompt."),
            "facts": _FACTS,
            "cancel": _flag("Call it off instead; needs no token."),
        },
        ("session", "dispatch"),
        verbs.finish,
    ),
    "finding": Tool(
        "Records what a review found, lists what is on record, or records that a finding is settled. A gate decides "
        "from these.",
        {
            "session": _SESSION,
            "action": _text("Without it: add.", "add", "list", "resolve"),
            "severity": _text("How much it matters.", "MUST", "SHOULD", "COULD"),
            "text": _text("What is wrong."),
            "place": _text("Where, as FILE:LINE."),
            "item": _text("What it is about; the same again is its next version."),
            "finding": _text("The finding that is settled."),
            "note": _text("How it was settled."),
            "token": _text("The word that came with the prompt of the review."),
        },
        ("session",),
        verbs.finding,
    ),
    "discover": Tool(
        "Lists the skills that can be started, or with `what` targets those that can take over a piece of work, best "
        "first. Runs nothing.",
        {
            "what": _text("Without it: skills.", "skills", "targets"),
            "session": _SESSION,
            "problem_type": _text("Targets ranked by fit to such a problem."),
            "categories": {**_TEXTS, "description": "Targets with one of these."},
            "inputs": {**_TEXTS, "description": "Targets that take one of these."},
            "source": _text("Targets that accept work from this skill."),
            "text": _text("Words that must all be in what a target says of itself."),
        },
        (),
        verbs.discover,
        reads=True,
    ),
    "handoff": Tool(
        "Hands the work of a session to another skill, takes such work over, or tells where handoffs stand.",
        {
            "action": _text("What to do.", "send", "receive", "status", "retry", "cancel"),
            "target": _text("send: the skill that takes over."),
            "session": _SESSION,
            "file": _text("receive: the payload."),
            "sha256": _text("receive: the digest that came with it."),
            "force": _flag("receive: take it though its time has passed."),
            "handoff": _text("status, retry, cancel: the handoff."),
            "reason": _text("Why."),
            "yes": _flag("Hand over though the work went through that skill before; needs a reason."),
            "approved": _flag("The user approved a chain of more than five."),
            "facts": {"type": "object", "description": "Facts that the payload needs and nobody reported."},
            "params": _PARAMS,
        },
        ("action",),
        verbs.handoff,
    ),
}


def call(place: Place, name: str, given: Mapping[str, Any]) -> Told:
    """Call a tool by its name; refused where it is none, or not given what it takes."""
    tool = TOOLS.get(name)
    if tool is None:
        raise WrongArgumentsError(
            f"there is no tool `{name[:80]}`", hint=did_you_mean(name[:80], TOOLS, "see the list of tools")
        )
    problem = next(_problems(tool, given), None)
    if problem is not None:
        takes = ", ".join(f"{each}{'' if each in tool.needs else '?'}" for each in tool.takes)
        raise WrongArgumentsError(f"`{name}`: {problem}", hint=f"it takes {takes}", tool=name)
    with forgetting(lambda: (each.path for each in place.world().roots)):
        return tool.run(place, {key: value for key, value in given.items() if value is not None})


def _problems(tool: Tool, given: Mapping[str, Any]) -> Iterator[str]:
    for name in tool.needs:
        if given.get(name) is None:
            yield f"`{name}` is missing"
    for name, value in given.items():
        spec = tool.takes.get(name)
        if spec is None:
            yield f"there is no argument `{name[:80]}`"
        elif value is not None:
            yield from (f"`{name}` {problem}" for problem in _wrong(spec, value))


def _wrong(spec: Mapping[str, Any], value: Any) -> Iterator[str]:
    kind = str(spec["type"])
    if not isinstance(value, _KINDS[kind]) or (kind == "integer" and isinstance(value, bool)):
        yield f"is no {kind}"
    elif "enum" in spec and value not in spec["enum"]:
        yield f"is none of {', '.join(spec['enum'])}"
    elif "minimum" in spec and value < spec["minimum"]:
        yield f"is less than {spec['minimum']}"
    elif isinstance(value, list):
        inner = spec.get("items", {})
        yield from (f"holds something that {problem}" for each in value for problem in _wrong(inner, each))
