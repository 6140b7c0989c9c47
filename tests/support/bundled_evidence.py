"""Provide the evidence that steps of bundled skills demand, before they are reported."""

from __future__ import annotations

import io
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from itertools import pairwise
from pathlib import Path
from string import Template
from typing import Any

from flowrail.cli.main import main
from flowrail.discovery.locations import bundled_folder
from flowrail.evidence import markdown_items

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
LARGE_MILESTONE = MILESTONE.replace("+1 @@\n+new\n", "+1,201 @@\n" + "+new\n" * 201)
"""A change of more lines than a small plan has."""

CARD = """\
---
name: NAME
description: Publishes a release once. Use when the user asks to publish. Start with `flow step NAME -p version=1.4`.
---
# NAME

Run `flow step NAME -p version=1.4`.
"""
DRAFT = """\
name: NAME
description: Publish a release.
params: {version: {type: string, required: true, example: "1.4", description: The version to publish}}
steps:
  - id: notes
    title: Write the notes
    actions: ["Write a line for each change into NOTES.md."]
    evidence: {ok: [{id: notes, file: NOTES.md, section: "## Changes", items: C, citations: true}]}
    next: {ok: null}
"""
"""A small workflow: it is checked and tested in processes of their own, in each round of each walk."""


def provide_evidence(words: Sequence[str]) -> None:
    """Write the evidence for `flow step SKILL OUTCOME …`, if *words* are such a command."""
    if len(words) < 3 or words[0] != "step" or words[2].startswith("-"):
        return
    if not os.path.isdir(os.path.join(bundled_folder(), words[1].partition("/")[0])):
        return
    store = Path(_option(words, "--store") or ".flow").absolute()
    named = _option(words, "--session")
    facts = dict(pair.split("=", 1) for word, pair in pairwise(words) if word == "-s")
    for folder in [store / "sessions" / named] if named else sorted((store / "sessions").glob("*")):
        journal = folder / "journal.jsonl"
        if journal.is_file() and b'"evidence"' in journal.read_bytes():
            first, *_, last = map(json.loads, [*(lines := journal.read_bytes().splitlines()), lines[-1]])
            _provide(first["definition"], last, folder, facts)


def _provide(
    definition: dict[str, Any], snapshot: dict[str, Any], folder: Path, facts: Mapping[str, object]
) -> None:
    session = snapshot["session"]
    steps = {step["id"]: step for step in definition["workflow"]["steps"]}
    step = steps.get(session["step"], {})
    evidence = step.get("evidence", {})
    values = {**session["params"], **session["state"], **facts, **names_of(session, folder)}
    for check in (check for checks in evidence.values() for check in checks):
        if "review" in check:
            _submit_review(session, folder)
        pattern = check.get("file") or check.get("files")
        if pattern is None:
            continue
        pattern = Template(pattern).safe_substitute(values)
        found = Path(pattern).parent.glob(Path(pattern).name) if "files" in check else ()
        written = sorted(path for path in found if path.is_file())
        least = 1 if check.get("citations") or "items" in check else check.get("at_least", 1)
        wanted = [Path(pattern.replace("*", str(number))) for number in range(least)]
        for path in written if len(written) >= len(wanted) else wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            before = path.read_text() if path.exists() else ""
            path.write_text(
                f"{before}\n{content_for(check, before, path.parent, values, session['revision'])}\n"
            )
    for name, command in step.get("commands", {}).items():
        if any(check.get("command") == name for checks in evidence.values() for check in checks) or any(
            str(arg.get("from", "")).startswith(f"{name}.") for arg in step.get("reports", {}).values()
        ):
            _run(name, command, session, folder, values)


def _run(
    name: str, command: dict[str, Any], session: dict[str, Any], folder: Path, values: Mapping[str, object]
) -> None:
    for read in command.get("reads", ()):
        plan = Path(Template(read).safe_substitute(values))
        text = plan.read_text() if plan.exists() else ""
        if plan.suffix == ".md" and "$scripts/plan_diffs.py" in command["run"]:
            text = text.replace(MILESTONE, "").replace("### Milestone", "Milestone")
            plan.parent.mkdir(parents=True, exist_ok=True)
            plan.write_text(f"{text}{MILESTONE}")
    if "$scripts/try_workflow.py" in command["run"]:
        provide_skill(command["run"][2], str(values["skill"]), folder / "work", values)
    with redirect_stdout(io.StringIO()) as printed:
        status = main(["run", name, "--session", session["id"], "--store", str(folder.parents[1])])
    assert status == 0, printed.getvalue()


def provide_skill(mode: str, name: str, work: Path, values: Mapping[str, object]) -> None:
    """Write what the script of write-workflow finds in *mode*: a skill, a refused fake, or a trial run that has ended."""
    if mode == "check":
        skill = Path(".claude/skills", name)
        irreversible = int(str(values["irreversible"]))
        patterns = [f"Bash(tools/publish{number}*)" for number in range(1, irreversible + 1)]
        guards = "".join(f'  "{pattern}": [notes]\n' for pattern in patterns)
        draft = DRAFT.replace("NAME", name, 1)
        (skill / "workflow.yaml").write_text(f"{draft}guards:\n{guards}" if guards else draft)
        (skill / "SKILL.md").write_text(CARD.replace("NAME", name))
        notes = work / "notes.md"
        mapped = "\n".join(f"{item}: step notes" for item in ids_of(notes.read_text(), "P"))
        written = (
            f"## Irreversible\n{' '.join(f'`{pattern}`' for pattern in patterns)}\n## Mapping\n{mapped}\n"
        )
        notes.write_text(f"{written}{notes.read_text()}")
        return
    before, scratch = Path.cwd(), work / "scratch"
    shutil.copytree(".claude", scratch / ".claude", dirs_exist_ok=True)
    (scratch / ".flow").mkdir(exist_ok=True)
    os.chdir(scratch)
    try:
        with redirect_stdout(io.StringIO()) as printed, redirect_stderr(io.StringIO()):
            main(["step", name, "--new", "-p", "version=1.4", "--json"])
            session = json.loads(printed.getvalue())["session"]
            Path("NOTES.md").unlink(missing_ok=True)
            main(["step", name, "ok", "--session", session])
            if mode == "trial":
                Path("NOTES.md").write_text(
                    f'## Changes\n\nC1: .claude/skills/{name}/SKILL.md:2 "name: {name}"\n'
                )
                main(["step", name, "ok", "--session", session])
    finally:
        os.chdir(before)


def names_of(session: dict[str, Any], folder: Path) -> dict[str, object]:
    """Return the values of the built-in placeholders of a session."""
    return {"notes": folder / "work" / "notes.md", "work": folder / "work", "session": session["id"]}


def content_for(
    check: Mapping[str, Any], before: str, beside: Path, values: Mapping[str, object], revision: int
) -> str:
    """Return content that meets *check* in a file that has *before* already."""
    letter, least = check.get("items"), check.get("at_least", 1)
    citations = []
    if check.get("citations"):
        (beside.parent / "source.txt").write_text("the cited words\n" * max(least, 40))  # of every check
        citations = [f'../source.txt:{number} "the cited words"' for number in range(1, least + 1)]
    cited = "".join(citations[:1])
    lines = [check["section"]] if "section" in check else []
    lines += [f"revision {revision}, {len(before)} characters before", *citations]
    for text in check.get("contains", ()):
        value = values.get(text[1:]) if text.startswith("$") else None
        is_json = isinstance(value, str) and value.startswith("[")
        items = json.loads(str(value)) if is_json else value if isinstance(value, list) else None
        lines += [Template(text).safe_substitute(values), *map(str, items or [])]
        lines += str(value).split(",")
    if letter:
        earlier = ids_of(markdown_items.section_of(before, check.get("section", "")), letter)
        lines += [f"{letter}{number}: {cited}" for number in range(1, max(least, len(earlier)) + 1)]
    if "covers" in check:
        covers = check["covers"]
        if covers.startswith("#"):
            source = markdown_items.section_of(before, covers)
        else:
            path = Path(Template(covers).safe_substitute(values))
            source = path.read_text() if path.exists() else ""
        lines += [f"{item}: {cited}" for item in ids_of(source, letter or "")]
    return f"{os.linesep.join(lines):.<{check.get('min_bytes', 1)}}"


def ids_of(text: str, letter: str) -> list[str]:
    """Return the ids of the items of a text, each once."""
    return list(dict.fromkeys(item.id for item in markdown_items.items_in(text, letter)))


def _submit_review(session: dict[str, Any], folder: Path) -> None:
    """Record that the review found nothing, unless it did."""
    if not any(finding["revision"] == session["revision"] for finding in session["findings"]):
        with redirect_stdout(io.StringIO()):
            assert main(["finding", "none", session["id"], "--store", str(folder.parents[1])]) == 0


def _option(words: Sequence[str], name: str) -> str | None:
    return next((words[at + 1] for at, word in enumerate(words[:-1]) if word == name), None)
