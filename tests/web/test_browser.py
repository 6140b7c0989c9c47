"""The page in a real browser: it follows the store, answers questions, replays, and is accessible."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest
from support import handoffs
from support.chromium import Tab, browser
from support.dispatching_skill import put_lead
from support.handoffs import target
from support.sandbox import flow, put_skill, told
from support.web import APPROVAL, PUBLISH, migration, website

pytest.importorskip("starlette", reason="the extra `web` is not installed")

ROOT = Path(__file__).parents[2]
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Tab]:
    with browser() as opened:
        yield opened


@pytest.fixture
def tab(chromium: Tab) -> Iterator[Tab]:
    put_skill("release", APPROVAL)
    chromium.show(1280, 900)
    with website() as running:
        chromium.open(running.address)
        chromium.wait_for("document.getElementById('live')?.textContent === 'live'")
        yield chromium


def started() -> str:
    return str(told("step", "release", "--new", "-p", "version=1.4.0")["session"])


def visit(tab: Tab, path: str) -> None:
    tab.open(f"{tab.run('location.origin')}{path}")
    tab.wait_for("document.getElementById('live').textContent === 'live'")


def test_the_board_follows_the_store_without_a_reload(tab: Tab) -> None:
    session = started()
    tab.wait_for("document.body.innerText.includes('release: 1.4.0')")

    told("step", "release", "ok", "--session", session)

    tab.wait_for("document.body.innerText.includes('Publish it?')")


def one_of_each_kind() -> list[str]:
    """Return sessions that ask, lack an approval, wait for agents, and sent a handoff."""
    asks = started()
    for outcome in ("iterate", "ok"):
        told("step", "release", outcome, "--session", asks)
    put_skill("publish", PUBLISH)
    lacks_approval = str(told("step", "publish", "--new")["session"])
    Path("package.txt").write_text("the package\n")
    assert flow("step", "publish", "ok", "--session", lacks_approval).status == 4
    put_lead()
    dispatches = told("step", "lead", "--new")
    told(*dispatches["dispatches"][0]["command"].split()[1:])
    target("fix-it")
    source = handoffs.session()
    handoffs.send("fix-it", source)
    return [asks, lacks_approval, dispatches["session"], source]


def test_no_page_scrolls_sideways_or_has_an_accessibility_problem(chromium: Tab) -> None:
    put_skill("release", APPROVAL)
    axe = Path(os.environ.get("AXE") or ROOT / "node_modules" / "axe-core" / "axe.min.js")
    sessions = [f"/sessions/{session}" for session in one_of_each_kind()]
    sessions.append(f"/sessions/{migration()}")
    answered = started()
    told("step", "release", "ok", "--session", answered)
    told("answer", answered, "go=No")
    sessions.append(f"/sessions/{answered}")
    pages = ["/", *sessions, f"{sessions[0]}?at=2", "/skills", "/skills/release", "/skills/lead"]

    with website() as running:
        chromium.open(running.address)
        chromium.wait_for("document.getElementById('live')?.textContent === 'live'")
        schemes = (
            (False, True) if axe.is_file() else (False,)
        )  # a colour scheme changes only what axe looks at
        for path, dark, phone in product(pages, schemes, (False, True)):
            chromium.show(390 if phone else 1280, 844, dark=dark, phone=phone)
            visit(chromium, path)

            assert chromium.run("document.documentElement.scrollWidth <= innerWidth"), (path, phone)
            assert not [
                event for event in chromium.events if event.get("method") == "Runtime.exceptionThrown"
            ]
            if axe.is_file():
                assert violations(chromium, axe) == [], (path, dark, phone)


def test_a_decision_with_what_it_is_about_fits_one_screen_of_a_laptop(chromium: Tab) -> None:
    session = migration()

    with website() as running:
        chromium.open(running.address)
        chromium.wait_for("document.getElementById('live')?.textContent === 'live'")
        chromium.show(1280, 800)
        visit(chromium, f"/sessions/{session}")

        assert chromium.run("document.documentElement.scrollHeight <= innerHeight")
        for text in (
            "Run it",
            "Not yet",
            "Another answer",
            "This file is empty",
            "should be fixed",
            "2 tests passed",
        ):
            found = f"[...document.querySelectorAll('#main *')].findLast(part => part.innerText?.includes('{text}'))"
            assert chromium.run(f"{found}.getBoundingClientRect().bottom <= innerHeight"), text


def violations(tab: Tab, axe: Path) -> list[object]:
    """Return the accessibility problems of the shown page."""
    tab.run(f"{axe.read_text(encoding='utf-8')};0")
    violations: list[object] = tab.run(
        f"axe.run(document, {{runOnly: {RULES}}}).then(made => made.violations.map(each =>"
        "[each.id, each.nodes.map(node => node.html)]))"
    )
    return violations


def test_a_person_approves_with_the_keyboard_and_sees_the_result(chromium: Tab) -> None:
    put_skill("publish", PUBLISH)
    Path("package.txt").write_text("the package")
    session = str(told("step", "publish", "--new")["session"])
    assert flow("step", "publish", "ok", "--session", session).status == 4

    with website() as running:
        chromium.show(1280, 900)
        chromium.open(running.address)
        chromium.wait_for("document.getElementById('live')?.textContent === 'live'")
        visit(chromium, f"/sessions/{session}")
        chromium.run("document.querySelector('input[name=reason]').focus()")
        for letter in "fine":
            chromium.press(letter)
        chromium.press("Tab", number=9)
        chromium.press("Enter", number=13)
        chromium.wait_for("document.querySelector('.made') === document.activeElement")
        confirmation = chromium.run("document.activeElement.innerText")
        assert chromium.run("document.getElementById('main').innerText.includes('✓ pass')")

    assert confirmation.startswith("You confirmed package, because: fine. You need not do more")

    assert told("step", "publish", "ok", "--session", session)["status"] == "completed"


def test_another_answer_is_apart_from_the_reason(tab: Tab) -> None:
    session = started()
    told("step", "release", "ok", "--session", session)
    visit(tab, f"/sessions/{session}")

    assert not tab.run("document.querySelector('input[name=other]').checkVisibility()")
    tab.run("document.querySelector('form summary').click()")
    tab.run("document.querySelector('input[name=other]').value = 'Only on Monday'")
    tab.run("document.querySelector('input[name=reason]').value = 'a holiday'")
    tab.run("document.querySelector('[data-other]').click()")
    tab.wait_for("document.querySelector('.made')")

    assert tab.run("document.querySelector('.made').innerText").startswith(
        "You answered Only on Monday, because: a holiday. You need not do more"
    )
