"""Workflows as one page: nothing but itself, for mouse, keyboard, finger and screen reader, in a real browser."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from support.chromium import Tab
from support.pictures import FEW, ODD, sprawling
from support.records import records
from support.workflows import linear, loop, step, workflow

from flowrail.diagrams.extract import picture
from flowrail.diagrams.renderers.document import WorkflowPicture
from flowrail.diagrams.renderers.html import render
from flowrail.diagrams.session_trace import with_trace
from flowrail.machines.definition.step import Variant
from flowrail.machines.definition.step_parts import Dispatch, Option, Question
from flowrail.machines.definition.values import Arg
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.sessions.session import Report

ROOT = Path(__file__).parents[3]
HOSTILE = '"><script>document.hacked = 1</script><img src=x onerror="document.hacked=2">'


def drawn(made: Workflow) -> WorkflowPicture:
    return WorkflowPicture(made, picture(made))


class Tags(HTMLParser):
    """What a page is made of."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.handlers: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        self.addresses += [value or "" for name, value in attrs if name in {"href", "src", "action"}]


def of(page: str) -> Tags:
    found = Tags()
    found.feed(page)
    return found


@FEW
@given(ODD)
def test_nothing_foreign_becomes_a_part_of_the_page(made: Workflow) -> None:
    page = render([drawn(made)])
    found = of(page)

    assert page == render([drawn(made)])
    assert not {"img", "iframe", "object", "form", "base", "link", "video"} & found.tags
    assert not found.handlers
    assert all(address.startswith("#") for address in found.addresses)
    assert page.count("<script") == page.count("</script") == 2


def test_the_policy_lets_run_just_the_script_of_the_page() -> None:
    page = render([drawn(loop())])
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)
    assert script
    digest = b64encode(sha256(script[1].encode()).digest()).decode()

    assert f"script-src 'sha256-{digest}'" in page
    assert "default-src 'none'" in page


def test_texts_ways_on_and_history_are_in_the_page_as_text() -> None:
    made = loop(3)
    seen = with_trace(picture(made), records(made, "iterate", "ok"))
    page = render([WorkflowPicture(made, seen)])

    assert "Do look." in page
    assert ">here now, entered once<" in page
    assert ">done, entered twice<" in page
    assert "2026-02-04T10:01:30.000Z: iterate → Look, took 1 min 30 s" in page
    assert '<a href="#dull:last">2 · Last</a>' in page


def test_facts_questions_and_other_texts_are_in_the_page_too() -> None:
    asks = Question("go", "Go", "Does it go?", (Option("Yes", outcome="ok"), Option("No", outcome="fail")))
    made = workflow(
        step(
            "look",
            reports={"sure": Arg("How sure", choices=("low", "high"), required=True)},
            variants=[Variant("visit > 1", ("Look again.",)), Variant(lambda _: True, ("Or so.",))],
            next={"ok": "ask", "iterate": "look"},
            limit=2,
        ),
        step("ask", questions=[asks], next={"ok": "told", "fail": None}),
        step("told", actions=lambda _: ["Computed."]),
    )
    low = Report("iterate", {"sure": "low"})
    page = render([WorkflowPicture(made, with_trace(picture(made), records(made, low)))])

    assert "<code>sure</code> string: low | high, required – How sure" in page  # noqa: RUF001 - a dash
    assert "Does it go? (Yes | No)" in page
    assert "Instead, when visit &gt; 1" in page
    assert "Look again." in page
    assert "Instead, when a function returns true" in page
    assert "Computed when the step runs." in page
    assert 'sure = "low"' in page


# --- in a browser


@pytest.fixture
def page(tab: Tab, tmp_path: Path) -> Page:
    tab.show(1200, 800)
    return Page(tab, tmp_path / "page.html")


class Page:
    """A page that is opened, and what is asked of it."""

    def __init__(self, tab: Tab, file: Path) -> None:
        self.tab, self.file = tab, file

    def open(self, *made: WorkflowPicture) -> None:
        self.file.write_text(render(made), encoding="utf-8")
        self.tab.open(self.file)

    def place(self, step_id: str) -> tuple[float, float]:
        x, y = self.tab.run(
            f"(() => {{const at = document.querySelector('.node[data-id=\"{step_id}\"] .shape')"
            ".getBoundingClientRect(); return [at.x + at.width / 2, at.y + at.height / 2]})()"
        )
        return x, y

    def opened(self) -> list[str]:
        return list(
            self.tab.run("[...document.querySelectorAll('details.step[open]')].map(each => each.dataset.id)")
        )

    def scale(self) -> int:
        return int(self.tab.run("document.getElementById('zoomed').textContent").split()[0])

    def classes(self, step_id: str) -> set[str]:
        found = self.tab.run(f"document.querySelector('.node[data-id=\"{step_id}\"]').getAttribute('class')")
        return set(found.split())


def session() -> WorkflowPicture:
    made = loop(3)
    return WorkflowPicture(made, with_trace(picture(made), records(made, "iterate", "iterate", "ok")))


def test_a_click_opens_the_step(page: Page) -> None:
    page.open(drawn(loop(3)))

    page.tab.click(*page.place("last"))

    assert page.opened() == ["last"]
    assert "chosen" in page.classes("last")
    assert page.tab.run("location.hash") == "#dull:last"
    assert not page.tab.complaints()


def test_keys_walk_search_zoom_and_clear(page: Page) -> None:
    page.open(drawn(linear("one", "two", "three")))

    page.tab.press("j")
    page.tab.press("ArrowDown")
    assert page.opened() == ["two"]
    page.tab.press("k")
    assert page.opened() == ["one"]
    before = page.scale()
    page.tab.press("+")
    assert page.scale() > before
    page.tab.press("0")
    assert page.scale() == before
    page.tab.press("/")
    for letter in "three":
        page.tab.press(letter)
    assert page.tab.run("document.getElementById('found').textContent") == "1 step found"
    assert "found" in page.classes("three")
    assert "unfound" in page.classes("one")
    page.tab.press("Enter", number=13)
    assert page.opened() == ["three"]
    page.tab.press("Escape", number=27)
    assert page.tab.run("document.getElementById('search').value") == ""
    assert not page.tab.complaints()


def test_the_whole_can_be_used_with_the_tab_key(page: Page) -> None:
    page.open(drawn(linear("one", "two")))
    seen = []

    for _ in range(9):
        page.tab.press("Tab", number=9)
        seen.append(page.tab.run("document.activeElement.id || document.activeElement.dataset.id || ''"))
    page.tab.run("document.querySelector('.node[data-id=two]').focus()")
    page.tab.press("Enter", number=13)

    assert {"search", "in", "out", "fit", "one", "two"} <= set(seen)
    assert page.opened() == ["two"]


def test_a_session_is_scrubbed_through(page: Page) -> None:
    page.open(session())

    assert "here" in page.classes("last")
    assert (
        page.tab.run("document.querySelector('.node[data-id=look] .badge text').textContent.trim()")
        == "3\u00d7"
    )
    page.tab.press("[")
    assert "here" in page.classes("look")
    page.tab.press("[")
    assert "Look: iterate → Look" in page.tab.run("document.getElementById('told').textContent")
    page.tab.run("document.getElementById('range').focus()")
    page.tab.press("Home", number=36)
    assert "record 0 of 3 · " in page.tab.run(
        "document.getElementById('range').getAttribute('aria-valuetext')"
    )
    assert page.tab.run("document.querySelectorAll('.lines .taken').length") == 1
    page.tab.press("End", number=35)
    assert page.tab.run("document.querySelectorAll('.lines .taken').length") == 3
    assert "here" in page.classes("last")
    assert not page.tab.complaints()


def test_workflows_that_agents_run_are_a_click_away(page: Page) -> None:
    handing = Dispatch("explore", script="dull/look")
    first = workflow(step("one", dispatch=handing, next={"ok": None, "fail": None}))
    page.open(drawn(first), drawn(linear("a", "b", name="dull/look")))

    page.tab.click(*page.place("one"))
    page.tab.run("document.querySelector('a.runs').click()")
    page.tab.frame()

    shown = page.tab.run(
        "[...document.querySelectorAll('.drawing')].filter(each => !each.hidden).map(each => each.dataset.name)"
    )
    assert shown == ["dull/look"]
    assert page.tab.run("document.getElementById('pick').value") == "1"


def test_a_screen_reader_is_told_all_of_it(page: Page) -> None:
    page.open(session())

    told = page.tab.call("Accessibility.getFullAXTree")["nodes"]
    names = {
        (each["role"]["value"], each.get("name", {}).get("value", "")) for each in told if "role" in each
    }

    assert ("button", "1 · Look 3\u00d7") in names
    assert ("button", "2 · Last, here now") in names
    assert any(role == "slider" and name == "Record of the session" for role, name in names)
    assert any(role == "searchbox" and name == "Search steps" for role, name in names)
    assert any(role == "complementary" and name == "Steps" for role, name in names)
    assert ("main", "Drawing") in names


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("phone", [False, True])
def test_axe_finds_no_accessibility_problem(page: Page, *, dark: bool, phone: bool) -> None:
    found = Path(os.environ.get("AXE") or ROOT / "node_modules" / "axe-core" / "axe.min.js")
    if not found.is_file():
        pytest.skip("no axe here: npm install --no-save axe-core, or set AXE to its axe.min.js")
    page.tab.show(390 if phone else 1200, 800, dark=dark, phone=phone)
    rows = step("one", title="A title that takes two rows", dispatch=Dispatch("explore", script="dull/look"))
    rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

    for shown in ([session(), drawn(sprawling(40))], [drawn(workflow(rows))]):
        page.open(*shown)
        page.tab.run(f"{found.read_text(encoding='utf-8')};0")
        told = page.tab.run(
            f"axe.run(document, {{runOnly: {rules}}}).then(made => made.violations.map(each =>"
            "[each.id, each.nodes.map(node => node.html)]))"
        )
        assert told == []


def test_without_a_script_the_steps_can_still_be_read(page: Page) -> None:
    page.tab.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.open(drawn(loop(3)), drawn(linear("a", "b")))
        root = page.tab.call("DOM.getDocument", depth=-1)["root"]
        found = page.tab.call("DOM.querySelectorAll", nodeId=root["nodeId"], selector="details.step")[
            "nodeIds"
        ]
    finally:
        page.tab.call("Emulation.setScriptExecutionDisabled", value=False)

    assert len(found) == 4


def test_hostile_texts_are_texts(page: Page) -> None:
    made = workflow(
        step(
            "one",
            title=HOSTILE,
            phase=HOSTILE,
            actions=[HOSTILE, "</pre></script><script>document.hacked=3</script>"],
        ),
        name="dull",
        description=HOSTILE,
    )
    seen = with_trace(picture(made), records(made))
    page.open(WorkflowPicture(made, seen))
    page.tab.press("j")

    assert page.tab.run("document.hacked === undefined")
    assert page.opened() == ["one"]
    assert not page.tab.complaints()
