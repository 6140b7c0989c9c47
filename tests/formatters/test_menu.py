"""Reports about skills: each foreign text is one visible line, long texts are cut, long lists are counted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support.skills import candidate

from flowrail.discovery.candidate import Candidate, LeftOut, Skipped
from flowrail.discovery.index import Discovery
from flowrail.discovery.locations import Locations, Root, Scope
from flowrail.discovery.menu import offer
from flowrail.discovery.scores import Query, Synthesis
from flowrail.formatters.reports import menu
from flowrail.text.report import plain_text
from flowrail.text.safe_text import visible


def text(discovery: Discovery, asked: Query, *, everything: bool = False) -> str:
    return plain_text(menu.report(offer(discovery, asked), everything=everything))


# --- the menu -------------------------------------------------------------------------------------


foreign = st.text(st.sampled_from("ab 1.\n\r\t\x1b\x07\x9b\u202e\u2028\u200b\ufeff\ud800é…`"), max_size=9)
skills = st.builds(
    candidate,
    foreign,
    name=foreign,
    description=foreign,
    categories=st.lists(foreign, min_size=1, max_size=20).map(tuple),
    trigger=foreign,
    schema_version=foreign,
    duration=foreign,
    tags=st.lists(foreign, max_size=3).map(tuple),
    scope=st.sampled_from(Scope),
    remote=st.booleans(),
)
skipped_skills = st.builds(
    Skipped, foreign, st.sampled_from(Scope), foreign, st.sampled_from(LeftOut), foreign
)


@given(st.lists(skills, max_size=4), st.lists(skipped_skills, max_size=3), foreign, foreign)
def test_no_text_of_a_skill_can_touch_a_terminal(
    candidates: list[Candidate], skipped: list[Skipped], path: str, word: str
) -> None:
    places = Locations((Root(path, Scope.EXTRA, "--root", "missing"),))
    discovery = Discovery(tuple(candidates), tuple(skipped), places)
    for asked in (Query((word,)), Query(synthesis=Synthesis(word))):
        page = text(discovery, asked, everything=True)
        lettered = plain_text(menu.options(offer(discovery, asked), everything=True))

        assert visible(page + lettered) == page + lettered
        assert "\t" not in page + lettered
