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
from support.records import at, records
from support.workflows import linear, loop, step, unchecked, workflow

from flowrail.diagrams.extract import picture
from flowrail.diagrams.renderers.document import WorkflowPicture
from flowrail.diagrams.renderers.html import render
from flowrail.diagrams.session_trace import with_trace
from flowrail.machines.definition.delegation import Dispatch
from flowrail.machines.definition.questions import Option, Question
from flowrail.machines.definition.step import Variant
from flowrail.machines.definition.values import Arg
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.sessions.record import Record
from flowrail.machines.sessions.session import Report, Session

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
    asks = Question("go", "Go", "Shall it go?", (Option("Yes", outcome="ok"), Option("No", outcome="fail")))
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
    assert "Shall it go? (Yes | No)" in page
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


def test_the_page_opens_at_the_step_that_its_address_names(page: Page) -> None:
    page.open(drawn(loop(3)))
    page.tab.run("location.hash = '#dull:last'")
    page.tab.frame()

    assert page.opened() == ["last"]


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


def test_a_mouse_drags_and_zooms(page: Page) -> None:
    page.open(drawn(sprawling(60)))

    page.tab.drag((300, 600), (300, 300))
    assert page.tab.run("document.getElementById('stage').scrollTop") == 300
    before = page.scale()
    page.tab.call(
        "Input.dispatchMouseEvent", type="mouseWheel", x=300, y=400, deltaX=0, deltaY=-200, modifiers=2
    )
    page.tab.frame()
    assert page.scale() > before
    assert not page.opened()


def test_a_phone_is_served_too(page: Page) -> None:
    page.tab.show(390, 844, phone=True)
    page.open(session())

    wide = page.tab.run("document.documentElement.scrollWidth")
    assert wide <= 390
    small = page.tab.run(
        "[...document.querySelectorAll('button, input, select, summary')].filter(each => each.offsetParent"
        " && !each.matches('[type=range]') && each.getBoundingClientRect().height < 36).length"
    )
    assert small == 0
    x, y = page.place("look")
    page.tab.touch("touchStart", (x, y))
    page.tab.touch("touchEnd")
    page.tab.frame()
    assert page.opened() == ["look"]
    before = page.scale()
    page.tab.touch("touchStart", (150, 300), (200, 300))
    page.tab.touch("touchMove", (110, 300), (240, 300))
    page.tab.touch("touchEnd")
    assert page.scale() > before
    assert not page.tab.complaints()


def test_on_a_phone_the_name_of_the_workflow_that_is_shown_can_be_read(page: Page) -> None:
    page.tab.show(390, 844, phone=True)
    page.open(session(), drawn(linear("a", "b", name="dull/what-an-agent-of-it-runs")))

    assert page.tab.run("document.getElementById('pick').getBoundingClientRect().width") > 300
    assert page.tab.run("document.documentElement.scrollWidth") <= 390


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
    assert "1 of 4 · revision 0" in page.tab.run(
        "document.getElementById('range').getAttribute('aria-valuetext')"
    )
    assert page.tab.run("document.querySelectorAll('.lines .taken').length") == 1
    page.tab.press("End", number=35)
    assert page.tab.run("document.querySelectorAll('.lines .taken').length") == 3
    assert "here" in page.classes("last")
    assert not page.tab.complaints()


def test_what_the_page_counts_is_what_is_written_in_it_also_after_going_back(page: Page) -> None:
    made = linear("one", "two", "three")
    taken = records(made, "ok", "ok")
    forked = [taken[1]._replace(seq=0, kind="fork"), taken[2]._replace(seq=1)]
    back = Record(3, "rewind", at(600), "me", taken[0].session._replace(revision=3), {"from": 2}, "", "")
    told = "[...document.querySelectorAll('.tag.state')].map(each => each.textContent)"

    for journal in ([*taken, back], forked):
        page.open(WorkflowPicture(made, with_trace(picture(made), journal)))
        shown = page.tab.run(told)
        written = re.findall(r'"tag state [a-z]+">([^<]*)<', page.file.read_text(encoding="utf-8"))
        assert shown == written
        assert sum("entered" in each for each in shown) == 3


@pytest.mark.parametrize("name", ["__proto__", "constructor", "toString"])
def test_a_step_may_be_called_as_what_every_object_has(name: str, page: Page) -> None:
    made = unchecked(step(name, next={"ok": "valueOf"}), step("valueOf"))
    journal = [
        each._replace(session=_renamed(each.session, "a", name))
        for each in records(linear("a", "valueOf"), "ok")
    ]
    back = Record(2, "rewind", at(600), "me", journal[0].session._replace(revision=2), {"from": 1}, "", "")

    page.open(WorkflowPicture(made, with_trace(picture(made), [*journal, back])))

    page.tab.run("document.getElementById('back').click()")
    assert "here" in page.classes("valueOf")
    page.tab.run("document.getElementById('on').click()")
    assert "here" in page.classes(name)
    told = "[...document.querySelectorAll('.tag.state')].map(each => each.textContent)"
    assert page.tab.run(told) == ["here now, entered twice", "done, entered once"]
    assert page.tab.run("document.querySelectorAll('.lines .taken').length") == 2
    assert not page.tab.complaints()


def _renamed(session: Session, old: str, new: str) -> Session:
    """Return *session* as that of a workflow whose step *old* is called *new*, be it no name for a step."""
    last = session.last._replace(step=new) if session.last else None
    visits = {new if each == old else each: number for each, number in session.visits.items()}
    return session._replace(step=new if session.step == old else session.step, visits=visits, last=last)


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
def test_axe_finds_nothing_to_mend(page: Page, *, dark: bool, phone: bool) -> None:
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


@pytest.mark.parametrize(("dark", "ground"), [(False, "rgb(255, 255, 255)"), (True, "rgb(18, 22, 29)")])
def test_it_is_light_or_dark_with_its_reader(page: Page, *, dark: bool, ground: str) -> None:
    page.tab.show(1000, 700, dark=dark)
    page.open(drawn(loop(3)))

    assert page.tab.run("getComputedStyle(document.body).backgroundColor") == ground
    assert page.tab.run("getComputedStyle(document.querySelector('.ground')).fill") == ground


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


def test_two_hundred_steps_are_searched_and_opened(page: Page) -> None:
    page.open(drawn(sprawling(200)))

    page.tab.run(
        "(() => {const at = document.getElementById('search'); at.value = 'part 137';"
        "at.dispatchEvent(new Event('input'))})()"
    )
    page.tab.run("document.getElementById('search').focus()")
    page.tab.press("Enter", number=13)
    page.tab.run("new Promise(done => setTimeout(done, 700))")

    assert page.opened() == ["s137"]
    x, y = page.place("s137")
    assert 0 < x < 800
    assert 0 < y < 800
    assert not page.tab.complaints()
