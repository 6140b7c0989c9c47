"""Evidence when a session is resumed, rewound, migrated and accepted, and when sub-agents do the work."""

from __future__ import annotations

import os
from pathlib import Path

from support.evidence import begin, demand, git, report, repository, write
from support.sandbox import put_skill, refused, told

PLAN = {"id": "plan", "file": "plan.md", "changed": True}


def test_a_rewind_takes_a_new_baseline() -> None:
    demand(PLAN)
    write("plan.md", "old")
    session = begin()
    write("plan.md", "new")
    assert report(session) == {}

    told("session", "rewind", session, "--to", "0")

    assert report(session) == {"plan": "fail"}
    write("plan.md", "newer")
    assert report(session) == {}


CHILDREN = """\
name: NAME
steps:
  - id: look
    title: Look
    actions: [Have it looked at.]
    dispatch: {agent: explore, workflow: NAME/part}
    next: {ok: null}
"""
PART = """\
name: NAME/part
steps:
  - id: write
    title: Write
    actions: [Write it.]
    evidence: {ok: [{id: source, file: src/a.py, changed: true}]}
    next: {ok: null}
"""


def test_a_child_in_a_worktree_of_the_project_is_checked_where_it_works() -> None:
    repository()
    put_skill("team", CHILDREN, texts={"workflows/part.yaml": PART})
    session = told("step", "team", "--new")["session"]
    project, worktree = Path.cwd(), Path.cwd().parent / "worktree"
    git("worktree", "add", "-q", str(worktree))
    store = ["--store", str(project / ".flow")]
    os.chdir(worktree)
    child = told("step", "--session", session + ".0.1", *store)["session"]
    step = ["step", "team/part", "ok", "--session", child, *store]

    (project / "src/a.py").write_text("changed in the project\n")
    status, error = refused(*step)
    (worktree / "src/a.py").write_text("changed in the worktree\n")
    done = told(*step)

    assert (status, error["code"]) == (4, "EVIDENCE_MISSING")
    assert done["status"] == "completed"
