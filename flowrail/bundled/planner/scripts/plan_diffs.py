"""Put a plan's diffs into the plan, and apply them to a fresh copy of the project.

A plan is a Markdown file. Each milestone is a section `### Milestone N: NAME` with a line `Wave: N`, and keeps its diffs in
fenced blocks below a line `#### Diffs`. The diffs apply one after the other, so the milestones are in the order of their
waves. The project itself is never changed.

    plan_diffs.py check PLAN              say whether every diff applies to a fresh copy of the project, and print the size
    plan_diffs.py apply PLAN              the same, and keep the copy
    plan_diffs.py show PLAN MILESTONE     print the diffs of a milestone as one patch, for `git apply`
    plan_diffs.py edit PLAN MILESTONE     make a fresh copy in which a milestone can be written or changed
    plan_diffs.py save PLAN MILESTONE COPY   put what was changed in the copy into the plan, as the milestone's diffs

The current folder is the project. The script needs Python 3.9 or later and git.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

MILESTONE = re.compile(r"###\s+Milestone\s+(\d+)\b")
WAVE = re.compile(r"\**Wave:?\**:?\s*(\d+)", re.IGNORECASE)
FENCE = re.compile(r" {0,3}(`{3,}(?!.*`)|~{3,})\s*(\S*)")
DIFFS = "#### Diffs"
MOST_FILES, MOST_LINES = 6, 200
"""A change with at most so many files and changed lines is small."""


class PlanError(Exception):
    """The plan or the copy cannot be used; the message says why and what to do."""


class Block(NamedTuple):
    """A fenced code block: its first and last line, and the language after the fence."""

    first: int
    last: int
    language: str


class Milestone(NamedTuple):
    """A milestone as the plan has it: the lines of its section, its wave, and its diffs."""

    number: int
    wave: int
    start: int
    end: int
    diffs: tuple[str, ...]


def code_blocks(lines: list[str]) -> list[Block]:
    """Return the fenced code blocks. A block ends at a fence of the same character, at least as long."""
    blocks: list[Block] = []
    opening: re.Match[str] | None = None
    first = 0
    for number, line in enumerate(lines):
        fence = FENCE.match(line)
        if fence and opening is None:
            opening, first = fence, number
        elif fence and opening and fence[1].startswith(opening[1]) and not fence[2]:
            blocks.append(Block(first, number, opening[2]))
            opening = None
    if opening is not None:
        raise PlanError(f"the code block in line {first + 1} is not closed; close it with {opening[1]}")
    return blocks


def read_plan(lines: list[str]) -> list[Milestone]:
    """Return the milestones of a plan, which has them in the order of their waves."""
    blocks = code_blocks(lines)
    inside = {number for block in blocks for number in range(block.first, block.last + 1)}
    headings = [at for at, line in enumerate(lines) if at not in inside and re.match(r"#{1,3}\s", line)]
    found: dict[int, Milestone] = {}
    for start, end in zip(headings, [*headings[1:], len(lines)]):
        heading = MILESTONE.match(lines[start])
        if heading is None:
            continue
        number = int(heading[1])
        if number in found:
            raise PlanError(f"two milestones have the number {number}; give each one its own")
        waves = [WAVE.search(lines[at]) for at in range(start, end) if at not in inside]
        wave = next((int(match[1]) for match in waves if match), 1)
        before = next(reversed(found.values()), None)
        if before is not None and wave < before.wave:
            raise PlanError(
                f"milestone {number} (wave {wave}) comes after milestone {before.number} (wave {before.wave}); "
                "put the milestones in the order of their waves"
            )
        diffs = [block for block in blocks if start < block.first < end and block.language == "diff"]
        texts = tuple("\n".join(lines[block.first + 1 : block.last]) + "\n" for block in diffs)
        found[number] = Milestone(number, wave, start, end, texts)
    return list(found.values())


def lines_of(plan: Path) -> list[str]:
    """Return the lines of the plan. Other line breaks than LF are part of a line, because diffs can contain them."""
    return plan.read_bytes().decode("utf-8").split("\n")


def milestones_of(plan: Path) -> list[Milestone]:
    """Return the milestones of a plan file; `PlanError` if there are none."""
    milestones = read_plan(lines_of(plan))
    if not milestones:
        raise PlanError("the plan has no milestone; write sections `### Milestone 1: NAME`")
    return milestones


class Ran(NamedTuple):
    """What a git command printed, with its line breaks as they are, and its exit status."""

    status: int
    out: str
    err: str


def git(folder: Path, *words: str, data: str = "", check: bool = True) -> Ran:
    """Run git in *folder* as an author of its own, with no hooks and no settings that change diffs."""
    settings = (
        "core.hooksPath=/dev/null",
        "core.autocrlf=false",
        "commit.gpgSign=false",
        "diff.noprefix=false",
    )
    named = {f"GIT_{who}_{what}": "planner" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    given = [word for setting in settings for word in ("-c", setting)]
    ran = subprocess.run(
        ["git", "-C", str(folder), *given, *words],
        input=data.encode("utf-8", "surrogateescape"),
        capture_output=True,
        env={**environment, **named},
        check=False,
    )
    out, err = (text.decode("utf-8", "surrogateescape") for text in (ran.stdout, ran.stderr))
    if check and ran.returncode != 0:
        raise PlanError(f"git {words[0]} failed in {folder}: {err.strip()}")
    return Ran(ran.returncode, out, err)


def fresh_copy(project: Path) -> Path:
    """Return a new git repository with the project's files as they are now, without the ignored ones."""
    folder = Path(tempfile.mkdtemp(prefix="plan-"))
    git(folder, "init", "-q")
    if git(project, "rev-parse", "--is-inside-work-tree", check=False).status == 0:
        listed = git(project, "ls-files", "-z", "--cached", "--others", "--exclude-standard").out
        for name in filter(None, listed.split("\0")):
            source, target = project / name, folder / name
            if source.is_symlink() or source.is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target, follow_symlinks=False)
    else:
        left_out = shutil.ignore_patterns(".flow", ".venv", "venv", "node_modules", "__pycache__")
        shutil.copytree(project, folder, symlinks=True, ignore=left_out, dirs_exist_ok=True)
    commit(folder, "Base")
    return folder


def commit(copy: Path, subject: str) -> None:
    """Commit everything in the copy."""
    git(copy, "add", "-A")
    git(copy, "commit", "-q", "--allow-empty", "-m", subject)


def apply_diffs(copy: Path, milestone: Milestone) -> list[str]:
    """Apply the diffs of one milestone to the copy; return what git objects to, and apply nothing then."""
    patch = "".join(milestone.diffs)
    ran = git(copy, "apply", "--index", "--whitespace=nowarn", "-", data=patch, check=False)
    return ran.err.strip().splitlines() if ran.status else []


def size_of(milestones: list[Milestone]) -> tuple[str, int, int]:
    """Return whether the change is `small` or `large`, with its files and its changed lines."""
    text = "".join(diff for milestone in milestones for diff in milestone.diffs)
    pairs = re.findall(r"(?m)^--- (?:a/)?(.+)\n\+\+\+ (?:b/)?(.+)$", text)
    files = len({new if new != "/dev/null" else old for old, new in pairs})
    changed = len(re.findall(r"(?m)^[+-]", text)) - 2 * len(pairs)
    return ("small" if files <= MOST_FILES and changed <= MOST_LINES else "large"), files, changed


def apply(project: Path, plan: Path, *, keep: bool) -> int:
    """Apply all diffs in order to a fresh copy, and print the result. Without *keep*, remove the copy."""
    milestones = milestones_of(plan)
    copy = fresh_copy(project)
    lines, failed = [], False
    for milestone in milestones:
        name = f"Milestone {milestone.number}"
        problems = apply_diffs(copy, milestone) if milestone.diffs else []
        failed = failed or bool(problems)
        if not milestone.diffs:
            lines.append(f"{name}: no diff")
        elif problems:
            lines += [f"{name}: does not apply", *(f"  {problem}" for problem in problems)]
        else:
            commit(copy, name)
            count = len(milestone.diffs)
            lines.append(f"{name}: applies ({count} diff{'s' if count > 1 else ''})")
    size, files, changed = size_of(milestones)
    if not files:
        lines.append("Result: the plan has no diff")
    else:
        lines.append("Result: not every diff applies" if failed else "Result: every diff applies")
        lines.append(f"Size: {size} ({files} files, {changed} changed lines)")
    print("\n".join(lines))
    if keep:
        print(f"Copy with the diffs: {copy} (remove it when you are done)")
    else:
        shutil.rmtree(copy, ignore_errors=True)
    return 1 if failed or not files else 0


def show(plan: Path, number: int) -> int:
    """Print the diffs of the milestone as one patch."""
    milestone = _milestone(milestones_of(plan), number)
    if not milestone.diffs:
        raise PlanError(f"milestone {number} has no diff")
    print("".join(milestone.diffs), end="")
    return 0


def edit(project: Path, plan: Path, number: int) -> int:
    """Make a copy with the milestones before this one committed, and the diffs of this one applied if they fit."""
    milestones = milestones_of(plan)
    wanted = _milestone(milestones, number)
    copy = fresh_copy(project)
    for milestone in milestones[: milestones.index(wanted)]:
        problems = apply_diffs(copy, milestone) if milestone.diffs else []
        if problems:
            raise PlanError(f"milestone {milestone.number} does not apply; edit it first: {problems[0]}")
        commit(copy, f"Milestone {milestone.number}")
    problems = apply_diffs(copy, wanted) if wanted.diffs else []
    _mark(copy, number)
    print(f"Copy: {copy}")
    if problems:
        print("The present diffs of this milestone do not apply and were left out:")
        print("\n".join(f"  {problem}" for problem in problems))
    print(f"Change the files in it, then run: python3 {Path(__file__)} save {plan} {number} {copy}")
    return 0


def save(plan: Path, number: int, copy: Path) -> int:
    """Write the changes in the copy into the plan as the milestone's diffs, and commit them in the copy."""
    milestones = milestones_of(plan)
    milestone = _milestone(milestones, number)
    before = milestones[: milestones.index(milestone)]
    if copy.resolve() == Path.cwd().resolve():
        raise PlanError(
            "the copy is the current folder; run this in the project's folder, with the path of a copy that `edit` made"
        )
    if not (copy / ".git").exists():
        raise PlanError(f"{copy} is not a copy; make one: {Path(__file__).name} edit {plan} {number}")
    subject = f"Milestone {number}"
    if git(copy, "log", "-1", "--format=%s").out.strip() == subject:
        git(copy, "reset", "-q", "--soft", "HEAD~1")
    at = git(copy, "log", "-1", "--format=%s").out.strip()
    if before and before[-1].diffs and at != f"Milestone {before[-1].number}":
        raise PlanError(
            f"the copy is at `{at}`, not after milestone {before[-1].number}; make a new one with `edit`"
        )
    if milestone.diffs and _marked(copy) != number:
        raise PlanError(
            f"the copy lacks the present diffs of milestone {number}; make a new one with `edit {plan} {number}`"
        )
    git(copy, "add", "-A")
    patch = git(copy, "diff", "--cached", "--no-color", "--no-ext-diff", "--no-renames", "-U3").out
    if "\nBinary files " in patch:
        raise PlanError(
            "a binary file changed; a plan cannot contain it, so leave it out and describe it in words"
        )
    if re.search("[\udc80-\udcff]", patch):
        raise PlanError(
            "a changed file is not UTF-8; a plan cannot contain it, so describe the change in words"
        )
    blocks = [part for part in re.split(r"(?m)^(?=diff --git )", patch) if part.strip()]
    if not blocks:
        raise PlanError(f"nothing changed in {copy}")
    lines = lines_of(plan)
    section = _without_diffs(lines[milestone.start : milestone.end])
    after = [""] if milestone.end >= len(lines) else ["", *lines[milestone.end :]]
    fenced = [line for block in blocks for line in ("", *_fenced(block))]
    written = [*lines[: milestone.start], *section, "", DIFFS, *fenced, *after]
    plan.write_bytes("\n".join(written).encode("utf-8"))
    commit(copy, subject)
    _mark(copy, number)
    print(f"{subject}: {len(blocks)} diff{'s' if len(blocks) > 1 else ''} written to {plan}")
    return 0


def _mark(copy: Path, number: int) -> None:
    """Note in the copy whose diffs it contains, so that `save` never drops diffs that were not there."""
    (copy / ".git" / "planner-milestone").write_text(str(number), encoding="ascii")


def _marked(copy: Path) -> int:
    mark = copy / ".git" / "planner-milestone"
    return int(mark.read_text(encoding="ascii")) if mark.exists() else 0


def _without_diffs(section: list[str]) -> list[str]:
    diffs = [block for block in code_blocks(section) if block.language == "diff"]
    left_out = {number for block in diffs for number in range(block.first, block.last + 1)}
    kept = [line for at, line in enumerate(section) if at not in left_out and line.strip() != DIFFS]
    return "\n".join(kept).rstrip().split("\n")


def _fenced(block: str) -> list[str]:
    """Return the diff in a code block whose fence is longer than any fence in the diff."""
    lines = [line for line in block.rstrip("\n").split("\n") if not line.startswith("index ")]
    longest = max([2, *(len(run) for line in lines for run in re.findall(r"`{3,}", line))])
    return [f"{'`' * (longest + 1)}diff", *lines, "`" * (longest + 1)]


def _milestone(milestones: list[Milestone], number: int) -> Milestone:
    for milestone in milestones:
        if milestone.number == number:
            return milestone
    known = ", ".join(str(milestone.number) for milestone in milestones)
    raise PlanError(f"the plan has no milestone {number}; it has {known}")


def main(words: list[str]) -> int:
    """Run one command; return its exit status."""
    parser = argparse.ArgumentParser(prog=Path(__file__).name, description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name, text in (
        ("check", "say whether every diff applies to a fresh copy of the project"),
        ("apply", "apply every diff to a fresh copy of the project, and keep the copy"),
        ("show", "print the diffs of a milestone as one patch"),
        ("edit", "make a copy in which a milestone can be changed"),
        ("save", "put what was changed in the copy into the plan"),
    ):
        command = commands.add_parser(name, help=text, description=text.capitalize())
        command.add_argument("plan", type=Path)
        if name not in {"check", "apply"}:
            command.add_argument("milestone", type=int)
        if name == "save":
            command.add_argument("copy", type=Path)
    given = parser.parse_args(words)
    try:
        if given.command in {"check", "apply"}:
            return apply(Path.cwd(), given.plan, keep=given.command == "apply")
        if given.command == "show":
            return show(given.plan, given.milestone)
        if given.command == "edit":
            return edit(Path.cwd(), given.plan, given.milestone)
        return save(given.plan, given.milestone, given.copy)
    except (PlanError, OSError, UnicodeError) as error:
        print(f"plan_diffs: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
