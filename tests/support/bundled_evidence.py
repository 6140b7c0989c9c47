"""Provide the evidence that steps of bundled skills demand, before they are reported."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from string import Template
from typing import Any

from flowrail.cli.main import main
from flowrail.discovery.locations import bundled_folder

MILESTONE = """
### Milestone 1: A file

#### Diffs

```diff
diff --git a/new-file.txt b/new-file.txt
new file mode 100644
--- /dev/null
+++ b/new-file.txt
@@ -0,0 +1 @@
+new
```
"""


def provide_evidence(words: Sequence[str]) -> None:
    """Write the evidence for `flow step SKILL OUTCOME …`, if *words* are such a command."""
    if len(words) < 3 or words[0] != "step" or words[2].startswith("-"):
        return
    if not os.path.isdir(os.path.join(bundled_folder(), words[1].partition("/")[0])):
        return
    store = Path(_option(words, "--store") or ".flow").absolute()
    named = _option(words, "--session")
    for folder in [store / "sessions" / named] if named else sorted((store / "sessions").glob("*")):
        journal = folder / "journal.jsonl"
        if journal.is_file() and b'"evidence"' in journal.read_bytes():
            first, *_, last = map(json.loads, [*(lines := journal.read_bytes().splitlines()), lines[-1]])
            _provide(first["definition"], last, folder)


def _provide(definition: dict[str, Any], snapshot: dict[str, Any], folder: Path) -> None:
    session = snapshot["session"]
    steps = {step["id"]: step for step in definition["workflow"]["steps"]}
    step = steps.get(session["step"], {})
    evidence = step.get("evidence", {})
    for check in (check for checks in evidence.values() for check in checks):
        if "review" in check:
            _submit_review(session, folder)
        pattern = check.get("file") or check.get("files")
        if pattern is None:
            continue
        names = names_of(session, folder)
        pattern = Template(pattern).safe_substitute({**session["params"], **session["state"], **names})
        written = sorted(Path(pattern).parent.glob(Path(pattern).name)) if "files" in check else []
        wanted = [Path(pattern.replace("*", str(number))) for number in range(check.get("at_least", 1))]
        for path in written if len(written) >= len(wanted) else wanted:
            _write_file(path, check, session["revision"], folder)
    for name, command in step.get("commands", {}).items():
        plan = Path(
            Template(command["reads"][0]).safe_substitute({**session["params"], **names_of(session, folder)})
        )
        text = plan.read_text().replace(MILESTONE, "").replace("### Milestone", "Milestone")
        plan.write_text(f"{text}{MILESTONE}")
        with redirect_stdout(io.StringIO()) as printed:
            status = main(["run", name, "--session", session["id"], "--store", str(folder.parents[1])])
        assert status == 0, printed.getvalue()


def names_of(session: dict[str, Any], folder: Path) -> dict[str, object]:
    """Return the values of the built-in placeholders of a session."""
    return {"notes": folder / "work" / "notes.md", "work": folder / "work", "session": session["id"]}


def _write_file(path: Path, check: dict[str, Any], revision: int, folder: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    before = path.read_text() if path.exists() else ""
    lines = "\n".join(check.get("contains", ()))
    if check.get("citations"):
        lines += f"\n{path.relative_to(folder.parents[2])}:1"
    text = f"{before}\n{lines}\nat revision {revision}, {len(before)}"
    path.write_text(f"{text:.<{check.get('min_bytes', 1)}}\n")


def _submit_review(session: dict[str, Any], folder: Path) -> None:
    """Record that the review found nothing, unless it did."""
    if not any(finding["revision"] == session["revision"] for finding in session["findings"]):
        with redirect_stdout(io.StringIO()):
            assert main(["finding", "none", session["id"], "--store", str(folder.parents[1])]) == 0


def _option(words: Sequence[str], name: str) -> str | None:
    return next((words[at + 1] for at, word in enumerate(words[:-1]) if word == name), None)
