"""What the investigation must have left in the project. The tools write what they did to effects.log."""

from __future__ import annotations

from pathlib import Path

FIRST = {
    "gateway": "logs/gateway.log:2",
    "auth": "logs/auth.log:2",
    "cart": "logs/cart.log:3",
    "search": "logs/search.log:1",
    "worker": "logs/archive/worker.log:1",
}
COUNTS = {"gateway": 2, "auth": 1, "cart": 3, "search": 1, "mail": 0, "worker": 2}


def grade(project: Path) -> dict[str, bool]:
    """Return each point and whether the project has it."""

    def text(name: str) -> str:
        path = project / name
        return path.read_text() if path.is_file() else ""

    effects = text("effects.log").split()
    counts = text("counts.csv").split()
    timeline = [line.split()[-1] for line in text("TIMELINE.md").splitlines() if line.strip()]
    restarts = [number for number, effect in enumerate(effects) if effect.startswith("restart:")]
    confirms = [number for number, effect in enumerate(effects) if effect == "confirm"]
    return {
        "trap: the scope has the log in the archive": "logs/archive/worker.log" in text("SCOPE.md"),
        "opened exactly once": effects.count("open") == 1,
        **{
            f"the first error of {name} is right": place in text(f"findings/{name}.md")
            for name, place in FIRST.items()
        },
        "trap: the empty log has a finding": bool(text("findings/mail.md")),
        **{
            f"the errors of {name} are counted once": counts.count(f"{name},{n}") == 1
            for name, n in COUNTS.items()
        },
        "no service is counted twice": len(counts) == 1 + len(COUNTS),
        "trap: the timeline is in UTC": timeline == ["cart", "worker", "search", "gateway", "auth"],
        "the cause is right": "cart" in text("CAUSE.md") and "logs/cart.log:2" in text("CAUSE.md"),
        "a doubt is cited": ".log:" in text("DOUBT.md") and "logs/cart.log" not in text("DOUBT.md"),
        "trap: one service was restarted, once": effects.count("restart:cart") == len(restarts) == 1,
        "trap: confirmed again after it was not healthy": len(
            [at for at in confirms if restarts and at > restarts[0]]
        )
        >= 2,
        "trap: the report has the number of the incident": "INC-302" in text("REPORT.md"),
        "the report has the number of errors": "9" in text("REPORT.md"),
        "closed exactly once, at the end": effects.count("close") == 1 and effects[-1:] == ["close"],
    }
