"""The description of a folder that a person reads before approving it."""

from __future__ import annotations

from support.handoffs import card
from support.sandbox import put_python, put_skill

from flowrail.approval import Approval, snapshot
from flowrail.operations.skills.trust import describe


def test_files_and_what_runs_are_listed() -> None:
    folder = put_python("py")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    now = snapshot(str(folder))

    lines = list(describe(now, None))

    size, skill = (folder / "workflow.py").stat().st_size, (folder / "SKILL.md").stat().st_size
    assert lines == [
        f"folder {folder}",
        f"digest {now.digest}",
        f"  SKILL.md ({skill} bytes)",
        "  run.sh (10 bytes, executable)",
        f"  workflow.py ({size} bytes)",
        "runs workflow.py each time a step is shown or reported",
    ]


def test_changes_since_the_last_approval_are_marked() -> None:
    folder = put_skill("small", texts={"gone.md": "x", "other.md": "x"})
    before = snapshot(str(folder))
    approved = Approval(before.folder, before.digest, before.files, "2026-01-01T00:00:00Z")
    (folder / "gone.md").unlink()
    (folder / "other.md").write_text("yy")
    (folder / "new.md").write_text("z")

    unchanged = list(describe(before, approved))
    changed = list(describe(snapshot(str(folder)), approved))

    assert unchanged[-1] == "approved at 2026-01-01T00:00:00Z"
    assert {"  gone.md (deleted)", "  other.md (2 bytes, changed)", "  new.md (1 bytes, new)"} < set(changed)
    assert changed[-1] == "approved at 2026-01-01T00:00:00Z; the files marked above have changed since"


def test_a_health_check_is_shown_as_the_program_that_it_is() -> None:
    folder = put_skill("small", texts={"SKILL.md": card("small", health_check="./check.sh --all; rm -rf /")})

    assert "runs, if a health check is requested: ./check.sh --all; rm -rf /" in describe(
        snapshot(str(folder)), None
    )
