"""Whole skills in a simulated host: contexts lost after every step, stops tried at every step, two at once."""

from __future__ import annotations

import threading
from collections import Counter

import pytest
from support.hooks import A, B
from support.sandbox import BUNDLED, flow, params_of, told
from support.simulated_hosts import ForgetfulHost, Host


def records() -> Counter[tuple[str, str, int]]:
    """Count the records of every session by kind and revision."""
    counts: Counter[tuple[str, str, int]] = Counter()
    for session in told("sessions", "--all")["sessions"]:
        for record in told("sessions", session["session"])["history"]:
            counts[session["session"], record["kind"], record["revision"]] += 1
    return counts


def walk(host: Host, skill: str) -> None:
    end = host.run(f"flow step {skill} --new {params_of(skill)}".rstrip())

    assert end.status in {"completed", "failed"}
    assert flow("audit", "--verify").status == 0


@pytest.mark.parametrize("kind", ["claude-code", "codex"])
def test_a_skill_ends_though_its_context_is_lost_after_every_step(kind: str) -> None:
    host = Host(kind=kind)
    walk(host, "problem-analysis")

    held = {key[2]: times for key, times in records().items() if key[1] == "held"}
    assert host.compacted == len(held) == 9
    assert set(held.values()) == {1}, "one try at each step is held once"


@pytest.mark.parametrize("skill", ["codebase-analysis", "perspective-swarm", "planner"])
def test_a_run_ends_though_contexts_are_compacted_and_sub_agents_die(skill: str) -> None:
    host = ForgetfulHost()
    walk(host, skill)

    assert host.compacted >= 3
    assert host.died >= (1 if host.launched > 2 else 0)


@pytest.mark.parametrize(
    "skills",
    [("problem-analysis", "problem-analysis"), ("decision-critic", "solution-design")],
    ids=" and ".join,
)
def test_two_conversations_in_one_folder_end_and_neither_holds_the_other(skills: tuple[str, str]) -> None:
    gate = threading.Lock()
    faults: list[BaseException] = []
    hosts = [Host(name=name, gate=gate) for name in (A, B)]
    lines = [f"flow step {skill} --new {params_of(skill)}".rstrip() for skill in skills]

    def converse(host: Host, line: str) -> None:
        try:
            assert host.run(line).status == "completed"
        except BaseException as fault:  # noqa: BLE001 - raised below, in the thread of the test
            faults.append(fault)

    threads = [
        threading.Thread(target=converse, args=conversation)
        for conversation in zip(hosts, lines, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)

    assert not faults, "\n".join(map(str, faults))
    mine, theirs = ({session for session, *_ in host.held} for host in hosts)
    assert not mine & theirs
    assert {hosts[0].mine, hosts[1].mine} <= mine | theirs
    assert all(host.compacted for host in hosts)
    assert flow("audit", "--verify").status == 0


@pytest.mark.long
@pytest.mark.parametrize("kind", ["claude-code", "codex"])
@pytest.mark.parametrize("skill", BUNDLED)
def test_every_bundled_skill_ends_in_every_host(skill: str, kind: str) -> None:
    walk(Host(kind=kind, tries=None), skill)
