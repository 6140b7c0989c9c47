"""No command runs unapproved code of a project, in any of the places where a project can have code."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.canary import canary
from support.handing import WORK, card
from support.sandbox import allow, flow, home_skills, project_skills, put_python, put_skill, told

EVIL = "open(CANARY, 'w').close()\n"
LEAD = """\
name: NAME
then: py
steps:
  - {id: first, title: First, actions: [Do.], dispatch: {agent: explore, run: py, join: all}, next: {ok: null, fail: null}}
"""


def evil(where: Path | None = None, name: str = "py") -> Path:
    """Write a skill in Python that leaves the canary when it is run."""
    folder = put_python(name, where=where, before=EVIL.replace("CANARY", repr(str(canary()))))
    (folder / "SKILL.md").write_text(card(name))
    return folder


def nobody_allowed_it() -> None:
    evil()


def it_lies_in_the_place_that_clients_share() -> None:
    evil(Path.cwd() / ".agents" / "skills")


def it_was_allowed_with_another_content() -> None:
    begun()
    evil()


def it_was_allowed_with_a_file_less() -> None:
    folder = begun()
    evil()
    allow("py")
    (folder / "helper.py").write_text("")


def it_was_allowed_with_another_mode() -> None:
    begun()
    folder = evil()
    allow("py")
    (folder / "SKILL.md").chmod(0o755)


def it_was_allowed_without_what_python_keeps() -> None:
    folder = begun()
    evil()
    allow("py")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "workflow.cpython-311.pyc").write_bytes(b"")


def it_was_allowed_and_is_not_any_more() -> None:
    begun()
    evil()
    allow("py")
    assert flow("skill", "untrust", "py").status == 0


def it_was_allowed_where_it_lay_before() -> None:
    begun()
    folder = evil()
    allow("py")
    shutil.move(folder, Path.cwd() / ".agents" / "skills" / "py")


def it_became_a_link() -> None:
    shutil.rmtree(begun())
    (project_skills() / "py").symlink_to(evil(Path.cwd() / "evil"))


def it_is_a_hard_link_that_was_written_to() -> None:
    folder = begun()
    beside = Path("beside.py")
    beside.hardlink_to(folder / "workflow.py")
    beside.write_text(EVIL.replace("CANARY", repr(str(canary()))) + beside.read_text())


def it_stands_in_front_of_ones_own() -> None:
    put_python("py", where=home_skills())
    told("start", "py")
    evil()


def its_session_was_taken_over() -> None:
    begun()
    evil()
    (Path.home() / ".local" / "state" / "flowrail" / "key").unlink()
    for kept in Path(".flow", "sessions").glob("py-*/definition.json"):
        kept.write_text(json.dumps({**json.loads(kept.read_text()), "source": "global"}))
        told("session", "adopt", kept.parent.name)


def begun() -> Path:
    """Return the folder of a skill that was allowed, and of which a session is open."""
    folder = put_python("py")
    allow("py")
    told("start", "py")
    return folder


def roads() -> Iterator[tuple[tuple[str, ...], bytes]]:
    """Yield every command that runs a skill's code where it may, with what is piped into it."""
    yield from ((words, b"") for words in WITHOUT_A_SESSION)
    for session in [each.name for each in Path(".flow", "sessions").glob("py-*")]:
        yield from ((tuple(word.replace("ID", session) for word in words), b"") for words in WITH_A_SESSION)
        yield ("ask", session, "-"), QUESTION
    lead = told("start", "lead")
    yield from ((tuple(work["command"].split()[1:]), b"") for work in lead["dispatches"])
    yield ("step", "lead", "ok"), b""
    source = told("start", "source")["session"]
    sent = flow("handoff", "send", "py", "--session", source, "--health-check", "--json").data
    if "receive_command" in sent:
        yield tuple(sent["receive_command"].split()[1:]), b""


WITHOUT_A_SESSION = (
    ("start", "py"),
    ("step", "py"),
    ("step", "py", "done"),
    ("skill", "preview", "py", "first"),
    ("skill", "coverage", "py"),
    ("test", "py"),
    ("test", ".claude/skills/py"),
    ("test", "lead"),
    ("check",),
    ("check", "py"),
    ("show", "py"),
    ("diagram", "py"),
    ("discover", "--all", "--why", "py"),
    ("skill", "replay"),
    ("skill", "replay", "py"),
    ("doctor",),
    ("list",),
)
WITH_A_SESSION = (
    ("resume", "ID"),
    ("step", "py", "ok", "--session", "ID"),
    ("status", "ID"),
    ("history", "ID"),
    ("session", "verify", "ID"),
    ("diagram", "--session", "ID"),
    ("finding", "add", "ID", "--severity", "MUST", "--text", "x"),
    ("answer", "ID", "go=Yes"),
    ("claim", "ID", "first-1"),
    ("session", "rewind", "ID", "--to", "0"),
    ("session", "fork", "ID", "--at", "0"),
    ("session", "migrate", "ID", "--plan"),
    ("session", "migrate", "ID", "--map", "first=second"),
    ("session", "migrate", "ID", "--accept"),
    ("skill", "record", "ID"),
    ("skill", "replay", "ID"),
)
QUESTION = b'{"questions": [{"id": "go", "header": "Go", "text": "Go?", "options": [{"label": "Yes"}, {"label": "No"}]}]}'


@pytest.mark.parametrize(
    "placed",
    [
        nobody_allowed_it,
        it_lies_in_the_place_that_clients_share,
        it_was_allowed_with_another_content,
        it_was_allowed_with_a_file_less,
        it_was_allowed_with_another_mode,
        it_was_allowed_without_what_python_keeps,
        it_was_allowed_and_is_not_any_more,
        it_was_allowed_where_it_lay_before,
        it_became_a_link,
        it_is_a_hard_link_that_was_written_to,
        it_stands_in_front_of_ones_own,
        its_session_was_taken_over,
    ],
)
def test_no_road_leads_to_code_that_nobody_allowed(placed: Callable[[], object]) -> None:
    (Path.cwd() / ".agents" / "skills").mkdir(parents=True)
    put_skill("lead", LEAD)
    put_skill("source", WORK, where=home_skills())
    placed()
    canary().unlink(missing_ok=True)

    refusals = 0
    for words, given in roads():
        status = flow(*words, stdin=given).status
        refusals += status == 7
        assert not canary().exists(), words

    assert refusals >= 5


def test_where_it_is_allowed_the_roads_lead_to_it() -> None:
    put_skill("lead", LEAD)
    put_skill("source", WORK, where=home_skills())
    begun()
    evil()
    allow("py")
    led: set[str] = set()
    for words, given in roads():
        canary().unlink(missing_ok=True)
        flow(*words, stdin=given)
        verb = words[1] if words[0] in {"skill", "session"} else words[0]
        led |= {verb} if canary().exists() else set()

    assert led >= {
        "start",
        "step",
        "preview",
        "coverage",
        "test",
        "replay",
        "resume",
        "finding",
        "ask",
        "claim",
    }
    assert led >= {"rewind", "fork", "migrate", "handoff"}
    assert not led & {"check", "show", "diagram", "discover", "doctor", "list", "history", "verify", "record"}
