"""What a person reads before approving a skill."""

from __future__ import annotations

from contextlib import suppress

from support.handoffs import card
from support.sandbox import allow, put_skill

from flowrail.errors import TrustError
from flowrail.operations.environment import Confirmation, Environment
from flowrail.operations.skills.trust import trust


def described(skill: str) -> list[str]:
    """Return the lines that a person reads, who then says no."""
    asked: list[Confirmation] = []

    def refuse(confirmation: Confirmation) -> None:
        asked.append(confirmation)
        raise TrustError("no", hint="no")

    with suppress(TrustError):
        trust(Environment(confirm=refuse), skill)
    return list(asked[0].lines)


def test_changes_since_the_last_approval_are_marked() -> None:
    folder = put_skill("small", texts={"gone.md": "x", "other.md": "x"})
    allow("small")
    unchanged = described("small")
    (folder / "gone.md").unlink()
    (folder / "other.md").write_text("yy")
    (folder / "new.md").write_text("z")

    changed = described("small")

    assert unchanged[-1].startswith("approved at 20")
    assert {"  gone.md (deleted)", "  other.md (2 bytes, changed)", "  new.md (1 bytes, new)"} < set(changed)
    assert changed[-1].endswith("; the files marked above have changed since")


def test_a_health_check_is_shown_as_the_program_that_it_is() -> None:
    put_skill("small", texts={"SKILL.md": card("small", health_check="./check.sh --all; rm -rf /")})

    assert "runs, if a health check is requested: ./check.sh --all; rm -rf /" in described("small")
