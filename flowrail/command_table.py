"""The table of commands: for each its module, its section in the help, its one-line help, and what it uses.

The command line, the MCP server, the permissions of agents and the hints that name a store are made from it. A
command's module is imported when it runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

READS, CHANGES = "reads", "changes"
"""The kinds of MCP tools."""


class CommandEntry(NamedTuple):
    """One command, or a group of commands."""

    module: str
    """The module of flowrail that defines it; empty for a group."""
    section: str
    """Its section in the help."""
    help: str
    """Its one-line help."""
    tool: str = ""
    """Whether MCP clients have it as a tool, and whether the tool only reads or changes something."""
    commands: Mapping[str, CommandEntry] = MappingProxyType({})
    """The commands of a group."""
    more_help: str = ""
    """More lines of help of a group."""
    extra: tuple[str, ...] = ()
    """The extra of flowrail that it needs, and the packages that this installs."""
    uses_store: bool = False
    """Whether it reads or writes a store, so that a hint with it names the store; for a group, all its commands."""


_STEP = "operations.steps.current_step"
_QUESTIONS = "operations.steps.user_questions"
_FINDINGS = "operations.steps.review_findings"
_EVIDENCE = "operations.steps.evidence_decisions"
_SEND = "operations.handoffs.send"
_FLEET = "fleet.commands"

_FINDING = {
    "add": CommandEntry(_FINDINGS, "Record", "Record one finding", CHANGES),
    "none": CommandEntry(_FINDINGS, "Record", "Record that a review found nothing", CHANGES),
    "list": CommandEntry(_FINDINGS, "Show and resolve", "List the recorded findings", READS),
    "resolve": CommandEntry(_FINDINGS, "Show and resolve", "Mark a finding as resolved", CHANGES),
}
_FINDING_HELP = """
A review gate decides from the findings. Findings of a sub-agent's session count for the nearest
gate above it.
"""

_HANDOFF = {
    "send": CommandEntry(
        _SEND, "Hand off", "Hand the work of a session or a skill to another skill", CHANGES
    ),
    "status": CommandEntry(
        "operations.handoffs.handoff_list",
        "Hand off",
        "Show the status of one handoff, or of all open ones",
        READS,
    ),
    "cancel": CommandEntry(_SEND, "Hand off", "Cancel a handoff", CHANGES),
    "receive": CommandEntry(
        "operations.handoffs.receive",
        "Take over",
        "Check a payload, record its receipt and take over the work",
        CHANGES,
    ),
    "check": CommandEntry(
        "operations.handoffs.payload_check",
        "Payloads",
        "List every problem of a payload, or print it in another version",
    ),
}
_HANDOFF_HELP = """
A payload is built from what a session or a skill reported, checked, written once and received once. The
lifecycle is recorded in .flow/handoffs; `flow audit` shows it.
"""

_SESSION = {
    "rewind": CommandEntry(
        "operations.sessions.rewind", "Change", "Take a session back to an earlier revision"
    ),
    "migrate": CommandEntry(
        "operations.sessions.migrate", "Change", "Move a session to the newest definition of its workflow"
    ),
    "abandon": CommandEntry(
        "operations.sessions.abandon", "Change", "End a session that will not be completed"
    ),
    "prune": CommandEntry("operations.sessions.prune", "Keep", "Delete old sessions that have ended"),
}

_STORE = {
    "init": CommandEntry("operations.stores", "Databases", "Create the tables of a store in a database"),
    "copy": CommandEntry("operations.stores", "Databases", "Copy all sessions and handoffs to another store"),
}

_FLEET_EXTRA = ("fleet", "dbos", "sqlalchemy", "psycopg")
_FLEET_COMMANDS = {
    name: CommandEntry(_FLEET, "Commands", about, extra=_FLEET_EXTRA)
    for name, about in {
        "run": "Start a session that workers run",
        "worker": "Run headless agents for the sessions of the fleet",
        "status": "Show workers, sessions and the newest jobs",
    }.items()
}
_FLEET_HELP = """
Workers run headless agents, such as Claude Code or Codex, for sessions without a user present. On one machine this
needs no set-up. With a store in PostgreSQL, workers on many machines share the work.
"""

_REGISTRY = {
    "sync": CommandEntry(
        "operations.registry_update", "Commands", "Update the registry from the skills in your home folder"
    ),
}
_REGISTRY_HELP = """
The registry is one optional file of the user. It adds what a skill cannot declare itself: priority,
notes, tags, workflows that are stored elsewhere.
"""

AGENTS, _EVERY_DAY, OCCASIONALLY = "For agents", "Every day", "Occasionally"
COMMANDS: Mapping[str, CommandEntry] = {
    "step": CommandEntry(
        _STEP,
        AGENTS,
        "Show the current step, or report its outcome and show the next",
        CHANGES,
        uses_store=True,
    ),
    "resume": CommandEntry(
        _STEP, AGENTS, "Show the current step of a session again", CHANGES, uses_store=True
    ),
    "run": CommandEntry(
        "operations.steps.step_command",
        AGENTS,
        "Run a command of the current step, or attach to it",
        CHANGES,
        uses_store=True,
    ),
    "ask": CommandEntry(_QUESTIONS, AGENTS, "Ask the user an agent's questions", CHANGES, uses_store=True),
    "answer": CommandEntry(
        _QUESTIONS, AGENTS, "Record the user's answers and print the next command", CHANGES, uses_store=True
    ),
    "finding": CommandEntry(
        "",
        AGENTS,
        "Record, list and resolve findings of a review",
        "",
        _FINDING,
        _FINDING_HELP,
        uses_store=True,
    ),
    "handoff": CommandEntry(
        "", AGENTS, "Hand work from one skill to another", "", _HANDOFF, _HANDOFF_HELP, uses_store=True
    ),
    "setup": CommandEntry(
        "operations.setup", _EVERY_DAY, "Set up your agent's host: hooks, permissions, skills"
    ),
    "list": CommandEntry("operations.skills.list", _EVERY_DAY, "List the skills", READS),
    "show": CommandEntry(
        "operations.skills.show",
        _EVERY_DAY,
        "Show a skill's steps, transitions and parameters, or what one step prints",
    ),
    "check": CommandEntry("operations.skills.skill_check", _EVERY_DAY, "Find errors in a workflow"),
    "conform": CommandEntry(
        "conformance.conform", _EVERY_DAY, "Judge transcripts by the rules of a workflow"
    ),
    "test": CommandEntry(
        "testing.walks.run", _EVERY_DAY, "Walk through a workflow and check what its steps print"
    ),
    "diagram": CommandEntry("operations.skills.diagram", _EVERY_DAY, "Draw a workflow, or a session on it"),
    "discover": CommandEntry(
        "operations.discover",
        _EVERY_DAY,
        "Find skills that can take over a piece of work",
        READS,
        uses_store=True,
    ),
    "new": CommandEntry("operations.skills.new", _EVERY_DAY, "Create a skill"),
    "trust": CommandEntry(
        "operations.skills.trust",
        _EVERY_DAY,
        "Approve a skill to run, or accept a session",
    ),
    "sessions": CommandEntry(
        "operations.sessions.listing",
        _EVERY_DAY,
        "List the open sessions, or show one with its history",
        READS,
        uses_store=True,
    ),
    "watch": CommandEntry("cli.commands.watch", _EVERY_DAY, "Show live what all sessions do"),
    "ui": CommandEntry(
        "cli.commands.ui",
        _EVERY_DAY,
        "Open a web page that shows all sessions live",
        extra=("web", "jinja2", "starlette", "uvicorn"),
    ),
    "audit": CommandEntry(
        "operations.journal_audit",
        _EVERY_DAY,
        "Show what happened in handoffs and sessions, or verify it",
        uses_store=True,
    ),
    "doctor": CommandEntry("operations.doctor", _EVERY_DAY, "Examine the whole set-up and say what to fix"),
    "session": CommandEntry("", OCCASIONALLY, "Change and delete sessions", "", _SESSION, uses_store=True),
    "approve": CommandEntry(
        _EVIDENCE, OCCASIONALLY, "Confirm a check that only a person can confirm", uses_store=True
    ),
    "waive": CommandEntry(
        _EVIDENCE, OCCASIONALLY, "Continue without evidence, as a person at a terminal", uses_store=True
    ),
    "store": CommandEntry("", OCCASIONALLY, "Keep sessions in a database, or move them", "", _STORE),
    "fleet": CommandEntry(
        "",
        OCCASIONALLY,
        "Run sessions with headless agents",
        "",
        _FLEET_COMMANDS,
        _FLEET_HELP,
    ),
    "registry": CommandEntry(
        "", OCCASIONALLY, "Update the registry of workflows", "", _REGISTRY, _REGISTRY_HELP
    ),
    "hook": CommandEntry(
        "hooks.command", OCCASIONALLY, "Answer an event of an agent's host: JSON in, JSON out"
    ),
    "mcp": CommandEntry(
        "cli.commands.mcp",
        OCCASIONALLY,
        "Serve the commands as tools of the Model Context Protocol",
        extra=("mcp", "mcp", "mcp_types"),
    ),
    "explain": CommandEntry(
        "operations.explanations",
        OCCASIONALLY,
        "Explain the code of a finding or an error, or list the codes",
    ),
}

WITH_STORE = frozenset(name for name, entry in COMMANDS.items() if entry.uses_store)
"""The commands and groups whose hints name a store."""
AGENTS_COMMANDS = (
    "step", "resume", "run", "ask", "answer", "finding", "handoff send", "handoff receive",
    "handoff status", "handoff check", "sessions", "list", "show", "check", "discover", "audit",
    "explain", "doctor",
)  # fmt: skip
"""The commands that the settings of a host allow to agents, in the order of the settings: those that follow a workflow, and
those that only read. None of them decides in place of a person."""


def entry_of(verb: str) -> CommandEntry:
    """Return the entry of a command such as `session abandon`."""
    group, _, name = verb.partition(" ")
    return COMMANDS[group].commands[name] if name else COMMANDS[group]
