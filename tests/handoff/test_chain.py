"""When a chain of handoffs may grow, and when it must end."""

from __future__ import annotations

import pytest

from flowrail.handoff.chain import MAX_HOPS, ChainConsent, extend_chain, format_chain, judge_chain


def test_a_chain_grows_by_the_one_who_hands_over() -> None:
    assert extend_chain((), "a") == ("a",)
    assert extend_chain(("a", "b"), "b") == ("a", "b")
    assert extend_chain(("a", "b"), "a") == ("a", "b", "a")
    assert format_chain(("a", "b"), "c") == "a → b → c"


@pytest.mark.parametrize("consent", [ChainConsent(), ChainConsent(yes=True, reason="why", approved=True)])
def test_nobody_hands_to_itself(consent: ChainConsent) -> None:
    assert judge_chain(("x", "a"), "a", hops=2, consent=consent).code == "SELF"


@pytest.mark.parametrize(
    "consent",
    [ChainConsent(), ChainConsent(yes=True), ChainConsent(reason="why"), ChainConsent(yes=True, reason="  ")],
)
def test_a_circle_needs_consent_and_a_reason(consent: ChainConsent) -> None:
    verdict = judge_chain(("a", "b", "c"), "a", hops=3, consent=consent)

    assert (verdict.code, verdict.fixable, verdict.allowed) == ("LOOP", True, False)
    assert "a → b → c → a" in verdict.message


def test_with_both_a_circle_is_allowed_and_marked() -> None:
    verdict = judge_chain(("a", "b", "c"), "a", hops=3, consent=ChainConsent(yes=True, reason="again"))

    assert verdict.allowed
    assert verdict.loop


def test_over_five_skills_the_user_approves() -> None:
    chain = tuple("abcdef")

    assert judge_chain(chain[:5], "z", hops=5, consent=ChainConsent()).allowed
    assert judge_chain(chain, "z", hops=6, consent=ChainConsent(yes=True, reason="r")).code == "NOT_APPROVED"
    assert judge_chain(chain, "z", hops=6, consent=ChainConsent(approved=True)).allowed


@pytest.mark.parametrize(("chain", "hops"), [(tuple("abcdefghi"), 1), (("a",), MAX_HOPS + 1)])
def test_nothing_lifts_the_last_limit(chain: tuple[str, ...], hops: int) -> None:
    verdict = judge_chain(chain, "z", hops=hops, consent=ChainConsent(yes=True, reason="r", approved=True))

    assert (verdict.code, verdict.fixable) == ("TOO_MANY_HOPS", False)
    assert judge_chain(tuple("abcdefgh"), "z", hops=8, consent=ChainConsent(approved=True)).allowed


def test_a_chain_that_a_stranger_wrote_is_drawn_in_one_line_of_its_end() -> None:
    chain = [*(f"s{number}" for number in range(9_999)), "x" * 99_999]

    shown = judge_chain(tuple(chain), "z", hops=1, consent=ChainConsent()).message

    assert " … → s9985 → " in shown
    assert shown.count("x") == 80
    assert len(shown) < 400
