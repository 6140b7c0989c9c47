"""The planner's script puts diffs into a plan and applies them to a fresh copy, without touching the project."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from flowrail.discovery.locations import bundled_folder

SCRIPT = Path(bundled_folder()) / "planner" / "scripts" / "plan_diffs.py"
PLAN = """\
# Plan: greet

## Milestones

### Milestone 1: Code
Wave: 1. Needs: none

```python
### Milestone 9: only an example
```

#### Diffs

```diff
--- a/greet.py
+++ b/greet.py
@@ -1,2 +1,2 @@
-def hello():
-    print("hello")
+def hello(name):
+    print("hello", name)
```

```diff
--- /dev/null
+++ b/test_greet.py
@@ -0,0 +1 @@
+from greet import hello
```

### Milestone 2: Guide
Wave: 2. Needs: 1

#### Diffs

````diff
--- a/guide.md
+++ b/guide.md
@@ -1,5 +1,5 @@
 # Guide

 ```python
-hello()
+hello("you")
 ```
````

## Answers
None.
"""


def run(*words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def git(*words: str) -> str:
    named = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    return subprocess.run(["git", *named, *words], capture_output=True, text=True, check=True).stdout  # noqa: S607


def copy_in(ran: subprocess.CompletedProcess[str]) -> Path:
    (line,) = (line for line in ran.stdout.splitlines() if line.startswith("Copy"))
    return Path(line.partition(": ")[2].partition(" (")[0])


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a plan for the git repository in the current folder."""
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    Path("greet.py").write_text('def hello():\n    print("hello")\n')
    Path("other.py").write_text("x = 1\n")
    Path("guide.md").write_text("# Guide\n\n```python\nhello()\n```\n")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    plan = tmp_path / "work" / "plan.md"
    plan.parent.mkdir()
    plan.write_text(PLAN)
    return plan


def test_every_diff_is_applied_in_order_and_the_project_is_untouched(plan: Path) -> None:
    before = git("stash", "list"), git("rev-parse", "HEAD")

    ran = run("apply", plan)

    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[:4] == [
        "Milestone 1: applies (2 diffs)",
        "Milestone 2: applies (1 diff)",
        "Result: every diff applies",
        "Size: small (3 files, 7 changed lines)",
    ]
    copy = copy_in(ran)
    assert (copy / "guide.md").read_text() == '# Guide\n\n```python\nhello("you")\n```\n'
    assert (copy / "greet.py").read_text() == 'def hello(name):\n    print("hello", name)\n'
    assert git("status", "--porcelain") == ""
    assert (git("stash", "list"), git("rev-parse", "HEAD")) == before


def test_a_diff_that_does_not_apply_is_named_and_fails(plan: Path) -> None:
    plan.write_text(PLAN.replace('-hello()\n+hello("you")', '-hallo()\n+hello("you")'))

    ran = run("apply", plan)

    assert ran.returncode == 1
    assert (
        "Milestone 1: applies (2 diffs)\nMilestone 2: does not apply\n  error: patch failed: guide.md:1"
        in ran.stdout
    )
    assert "Result: not every diff applies" in ran.stdout


def test_what_is_changed_in_a_copy_is_saved_into_the_plan_and_applies_again(plan: Path) -> None:
    copy = copy_in(run("edit", plan, 1))
    (copy / "greet.py").write_text('def hello(name="you"):\n    print("hello", name)\n')
    saved = run("save", plan, 1, copy)
    copy = copy_in(run("edit", plan, 2))
    (copy / "guide.md").write_text("# Guide\n\n````text\n```\n````\n\n## Answers\n")
    also_saved = run("save", plan, 2, copy)

    assert (saved.returncode, also_saved.returncode) == (0, 0), saved.stderr + also_saved.stderr
    text = plan.read_text()
    assert "\n`````diff\n" in text
    assert text.count("#### Diffs") == 2
    assert text.endswith("## Answers\nNone.\n")
    assert "### Milestone 9: only an example" in text
    applied = run("apply", plan)
    assert applied.returncode == 0, applied.stdout
    again = copy_in(applied)
    for name in ("greet.py", "test_greet.py", "guide.md"):
        assert (again / name).read_text() == (copy / name).read_text()


def test_a_copy_without_the_diffs_of_a_milestone_cannot_replace_them(plan: Path) -> None:
    copy = copy_in(run("edit", plan, 1))
    (copy / "greet.py").unlink()
    run("save", plan, 1, copy)
    (copy / "other.py").unlink()

    ran = run("save", plan, 2, copy)

    assert ran.returncode == 2
    assert "the copy lacks the present diffs of milestone 2; make a new one with `edit" in ran.stderr
    assert '+hello("you")' in plan.read_text()


def test_files_that_are_not_committed_are_part_of_the_copy_and_ignored_ones_are_not(plan: Path) -> None:
    Path("other.py").write_text("x = 2\n")
    Path("new.py").write_text("y = 2\n")
    Path(".gitignore").write_text("*.log\n")
    Path("a.log").write_text("z\n")

    ran = run("apply", plan)

    assert ran.returncode == 0, ran.stdout
    assert (copy_in(ran) / "new.py").exists()
    assert (copy_in(ran) / "other.py").read_text() == "x = 2\n"
    assert not (copy_in(ran) / "a.log").exists()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("# Plan\n", "the plan has no milestone; write sections `### Milestone 1: NAME`"),
        (
            "### Milestone 1: A\n\n```diff\n--- a\n",
            "the code block in line 3 is not closed; close it with ```",
        ),
        (
            "### Milestone 1: A\n### Milestone 1: B\n",
            "two milestones have the number 1; give each one its own",
        ),
        (
            "### Milestone 2: B\nWave: 2\n### Milestone 1: A\nWave: 1\n",
            "milestone 1 (wave 1) comes after milestone 2 (wave 2); put the milestones in the order of their waves",
        ),
    ],
)
def test_a_plan_that_cannot_be_read_is_refused_with_the_reason(plan: Path, text: str, problem: str) -> None:
    plan.write_text(text)

    ran = run("apply", plan)

    assert (ran.returncode, ran.stderr) == (2, f"plan_diffs: {problem}\n")


def test_the_diffs_of_a_milestone_are_printed_as_a_patch_for_the_project(plan: Path) -> None:
    patch = run("show", plan, 1).stdout

    subprocess.run(["git", "apply"], input=patch, text=True, check=True)  # noqa: S607

    assert Path("greet.py").read_text() == 'def hello(name):\n    print("hello", name)\n'
    assert Path("test_greet.py").exists()
    assert Path("guide.md").read_text().endswith("hello()\n```\n")


def test_only_a_copy_can_be_saved(plan: Path) -> None:
    ran = run("save", plan, 1, ".")

    assert ran.returncode == 2
    assert "the copy is the current folder; run this in the project's folder" in ran.stderr
