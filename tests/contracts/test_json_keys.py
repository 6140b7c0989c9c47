"""The keys of JSON answers are promises: they are only ever added to."""

from __future__ import annotations

import json
from typing import Any

from support.golden import FOLDER, as_in_golden_file
from support.sandbox import ASKING, SMALL, flow, put_skill, told

GOLDEN = "json_keys.json"


FREE = {"facts", "params", "details", "note"}
"""Their keys are an author's, or belong to one error or record."""


def keys_of(value: Any, at: str = "") -> set[str]:
    """Return the path of every key, list items as ``[]``; values of facts and parameters aside."""
    if isinstance(value, list):
        return set().union(*(keys_of(item, f"{at}[]") for item in value))
    if not isinstance(value, dict) or at.rpartition(".")[2] in FREE:
        return set()
    found: set[str] = set()
    for key, item in value.items():
        found |= {f"{at}.{key}"} | keys_of(item, f"{at}.{key}")
    return found


def answers() -> dict[str, Any]:
    """Return one answer of each kind, with as much in it as there can be."""
    put_skill("asking", ASKING, texts={"workflows/look.yaml": SMALL.replace("NAME", "NAME/look")})
    put_skill("wrong", SMALL.replace("ok: second", "ok: nowhere"))
    step = told("step", "asking")
    told("step", "asking", "done", "-s", "sure=high", "-s", "where=a")
    return {
        "step": step,
        "status": told("status"),
        "sessions": told("sessions"),
        "history": told("history", step["session"]),
        "list": told("list"),
        "show": told("show", "asking"),
        "check": json.loads(flow("check", "wrong", "--json").out),
        "preview": told("preview", "asking", "look"),
        "abandon": told("abandon", step["session"]),
        "error": json.loads(flow("step", "nosuch", "--json").out),
    }


def test_no_key_of_an_answer_is_ever_lost() -> None:
    found = {name: sorted(keys_of(answer)) for name, answer in answers().items()}
    promised = json.loads((FOLDER / GOLDEN).read_text())

    lost = {name: sorted(set(keys) - set(found[name])) for name, keys in promised.items()}
    assert not any(lost.values()), lost


def test_every_key_of_an_answer_is_listed() -> None:
    found = {name: sorted(keys_of(answer)) for name, answer in answers().items()}

    assert as_in_golden_file(GOLDEN, json.dumps(found, indent=1))
