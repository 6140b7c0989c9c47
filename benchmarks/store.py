"""Measure a step in the file store: compared with an append and flush, with two peers, and in long sessions.

Run: python benchmarks/store.py [LARGEST]

The peers are LangGraph's SqliteSaver and Burr's SQLite persister, if they are installed (`pip install --group peers`).
All contestants write to the same disk in the same run.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from timing import best_of, report

from flowrail.discovery.locations import skill_roots
from flowrail.machines.plain_form import from_plain
from flowrail.machines.session import Report, Session
from flowrail.machines.session_record import Record
from flowrail.machines.session_store import Store
from flowrail.machines.stored_definition import StoredDefinition
from flowrail.machines.transition import advance
from flowrail.operations.environment import Environment
from flowrail.operations.steps import current_step as steps
from flowrail.operations.steps.new_session import begin
from flowrail.skills.loader import Loader
from flowrail.storage.converter import to_plain
from flowrail.storage.file_store import FileBackend
from flowrail.storage.journal import line_of
from flowrail.storage.user_mark import Owner

SIZES = (10, 100, 1_000, 10_000, 100_000)
FLAT, SHARE = 2.0, 2.5
STATE = {
    "finding": "the pool is exhausted under load " * 4,
    "areas": ["auth", "db"],
    "confidence": "high",
    "round": 3,
}
TEXT = """\
name: turn
description: Turns.
steps:
  - {id: work, title: Work, actions: [Work.], next: {ok: work, skip: null}}
"""


def main(largest: int = SIZES[-1], rounds: int = 30) -> None:
    """Print the ratios."""
    with tempfile.TemporaryDirectory() as folder:
        _over_an_append(Path(folder), rounds)
        _over_history(Path(folder), [size for size in SIZES if size <= largest], rounds)


def _over_history(folder: Path, sizes: list[int], rounds: int) -> None:
    """Compare a step in sessions with few and many records."""
    owner = Owner(str(folder / "state"))
    world = world_with_a_skill(folder, Store(FileBackend(str(folder / ".flow"), owner)))
    sessions = {size: _grown(world, size, owner) for size in sizes}

    def step(session: str) -> Callable[[], object]:
        return lambda: steps.report(world, "turn", "ok", session_id=session)

    best = best_of({f"{size:,} records": step(session) for size, session in sessions.items()}, rounds=rounds)
    base, last = (f"{size:,} records" for size in (sizes[0], sizes[-1]))
    report("A step in a session with this many records, compared with few", best, base, {last: FLAT})


def world_with_a_skill(folder: Path, store: Store) -> Environment:
    """Write the skill `turn` into a project, and return its world."""
    skill = folder / ".claude" / "skills" / "turn"
    skill.mkdir(parents=True, exist_ok=True)
    (skill / "workflow.yaml").write_text(TEXT)
    (folder / ".git").mkdir(exist_ok=True)
    return Environment(cwd=str(folder)).replaced(
        store=store,
        loader=Loader(skill_roots(str(folder), str(folder / "home"), {}, ()), str(folder / "state")),
        shown_store=None,
        conversation=None,
        clock=lambda: f"{time.time():.3f}",
        by="benchmark",
    )


def started(store: Store, session_id: str) -> str:
    """Start a session in a store and return its id."""
    session = Session(session_id, "turn", "work", state=STATE)
    definition = StoredDefinition("turn", "library", "", "", {}, functions=False, workflow={"steps": []})
    store.add(session, definition, at="then", by="benchmark")
    return session_id


def storing(store: Store, session_id: str) -> Callable[[], None]:
    """Return a function that stores one step as a report does: under the session's lock, durably."""

    def store_step() -> None:
        with store.change(session_id) as change:
            session = change.kept.session
            after = replace(session, revision=session.revision + 1)
            change.commit(after, kind="move", at="then", by="benchmark")

    return store_step


def line_and_hash(record: Record, folder: str, owner: Owner) -> tuple[bytes, str]:
    """Return the line of a record in the journal of *folder*, with its owner's mark, and its hash."""
    data = to_plain(record)
    del data["hash"]
    return line_of(data, lambda body: owner.mark(folder, body))


def record_bytes(folder: Path) -> bytes:
    """Return the line that a journal needs for one step."""
    record = Record(
        1, "move", "then", "benchmark", Session("turn-abcdef", "turn", "work", state=STATE), {}, "0" * 64
    )
    return line_and_hash(record, str(folder / "turn-abcdef"), Owner(str(folder / "state")))[0]


def checkpointing(saver: Any) -> Callable[[], object]:
    """Return a function that stores one step with a saver of LangGraph."""
    from langgraph.checkpoint.base import empty_checkpoint

    config: dict[str, Any] = {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}

    def store_step() -> None:
        nonlocal config
        checkpoint = {**empty_checkpoint(), "channel_values": dict(STATE)}
        config = saver.put(config, checkpoint, {"source": "loop", "step": 1, "parents": {}}, {})

    return store_step


def _grown(world: Environment, records: int, owner: Owner) -> str:
    """Return a session with this many records, written with one flush."""
    session_id = begin(world, "turn").session
    newest, folder = world.store.read(session_id), world.store.folder(session_id)
    workflow = from_plain(world.store.definition(newest.session).workflow)
    before, session = newest.hash, newest.session
    lines = []
    for seq in range(1, records):
        session = advance(workflow, session, Report("ok"), now=world.now)
        record = Record(seq, "move", world.now, "benchmark", session, {}, before)
        line, before = line_and_hash(record, folder, owner)
        lines.append(line)
    with open(os.path.join(folder, "journal.jsonl"), "ab") as journal:
        journal.writelines(lines)
        os.fsync(journal.fileno())
    steps.report(world, "turn", "ok", session_id=session_id)
    return session_id


def _over_an_append(folder: Path, rounds: int) -> None:
    """Compare a step with one append and flush of the same bytes."""
    (folder / "alone").mkdir()
    store = Store(FileBackend(str(folder / "alone" / ".flow"), Owner(str(folder / "state"))))
    line, plain = record_bytes(folder), str(folder / "plain")

    def append() -> None:
        fd = os.open(plain, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(fd, line)
        os.fsync(fd)
        os.close(fd)

    peers = {name: keeper for name, make in PEERS.items() if (keeper := _made(name, make, folder))}
    contestants = {
        "append and flush": append,
        "the store": storing(store, started(store, "turn-abcdef")),
        **peers,
    }
    best = best_of(contestants, rounds=10 * rounds, calls=5)  # 5 calls in a row fill the caches
    report("One step, compared with one append and flush", best, "append and flush", {"the store": SHARE})


def _made(
    name: str, make: Callable[[Path], Callable[[], object]], folder: Path
) -> Callable[[], object] | None:
    try:
        return make(folder)
    except ImportError as error:
        print(f"without {name}: {error}")
        return None


def _langgraph(folder: Path) -> Callable[[], object]:
    from langgraph.checkpoint.sqlite import SqliteSaver

    return checkpointing(SqliteSaver(sqlite3.connect(str(folder / "langgraph.db"), check_same_thread=False)))


def _burr(folder: Path) -> Callable[[], object]:
    from burr.core import State
    from burr.core.persistence import SQLitePersister

    persister: Any = SQLitePersister(str(folder / "burr.db"))
    persister.initialize()
    sequence = iter(range(1_000_000))
    return lambda: persister.save("one", "app", next(sequence), "work", State(dict(STATE)), "completed")


PEERS: Mapping[str, Callable[[Path], Callable[[], object]]] = {
    "LangGraph's SqliteSaver": _langgraph,
    "Burr's SQLitePersister": _burr,
}


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
