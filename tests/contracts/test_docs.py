"""The console blocks and workflows in README and docs work. Doctest runs the Python.

A block below a line with a path and a colon, such as `` `.claude/skills/x/SKILL.md`: ``, is that file; a `diff` is a
change of it. It is written before the commands below it run. A command that is answered with `yes` runs at a terminal.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from itertools import takewhile
from pathlib import Path
from unittest.mock import patch

import pytest
from support.sandbox import clean_environment
from support.terminal import at_a_terminal, plain
from support.web import website

from flowrail.cli.main import main
from flowrail.machines.loading.skill_folder import WorkflowFile
from flowrail.machines.loading.workflow_source import read
from flowrail.text import yaml as yaml_text

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_ID = r"[a-z]+(?:-[a-z]+)*-[a-z0-9]{6}\b(?<=\d[a-z0-9]|[a-z]\d)"
SHOWN = re.compile(_ID)
"""An id as a page shows it. The real one is used in its place."""
FENCE = re.compile(
    r"^(?:`(?P<path>[\w./-]+)`:\n\n)?(?P<fence>`{3,})(?P<kind>\w+)\n(?P<body>.*?)^(?P=fence)$",
    re.DOTALL | re.MULTILINE,
)


def blocks(page: Path, language: str) -> list[str]:
    return [found["body"] for found in fences(page) if found["kind"] == language]


def fences(page: Path) -> Iterator[re.Match[str]]:
    return FENCE.finditer(page.read_text(encoding="utf-8"))


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [each for each in PAGES if blocks(each, "console")], ids=name)
def test_every_command_shown_prints_what_is_shown(page: Path) -> None:
    ids: dict[str, str] = {}

    if blocks(page, "transcript"):  # its commands are shown before its files
        for block in fences(page):
            write(block)
    for block in fences(page):
        if block["path"]:
            write(block)
        elif block["kind"] == "console":
            for command, shown in commands(block["body"]):
                printed = run(command, ids, shown)
                assert matches(shown, printed, ids), f"{command}\n--- shown\n{shown}\n--- printed\n{printed}"
        elif block["kind"] == "transcript":
            replay(block["body"], ids)


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "skills.md"], ids=name)
def test_a_command_and_its_output_are_shown_only_in_blocks_that_run(page: Path) -> None:
    """The transcripts in `skills.md` are recorded by `docs/transcripts.py`."""
    for block in fences(page):
        if block["kind"] not in {"console", "transcript"}:
            assert not re.search(r"^\$ ", block["body"], re.MULTILINE), block["body"]


@pytest.mark.parametrize("page", [each for each in PAGES if blocks(each, "yaml")], ids=name)
def test_every_workflow_shown_has_no_findings(page: Path) -> None:
    for block in blocks(page, "yaml"):
        document = yaml_text.load(block, source=page.name)
        if isinstance(document.value, dict) and "steps" in document.value:
            texts = dict.fromkeys(re.findall(r"[\w./-]+\.md", block), b"the text")
            texts |= {f"steps/{step['id']}.md": b"the text" for step in document.value["steps"]}
            file = WorkflowFile(str(document.value["name"]), "/skills", "workflow.yaml", "steps")
            assert not read(file, {"workflow.yaml": block.encode(), **texts}).findings


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_leads_to_a_file_and_a_heading_in_it(page: Path) -> None:
    for target, place in re.findall(
        r"\]\(([^)#\s]*)(?:#([^)\s]+))?[^)]*\)", page.read_text(encoding="utf-8")
    ):
        if "://" in target:
            continue
        file = page.parent / target if target else page
        assert file.exists(), target
        if place and file.suffix == ".md":
            assert place in headings(file), f"{target}#{place}"


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "how-to").glob("*.md")), ids=name)
def test_every_guide_begins_with_its_result(page: Path) -> None:
    title, _, rest = page.read_text(encoding="utf-8").partition("\n\n")

    assert title.startswith("# ")
    assert is_result(rest.partition("\n\n")[0])


@pytest.mark.parametrize(
    "start",
    [
        "This page shows how to move a session.",
        "A report is refused. This page shows the proof.",
        "After reading this page, you can move a session.",
        "A step can ask the user a question.",
        "Use YAML unless a step needs code.",
        "## A workflow with handlers",
        "```yaml",
    ],
)
def test_a_guide_may_not_begin_with_an_announcement_or_advice(start: str) -> None:
    assert not is_result(start)


def is_result(paragraph: str) -> bool:
    """Return whether a paragraph says what is so, instead of what the page does or what the reader may do."""
    words = " ".join(paragraph.split())
    announces = re.search(
        r"\b(?:this|the) (?:page|guide)\b|\bAfter reading\b|\byou will\b", words, re.IGNORECASE
    )
    may = re.match(r"(?:\S+ ){1,3}?can\b", words)
    advises = re.match(r"(?:Use|Install|Run|Write|Add|Learn|If|To)\b", words)
    return words[:1].isalnum() | words.startswith("`flow") and not (announces or may or advises)


def headings(page: Path) -> set[str]:
    """Return the anchors of a page as GitHub and MyST name them."""
    text = re.sub(r"^(`{3,}).*?^\1$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    found = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.strip().lower()).replace(" ", "-") for each in found}


def write(block: re.Match[str]) -> None:
    """Write or change the file that *block* shows, if it names one."""
    if block["path"]:
        file = Path(block["path"])
        file.parent.mkdir(parents=True, exist_ok=True)
        text = block["body"]
        if block["kind"] == "diff":
            before, text = (side(text, mark) for mark in "-+")
            content = file.read_text(encoding="utf-8")
            assert content.count(before) == 1, before
            text = content.replace(before, text)
        file.write_text(text, encoding="utf-8")
        if text.startswith("#!"):
            file.chmod(0o755)
        for cached in Path.cwd().rglob(
            "__pycache__"
        ):  # files of one second and one size look alike to Python
            shutil.rmtree(cached)


def side(diff: str, mark: str) -> str:
    """Return the lines of a diff before (`-`) or after (`+`) the change."""
    return "".join(line[1:] for line in diff.splitlines(keepends=True) if line[0] in {" ", mark})


def replay(transcript: str, ids: dict[str, str]) -> None:
    """Run the calls of a transcript: `● Bash(COMMAND)` prints what is shown, `● Write(FILE)` writes it."""
    turns = re.findall(r"^● (Bash|Write)\((.*)\)\n((?:  .*\n)*)", transcript, re.MULTILINE)
    assert len(turns) == transcript.count("●")
    for tool, argument, answer in turns:
        shown = "".join(line[4:] + "\n" for line in answer.splitlines())
        if tool == "Write":
            Path(argument).write_text(shown, encoding="utf-8")
        else:
            printed = "\n".join(line.strip() for line in run(argument, ids).splitlines() if line.strip())
            assert matches(shown, printed, ids), f"{argument}\n--- shown\n{shown}\n--- printed\n{printed}"


def commands(block: str) -> list[tuple[str, str]]:
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)
    assert not parts[0].strip()
    return [(part.partition("\n")[0], part.partition("\n")[2]) for part in parts[1:]]


def run(command: str, ids: dict[str, str], shown: str = "") -> str:
    """Run a command with the real ids in place of the shown ones.

    Variables before the command and `< FILE` work as in a shell.
    """
    words = shlex.split(SHOWN.sub(lambda found: ids.get(found.group(), found.group()), command))
    given = [word.partition("=")[::2] for word in takewhile(lambda word: "=" in word, words)]
    words = words[len(given) :]
    stdin = b""
    if words[-2:-1] == ["<"]:
        stdin = Path(words[-1]).read_bytes()
        words = words[:-2]
    if words[0] == "python":
        done = subprocess.run(
            [sys.executable, *words[1:]], env=clean_environment(), capture_output=True, text=True, check=False
        )
        return done.stdout + done.stderr
    assert words[0] == "flow"
    if shown.rstrip().endswith("…") and "Type yes: yes\n" in shown:
        return plain(at_a_terminal(words[1:], "yes", columns=200)[0]).replace("\r\n", "\n")
    if words[1] == "ui":
        with website(*words[2:]) as running:
            return f"{running.address}\n"
    out = io.StringIO()
    with (
        patch.dict(os.environ, given),
        patch("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin))),
        redirect_stdout(out),
        redirect_stderr(out),
    ):
        main(words[1:])
    return out.getvalue()


def matches(shown: str, printed: str, ids: dict[str, str]) -> bool:
    """Return whether *printed* matches *shown*: `…` matches anything, and an id always the same real id.

    *ids* maps the ids of the page to the real ones.
    """
    names: dict[str, str] = {}

    def part(text: str) -> str:
        if text == "…":
            return ".*"
        if text in ids:
            return re.escape(ids[text])
        if text in names:
            return f"(?P={names[text]})"
        names[text] = f"id{len(names)}"
        stem = re.escape(text[:-6]) if "-" in text else "[a-z0-9]{6}"
        return f"(?P<{names[text]}>{stem}[a-z0-9]{{6}})"

    tokens = re.split(rf"(…|{SHOWN.pattern})", shown.rstrip())
    pattern = "".join(part(each) if at % 2 else re.escape(each) for at, each in enumerate(tokens))
    folded = re.compile(re.sub(r"(?:\\ )+", r"\\s+", pattern), re.DOTALL)
    found = folded.fullmatch(printed.rstrip())
    if found is not None:
        ids.update({text: found[name] for text, name in names.items()})
    return found is not None


def test_every_decision_has_a_number_of_its_own() -> None:
    pages = sorted((ROOT / "docs" / "adr").glob("*.md"))
    numbers = [page.name[:4] for page in pages]

    assert len(set(numbers)) == len(numbers)
    for page in pages:
        assert page.read_text(encoding="utf-8").startswith(f"# {page.name[:4]}. ")


def test_the_documentation_stays_short_enough_to_be_read() -> None:
    pages = [page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts]

    assert sum(len(page.read_text(encoding="utf-8").splitlines()) for page in pages) <= 9000
