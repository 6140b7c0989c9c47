"""Skills that send and receive handoffs, and sessions with work to hand off."""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from support.sandbox import Ran, flow, home_skills, put_skill, told
from support.skills import head, put

from flowrail.text import yaml as yaml_text

WORK = """\
name: NAME
params:
  prompt: {type: string, default: "Should we expand into the European market?"}
  problem_type: {type: string, default: strategic}
steps:
  - id: look
    title: Look
    actions: [Look.]
    reports: {synthesis_summary: {type: string}, notes_file: {type: string}, areas: {type: list}}
    next: {ok: tell}
  - {id: tell, title: Tell, actions: [Tell.], next: {ok: null}}
"""
"""A workflow whose defaults are enough for a handoff."""


def card(name: str, *, categories: str = "[research]", **more: str) -> str:
    """Return the SKILL.md of a skill that receives handoffs; *more* are lines of its handoff block."""
    lines = {"accepts_from": '["*"]', "schema_version": '"3.0"', "handoff_description": "Digs deeper", **more}
    block = "".join(f"  {key}: {value}\n" for key, value in lines.items() if value)
    return head(name, f"categories: {categories}", f"handoff:\n{block}")


def target(name: str, where: Path | None = None, **more: Any) -> Path:
    """Write a skill without a workflow that receives handoffs; return its SKILL.md."""
    return put(where or home_skills(), name, card(name, **more))


def ours(name: str, text: str = WORK, *, where: Path | None = None, **more: str) -> Path:
    """Write a skill with a workflow that receives handoffs; return its folder."""
    return put_skill(name, text, where=where or home_skills(), texts={"SKILL.md": card(name, **more)})


def session(skill: str = "source", *report: str) -> str:
    """Start a session of a workflow, report its first step, and return its id."""
    if not (home_skills() / skill).exists():
        ours(skill)
    begun = told("step", skill, "--new")
    if report:
        told("step", skill, "ok", "--session", begun["session"], *report)
    return str(begun["session"])


def send(name: str, session_id: str, *words: str) -> dict[str, Any]:
    """Send a handoff and return the answer."""
    sent: dict[str, Any] = told("handoff", "send", name, "--session", session_id, *words)
    return sent


def payload_of(sent: dict[str, Any]) -> dict[str, Any]:
    """Return the handoff in the payload that was sent."""
    text = Path(sent["payload"]).read_text()
    loaded: Any = (
        json.loads(text) if sent["payload"].endswith("json") else yaml_text.load(text, source="p").value
    )
    handoff: dict[str, Any] = loaded["handoff"]
    return handoff


def receive(sent: dict[str, Any], *words: str) -> Ran:
    """Receive a handoff with the printed command."""
    return flow(*sent["receive_command"].split()[1:], *words, "--json")


def handoffs_folder() -> Path:
    """Return the folder that holds the handoffs."""
    return Path.cwd() / ".flow" / "handoffs"


def phases(handoff_id: str) -> list[str]:
    """Return the kinds of records of a handoff, in order."""
    lines = (handoffs_folder() / handoff_id / "journal.jsonl").read_text().splitlines()
    return [json.loads(line)["kind"] for line in lines]


def forged(number: int, records: Iterable[dict[str, Any]]) -> str:
    """Write *records* as the journal of a handoff, with correct hashes, and return its id."""
    handoff_id = f"handoff-{number:06d}"
    folder, before = handoffs_folder() / handoff_id, ""
    folder.mkdir()
    with (folder / "journal.jsonl").open("wb") as file:
        for record in records:
            body = {key: each for key, each in record.items() if key != "hash"}
            if "prev" in record:
                body["prev"] = before
            if isinstance(record.get("handoff"), dict):
                body["handoff"] = {**record["handoff"], "id": handoff_id}
            text = json.dumps(body, separators=(",", ":")).encode()[:-1]
            before = sha256(text).hexdigest()
            file.write(text + b',"hash":"' + before.encode() + b'"}\n')
    return handoff_id
