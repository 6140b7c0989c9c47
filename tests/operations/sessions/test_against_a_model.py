"""The whole store against a model in memory: any operations in any order, with a failing disk and dying writers."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from support.interruptions import DIE, DiedError, Fault, disturbed
from support.refusals import refused
from support.sandbox import put_skill

from flowrail.errors import ConflictError, FlowError, StorageError, UsageError
from flowrail.machines.session import Session
from flowrail.machines.session_store import Store
from flowrail.operations.board import list_sessions
from flowrail.operations.environment import Environment
from flowrail.operations.journal_audit import audit
from flowrail.operations.sessions.abandon import abandon_session
from flowrail.operations.sessions.prune import DAY, prune_sessions
from flowrail.operations.sessions.rewind import rewind_as_new, rewind_session
from flowrail.operations.steps.current_step import look, report
from flowrail.operations.steps.new_session import begin
from flowrail.operations.steps.shown_step import ShownStep
from flowrail.storage.file_store import FileBackend
from flowrail.storage.user_mark import Owner

TRANSITIONS: dict[str, dict[str, str | None]] = {
    "first": {"ok": "second", "iterate": "first", "fail": None},
    "second": {"ok": "first", "skip": None},
}
WORKFLOW = """\
name: NAME
steps:
  - id: first
    title: First
    actions: ["Noted: $note"]
    reports: {note: {type: string}}
    next: {ok: second, iterate: first, fail: null}
  - {id: second, title: Second, actions: [Second.], reports: {note: {type: string}}, next: {ok: first, skip: null}}
"""
NOTES = {"none": None, "short": "a", "other": "b", "long": "long " * 5_000}


@dataclass(frozen=True)
class Standing:
    """The state of a session at a revision."""

    revision: int
    step: str | None
    status: str
    note: str | None


@dataclass
class Model:
    """The expected state of a session."""

    now: Standing
    came: dict[int, Standing]
    kinds: list[str]
    last: tuple[str, str | None] | None = None
    records: list[Standing] = field(default_factory=list)

    @property
    def is_open(self) -> bool:
        return self.now.status == "active"

    def with_record(self, kind: str, now: Standing, last: tuple[str, str | None] | None) -> Model:
        came = self.came if now.revision in self.came else {**self.came, now.revision: now}
        return Model(now, came, [*self.kinds, kind], last, records=[*self.records, now])


def begun(step: str = "first", revision: int = 0, note: str | None = None, kind: str = "start") -> Model:
    now = Standing(revision, step, "active", note)
    return Model(now, {revision: now}, [kind], records=[now])


def standing(session: Session) -> Standing:
    return Standing(session.revision, session.step, session.status, session.state.get("note"))


NO_FAULT = Fault(DIE, 0)
faults = st.just(NO_FAULT) | st.builds(Fault, st.sampled_from([DIE, "ENOSPC", "EIO"]), st.integers(1, 14))


picks = st.integers(0, 99)
on_one = precondition(lambda self: bool(self.models))


class StoreAgainstModel(RuleBasedStateMachine):
    """Operations on sessions, and damage to their files."""

    @initialize()
    def a_project(self) -> None:
        put_skill("turn", WORKFLOW)
        self.folder = tempfile.mkdtemp()
        self.clock = 1_800_000_000.0
        owner = Owner(os.path.join(self.folder, "state"))
        store = Store(FileBackend(os.path.join(self.folder, ".flow"), owner))
        self.world: Environment = Environment().replaced(store=store, clock=self.tick, by="me")
        self.models: dict[str, Model] = {}

    def tick(self) -> str:
        self.clock += 1
        return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(self.clock))

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            for session in self.models:
                proof = audit(self.world, session, verify=True)
                assert proof.exit_status == 0, proof
            shutil.rmtree(self.folder)

    def picked(self, number: int) -> str:
        names = list(self.models)
        return names[number % len(names)]

    # --- comparisons with the model

    def state_of(self, session: str) -> Standing:
        return standing(self.world.store.read(session).session)

    def agrees(self, session: str) -> None:
        model = self.models[session]
        assert self.state_of(session) == model.now
        guidance = look(self.world, session)
        assert (guidance.revision, guidance.status) == (model.now.revision, model.now.status)
        assert guidance.resumed is model.is_open
        records = list(self.world.store.records(session))
        assert [record.kind for record in records] == model.kinds
        assert [standing(record.session) for record in records] == model.records

    def changes(self, session: str, after: Model, fault: Fault, do: Callable[[], object]) -> object | None:
        """Call *do*, which leads to *after*. After a death it may have happened; after a refusal it has not."""
        try:
            with disturbed(fault):
                done = do()
        except DiedError:
            if self.state_of(session) != self.models[session].now or self.count(session) > len(
                self.models[session].kinds
            ):
                self.models[session] = after
            self.agrees(session)
            return None
        except StorageError:
            assert fault != NO_FAULT
            self.agrees(session)
            return None
        self.models[session] = after
        self.agrees(session)
        return done

    def count(self, session: str) -> int:
        return sum(1 for _ in self.world.store.records(session))

    def made(self, model: Model, fault: Fault, make: Callable[[], ShownStep]) -> None:
        """Start a session; with a fault it exists completely or not at all."""
        before = set(self.world.store.ids()) if os.path.isdir(self.world.store.path) else set()
        try:
            with disturbed(fault):
                make()
        except (DiedError, StorageError):
            assert fault != NO_FAULT
        started = []
        for session in set(self.world.store.ids()) - before:
            try:
                self.world.store.read(session)
            except UsageError:
                assert fault != NO_FAULT
                continue  # its beginning was interrupted
            self.models[session] = model
            self.agrees(session)
            started.append(session)
        assert len(started) == 1 or fault != NO_FAULT

    # --- verbs

    @rule(fault=faults)
    def begin(self, fault: Fault) -> None:
        self.made(begun(), fault, lambda: begin(self.world, "turn"))

    @on_one
    @rule(
        pick=picks,
        outcome=st.sampled_from(["ok", "iterate", "skip", "fail", "done"]),
        note=st.sampled_from(sorted(NOTES)),
        apart=st.sampled_from([0, 0, 0, 0, -1, -2, 1, None]),
        fault=faults,
    )
    def report(self, pick: int, outcome: str, note: str, apart: int | None, fault: Fault) -> None:
        session = self.picked(pick)
        model, value = self.models[session], NOTES[note]
        expect = None if apart is None else max(0, model.now.revision + apart)
        facts = {"note": value} if value is not None else {}

        def do() -> ShownStep:
            return report(self.world, "turn", outcome, facts=facts, session_id=session, expect=expect)

        if expect is not None and expect != model.now.revision:
            if model.last == (outcome, value) and expect == model.now.revision - 1:
                answer = do()
                assert (answer.replayed, answer.revision, answer.status) == (
                    True,
                    model.now.revision,
                    model.now.status,
                )
            else:
                with refused("REVISION_CONFLICT"):
                    do()
        elif not model.is_open or outcome not in TRANSITIONS[str(model.now.step)]:
            with pytest.raises(ConflictError):
                do()
        else:
            to = TRANSITIONS[str(model.now.step)][outcome]
            status = "active" if to else "failed" if outcome == "fail" else "completed"
            noted = value if value is not None else model.now.note
            after = model.with_record(
                "move", Standing(model.now.revision + 1, to, status, noted), (outcome, value)
            )
            answer_of = self.changes(session, after, fault, do)
            if isinstance(answer_of, ShownStep):
                assert not answer_of.replayed
        self.agrees(session)

    @on_one
    @rule(pick=picks, fault=faults)
    def abandon(self, pick: int, fault: Fault) -> None:
        session = self.picked(pick)
        model = self.models[session]
        after = model
        if model.is_open:
            now = Standing(model.now.revision, model.now.step, "abandoned", model.now.note)
            after = model.with_record("abandon", now, model.last)
        self.changes(session, after, fault, lambda: abandon_session(self.world, session))

    @on_one
    @rule(pick=picks, back=st.integers(0, 4), fault=faults)
    def rewind(self, pick: int, back: int, fault: Fault) -> None:
        session = self.picked(pick)
        model = self.models[session]
        revision = model.now.revision - back
        earlier = model.came.get(revision)
        if earlier is None or earlier.step is None:
            with pytest.raises(FlowError) as caught:
                rewind_session(self.world, session, max(revision, 0) if earlier else 999)
            assert caught.value.code == ("UNKNOWN_REVISION" if earlier is None else "ENDED_THERE")
        else:
            now = Standing(model.now.revision + 1, earlier.step, "active", earlier.note)
            after = model.with_record("rewind", now, None)
            self.changes(session, after, fault, lambda: rewind_session(self.world, session, revision))
        self.agrees(session)

    @on_one
    @rule(pick=picks, back=st.integers(0, 4))
    def fork(self, pick: int, back: int) -> None:
        session = self.picked(pick)
        model = self.models[session]
        earlier = model.came.get(model.now.revision - back)
        if earlier is None or earlier.step is None:
            return
        self.made(
            begun(earlier.step, earlier.revision, earlier.note, "rewind-as-new"),
            NO_FAULT,
            lambda: rewind_as_new(self.world, session, earlier.revision),
        )
        self.models[session] = model.with_record("rewind-as-new", model.now, model.last)
        self.agrees(session)

    @rule(fault=faults)
    def prune(self, fault: Fault) -> None:
        """Delete all sessions that have ended, long afterwards."""
        ended = {name for name, model in self.models.items() if not model.is_open}
        self.clock += 100 * DAY
        try:
            with disturbed(fault):
                pruned = prune_sessions(self.world, older_than=30)
            gone = {old.session for old in pruned.sessions if not old.why} & set(self.models)
            assert gone == ended
        except (DiedError, StorageError):
            assert fault != NO_FAULT
        remaining = set(self.world.store.ids())
        assert set(self.models) - remaining <= ended
        for name in set(self.models) - remaining:
            del self.models[name]
        prune_sessions(self.world, older_than=30)
        for name in ended & set(self.models):
            del self.models[name]

    # --- damage to files

    @on_one
    @rule(pick=picks, torn=st.binary(min_size=1, max_size=300).filter(lambda data: b"\n" not in data))
    def tear(self, pick: int, torn: bytes) -> None:
        """Append the beginning of a record, as an interrupted write leaves it."""
        session = self.picked(pick)
        with open(os.path.join(self.world.store.folder(session), "journal.jsonl"), "ab") as file:
            file.write(torn)
        self.agrees(session)

    @on_one
    @rule(pick=picks, share=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
    def flip_a_bit(self, pick: int, share: float, bit: int) -> None:
        session = self.picked(pick)
        path = Path(self.world.store.folder(session), "journal.jsonl")
        whole = path.read_bytes()
        end = whole.rindex(b"\n")  # without it, the last record is what an interrupted write leaves
        flipped = bytearray(whole)
        flipped[int(share * end)] ^= 1 << bit
        path.write_bytes(flipped)
        assert audit(self.world, session, verify=True).exit_status
        path.write_bytes(whole)
        self.agrees(session)

    @invariant()
    def the_list_is_that_of_the_open_ones(self) -> None:
        if hasattr(self, "models") and os.path.isdir(self.world.store.path):
            listed = {row.session: row for row in list_sessions(self.world.store, self.world.now)}
            assert not [row.reason for row in listed.values() if row.code]
            assert {name for name, model in self.models.items() if model.is_open} <= set(listed)
            assert not {name for name, model in self.models.items() if not model.is_open} & set(listed)


@pytest.mark.parametrize(("examples", "steps"), [(10, 20), pytest.param(400, 60, marks=pytest.mark.long)])
def test_the_store_does_what_the_model_says(examples: int, steps: int) -> None:
    run_state_machine_as_test(
        StoreAgainstModel,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
