"""Skills as tests of pytest, in projects of their own, run by pytest as a person runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

from support.sandbox import ASKING, SMALL, allow, clean_environment, flow, put_python, put_skill

OWN = """\
def test_of_the_project():
    pass
"""


def installed() -> bool:
    return any(entry.value == "flowrail.testing.pytest_plugin" for entry in entry_points(group="pytest11"))


def run_pytest(*words: str) -> tuple[int, str]:
    """Run pytest in the current project and return its exit status and what it printed."""
    plugin = () if installed() else ("-p", "flowrail.testing.pytest_plugin")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", *plugin, *words],
        env={
            **clean_environment(),
            **{name: os.environ[name] for name in os.environ if name.startswith("COVERAGE_")},
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr


def collected(*words: str) -> list[str]:
    status, out = run_pytest("--co", "-q", *words)
    assert status in {0, 5}, out
    return [line for line in out.splitlines() if "::" in line]


def own_tests() -> None:
    folder = Path.cwd() / "tests"
    folder.mkdir()
    (folder / "test_own.py").write_text(OWN)


def test_without_an_option_nothing_is_collected() -> None:
    put_skill("asking", ASKING)
    own_tests()

    status, out = run_pytest("-q", "--strict-markers", "--strict-config")

    assert (status, "1 passed" in out) == (0, True), out


def test_every_walk_of_the_projects_skills_is_a_test_with_a_name_of_its_own() -> None:
    put_skill("asking", ASKING, texts={"workflows/part.yaml": SMALL.replace("NAME", "NAME/part")})
    put_python("py")
    own_tests()

    ids = collected("--flow")
    status, out = run_pytest("--flow", "-q", "-rs", "--strict-markers")

    assert len(ids) == len(set(ids)) > 10
    skills = ".claude/skills/asking"
    assert {f"{skills}/workflow.yaml::check", f"{skills}/workflows/part.yaml::check"} <= set(ids)
    assert f"{skills}/workflow.yaml::look-entered-3" in ids
    assert ".claude/skills/py/workflow.py::load" in ids
    assert sum(test_id.startswith("tests/") for test_id in ids) == 1
    assert status == 1, out
    assert f"1 failed, {len(ids) - 1} passed" in out
    assert "flow trust py" in out


def test_one_test_runs_by_its_id_and_the_configuration_names_skills() -> None:
    put_skill("asking", ASKING)
    put_skill("small", where=Path.cwd() / "more")
    (Path.cwd() / "pytest.ini").write_text("[pytest]\nflow_skills =\n    more\n    problem-analysis\n")
    own_tests()

    ids = collected()

    assert any(test_id.startswith("more/small/workflow.yaml::") for test_id in ids)
    assert "problem-analysis::check" in ids
    assert not any("skills/asking" in test_id for test_id in ids)
    assert len(collected("tests")) == 1
    mine = ".claude/skills/asking/workflow.yaml::look-entered-3"
    assert collected(mine) == [mine]


def test_problems_are_shown_without_our_own_stack() -> None:
    put_skill("wrong", SMALL.replace("ok: second", "ok: secund"))
    put_python("py", 'if ctx.visit > 0:\n    raise LookupError("lost")\nreturn Outcome.OK')
    allow("py")

    status, out = run_pytest("--flow", "-q")

    assert status == 1
    assert "workflow.yaml:4: error FR102" in out
    assert "at step first: " in out
    assert "flow test .claude/skills/py/workflow.py --walk " in out
    assert "flowrail/testing" not in out


def test_a_convention_of_the_project_is_found_by_check_doctor_and_pytest() -> None:
    folder = Path(".claude/conventions")
    folder.mkdir(parents=True)
    (folder / "house.md").write_text("Write short sentences.\n")
    text = "Do it.\n\n```flow:resource\nhouse\n```\n"
    put_skill("quoting", SMALL.replace("[Do the first thing.]", json.dumps([text])))

    status, out = run_pytest("--flow", "-q")

    assert flow("check", "quoting").status == 0
    assert "FR127" not in flow("doctor").out
    assert (status, "failed" in out) == (0, False), out
    assert "Write short sentences." in flow("step", "quoting").out


def test_the_documents_scripts_are_found_by_path_as_by_name() -> None:
    folder = put_python("py")
    (folder / "scripts").mkdir()
    (folder / "workflow.py").rename(folder / "scripts/py.py")
    allow("py")

    assert run_pytest("--flow", "-q")[0] == 0
    for target in ("py", ".claude/skills/py", ".claude/skills/py/scripts/py.py"):
        assert flow("check", target).status == 0, target
        assert flow("test", target).status == 0, target


def test_a_free_text_without_an_example_fails_instead_of_being_guessed() -> None:
    put_skill("free", SMALL.replace("steps:", "params: {topic: {type: string}}\nsteps:"))

    ran = flow("test", "free")
    status, out = run_pytest("--flow", "-q")

    assert (ran.status, status) == (1, 1)
    assert "`topic` has no choices, bounds, default or example" in ran.out
    assert "`topic` has no choices, bounds, default or example" in out
