"""Diffs in a Markdown file as evidence: they apply to the project's files as they are now, and nothing else passes."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.evidence import begin, demand, git, report, repository, write
from support.sandbox import flow, told

OTHER = """\
```diff
--- a/src/a.py
+++ b/src/a.py
@@ -1 +1 @@
-a = 1
+a = 2
```
"""
PLAN = """\
# Plan

## First

```diff
--- a/src/a.py
+++ b/src/a.py
@@ -1 +1,2 @@
-a = 1
+a = 2
+b = 2
```

~~~diff
--- /dev/null
+++ b/src/new.py
@@ -0,0 +1 @@
+new = 1
diff --git a/src/empty.py b/src/empty.py
new file mode 100644
~~~

## Then, from the result of the first

```diff
--- a/src/a.py
+++ b/src/a.py
@@ -1,2 +1,2 @@
 a = 2
-b = 2
+b = 3
--- a/src/new.py
+++ b/src/new.py
@@ -1 +1 @@
-new = 1
+new = 2
```

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

```diff
--- a/old.txt
+++ /dev/null
@@ -1 +0,0 @@
-old
--- a/dos.txt
+++ b/dos.txt
@@ -1,2 +1,2 @@
 one\r
-two\r
+2\r
```

```python
```not a fence```
```
"""


def changed(path: str, before: str = "a", after: str = "b") -> str:
    """Return a plan with a diff of one line of the file *path*."""
    return f"```diff\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{before}\n+{after}\n```\n"


def created(path: str) -> str:
    """Return a plan with a diff that creates the file *path*."""
    return f"```diff\n--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+new\n```\n"


@pytest.fixture
def session() -> str:
    repository()
    write("guide.md", "# Guide\n\n```python\nhello()\n```\n")
    write("old.txt", "old\n")
    Path("dos.txt").write_bytes(b"one\r\ntwo\r\n")
    git("add", ".")
    git("commit", "-qm", "more")
    demand({"id": "diffs", "file": "$work/plan.md", "diffs": True})
    return begin()


def plan(session: str, text: str) -> None:
    Path(".flow/sessions", session, "work", "plan.md").write_bytes(text.encode())


def found(session: str) -> str:
    """Return what the check found."""
    shown = told("evidence", "show", session)
    return str(shown["evidence"][0]["found"])


def everything() -> dict[str, bytes]:
    """Return the files of the project and of its repository, without flowrail's own."""
    files = [path for path in Path().rglob("*") if path.is_file() and path.parts[0] != ".flow"]
    return {str(path): path.read_bytes() for path in files}


def test_a_plan_passes_if_its_diffs_apply_one_after_the_other(session: str) -> None:
    plan(session, PLAN)
    before = everything()

    assert report(session) == {}

    assert everything() == before


def test_the_refusal_names_the_diff_and_the_hunk(session: str) -> None:
    plan(session, PLAN.replace("-b = 2", "-b = 4"))

    ran = flow("step", "built", "ok", "--session", session)

    path = f".flow/sessions/{session}/work/plan.md"
    assert ran.status == 4
    assert (
        f"diffs: expected {path} (with diffs that apply to the files as they are now); found {path}: "
        "the diff in line 25 (3 of 5) does not apply: the lines of its hunk `@@ -1` are not in src/a.py; "
        f"correct that in {path}"
    ) in ran.err


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("# Plan\nEvery diff applies.\n", "no `diff` block"),
        (f"{OTHER}```diff\n```\n", "the diff in line 8 changes nothing"),
        (f"{OTHER}{changed('old.txt').replace('--- a/', '').replace(' @@', '')}", "the diff in line 8 changes nothing"),
        (f"{OTHER}{changed('old.txt', 'old', 'old').replace('+old', ' old')}", "corrupt patch at line 14"),
        (changed("old.txt", "old").replace("-1 ", "-1,9 ") + OTHER, "corrupt patch at line 7"),
        (f"{OTHER}```\n", "the code block in line 8 is not closed"),
        (changed("old.txt", "new", "old"), "the lines of its hunk `@@ -1` are not in old.txt"),
        (created("old.txt"), "old.txt: already exists in working directory"),
        (OTHER + OTHER, "the diff in line 8 (2 of 2) does not apply"),
        (changed("gone.txt"), "gone.txt: No such file or directory"),
        (changed("src"), "src is a folder"),
        ("```diff\ndiff --git a/src b/lib\nsimilarity index 100%\nrename from src\nrename to lib\n```\n", "src is a folder"),
        (changed(".git/config", "[core]"), "invalid path '.git/config'"),
        (changed("../outside.txt"), "invalid path '../outside.txt'"),
        (created("link/created.txt"), "affected file 'link/created.txt' is beyond a symbolic link"),
        (changed("file-link"), "the lines of its hunk `@@ -1` are not in file-link"),
    ],
)  # fmt: skip
def test_a_diff_that_cannot_be_applied_is_refused(session: str, text: str, problem: str) -> None:
    outside = write("../outside.txt", "a\n")
    Path("link").symlink_to(outside.parent.resolve())
    Path("file-link").symlink_to(outside.resolve())
    plan(session, text)

    assert report(session) == {"diffs": "fail"}
    assert problem in found(session)


def test_no_filter_of_the_repository_runs(session: str) -> None:
    ran = Path.cwd().parent / "ran"
    git("config", "filter.evil.clean", f"touch {ran}; cat")
    git("config", "filter.evil.required", "true")
    write(".gitattributes", "* filter=evil\n")
    plan(session, OTHER)

    assert report(session) == {}

    assert not ran.exists()


def test_a_submodule_is_not_changed_by_a_diff(session: str) -> None:
    git("init", "-q", "part")
    commit = "Subproject commit " + "1" * 40
    plan(session, changed("part", commit, commit.replace("1", "2")))

    assert report(session) == {"diffs": "fail"}
    assert found(session).endswith("part is a folder")


def test_without_git_on_the_path_the_check_says_so(session: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan(session, OTHER)
    monkeypatch.setenv("PATH", "/nowhere")

    assert report(session) == {"diffs": "error"}
    assert "git could not be started" in found(session)


def test_a_file_that_is_too_large_to_compare_is_not_read(session: str) -> None:
    with open("large.txt", "wb") as file:
        file.truncate(2**40)
    plan(session, changed("large.txt"))

    assert report(session) == {"diffs": "error"}
    assert found(session) == "large.txt has more than 64 MB"
