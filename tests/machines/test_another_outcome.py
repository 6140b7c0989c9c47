"""An outcome that is only an entry in `OUTCOMES`: checks, limits, guidance and drawings work for it."""

from __future__ import annotations

from pathlib import Path

from support.sandbox import process, put_skill

ADDED = """
import importlib.util, sys
found = importlib.util.find_spec("flowrail.outcome")
source = open(found.origin).read()
for old, new in (
    ('    ITERATE = "iterate"', '    ITERATE = "iterate"; RETRY = "retry"'),
    ('    Outcome.OK: ', '    Outcome.RETRY: OutcomeMeaning("warning", at_limit="ok"), Outcome.OK: '),
    ('Literal["ok", ', 'Literal["retry", "ok", '),
):
    assert old in source, old
    source = source.replace(old, new)
module = importlib.util.module_from_spec(found)
sys.modules["flowrail.outcome"] = module
exec(source, vars(module))
"""
RETRYING = """\
name: NAME
description: Tries again. For trying things.
steps:
  - {id: first, title: First, limit: 2, actions: [Try it.], next: {retry: first, ok: second}}
  - {id: second, title: Second, actions: [Say it.], next: {ok: null}}
"""


def run(*words: str) -> str:
    """Run a command of a flowrail that has the outcome, and return its output."""
    ran = process(*words, before=ADDED)
    assert ran.status == 0, ran
    return ran.out


def test_at_its_limit_it_continues_as_after_ok() -> None:
    put_skill("small", RETRYING)

    run("check", "small")
    run("step", "small", "--new")

    assert '<step_header id="first"' in run("step", "small", "retry")
    assert "Step `first` ended in `retry`, but has no attempts left." in run("step", "small", "retry")


def test_it_is_drawn_in_its_colour() -> None:
    put_skill("small", RETRYING)

    run("diagram", "small", "-o", "small.svg")

    drawn = Path("small.svg").read_text()
    assert ".tip.retry" in drawn
    assert 'class="line retry"' in drawn


def test_a_limit_without_an_ok_to_take_is_found() -> None:
    put_skill("small", RETRYING.replace("ok: second", "fail: second"))

    ran = process("check", "small", before=ADDED)

    assert ran.status == 1
    assert "error FR117: step `first` has no `ok` transition" in ran.out
