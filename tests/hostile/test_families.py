"""Sessions that say of each other, in a store that somebody else made, who works for whom."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence

import pytest
from support.counting import calls_of
from support.forged import folder_of, sealed
from support.sandbox import flow, put_skill, refused, told

from flowrail.machines.engine.agents import CLAIMED, Dispatched
from flowrail.storage.records import to_plain


def dispatch(name: str, child: str) -> object:
    work = Dispatched(name, "explore", "evil", status=CLAIMED, holder="x", child=child, token=child)
    return to_plain(work._replace(expires_at="2030-01-01T00:00:00Z"))


def planted(name: str, parent: tuple[str, str] | None = None, work: Sequence[object] = ()) -> str:
    """Put a session of somebody else into the store: one that works for *parent* and gives out *work*."""
    begun = [each.name for each in folder_of("x").parent.glob("evil-*") if "-aaaa" not in each.name]
    own = begun[0] if begun else str(told("start", "evil")["session"])
    shutil.copytree(folder_of(own), folder_of(name))
    (folder_of(name) / "session.json").unlink()
    last = json.loads((folder_of(name) / "journal.jsonl").read_bytes())
    del last["hash"], last["mac"]
    given = {"session": parent[0], "dispatch": parent[1]} if parent else {}
    last["session"] |= {"id": name, "parent": given, "dispatches": work}
    (folder_of(name) / "journal.jsonl").write_bytes(sealed(last))
    return name


VERBS = (
    ["status", "ID"],
    ["resume", "ID"],
    ["step", "evil", "--session", "ID"],
    ["step", "evil", "ok", "--session", "ID"],
    ["claim", "ID", "d0-1"],
    ["finish", "ID", "d0-1", "ok", "--token", "x"],
)


@pytest.mark.parametrize("round_of", [1, 2, 3])
def test_sessions_that_work_for_each_other_in_a_ring_are_answered_once_they_are_taken_over(
    round_of: int,
) -> None:
    put_skill("evil")
    ring = [f"evil-aaaaa{number}" for number in range(round_of)]
    for at, name in enumerate(ring):
        planted(name, (ring[at - 1], "d0-1"), [dispatch("d0-1", ring[(at + 1) % round_of])])
        assert flow("adopt", name).status == 0

    for words in VERBS:
        assert flow(*(each.replace("ID", ring[0]) for each in words)).status in {0, 4}, words


def test_work_counts_as_that_of_a_session_only_where_that_says_so_too() -> None:
    put_skill("evil")
    levels = [f"evil-aaaa{number:02}" for number in range(12)]
    for at, name in enumerate(levels):
        one_down, two_down = levels[at + 1 : at + 2], levels[at + 2 : at + 3]
        below = [dispatch(f"d0-{n}", child) for n, child in enumerate((*one_down, *two_down))]
        planted(name, (levels[at - 1], "d0-0") if at else None, below)
        assert flow("adopt", name).status == 0

    reads = calls_of(lambda: flow("status", levels[0]), "_load")

    assert 12 <= reads < 12 * 12


def test_a_session_that_gives_two_pieces_of_work_to_one_is_damage() -> None:
    put_skill("evil")
    planted("evil-aaaaab")
    planted("evil-aaaaaa", work=[dispatch("d0-1", "evil-aaaaab"), dispatch("d0-2", "evil-aaaaab")])

    status, error = refused("adopt", "evil-aaaaaa")

    assert (status, error["code"]) == (3, "JOURNAL_DAMAGED")
    assert "two pieces of work to one session" in error["message"]


@pytest.mark.parametrize("words", [["sessions"], ["sessions", "--all"], ["status"], ["prune", "--dry-run"]])
def test_a_session_for_which_many_say_that_they_work_is_read_once(words: Sequence[str]) -> None:
    put_skill("evil")
    planted("evil-aaaaaa", work=[dispatch("d0-1", "evil-aaaa00")])
    for number in range(40):
        planted(f"evil-aaaa{number:02}", ("evil-aaaaaa", "d0-1"))

    loads = calls_of(lambda: flow(*words), "_load")

    assert loads <= 42 + 1 + 1  # each session, and the one for which they work
