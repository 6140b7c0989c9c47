"""Every step starts a process, so it loads few modules. Placeholders for modules give way to the real ones."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.sandbox import ENTRY, clean_environment, home_skills, process, put_python, put_skill, told

import flowrail

PACKAGE = Path(flowrail.__file__).parent
MOST_MODULES, MOST_MODULES_OF_A_HOOK = 48, 17
"""Modules with code that `flow step SKILL OUTCOME` and a hook without an answer may load."""
HEAVY = {"asyncio", "ssl", "cattrs", "pydantic", "statemachine", "yaml", "rich", "importlib.metadata"}
DATABASES = {"sqlalchemy", "psycopg", "sqlite3", "dbos"}
PLACEHOLDERS = {"attr.validators", "gettext", "logging", "platform", "tokenize", "urllib.parse"}
NOT_FOR_A_STEP = HEAVY - {"cattrs", "statemachine"} | PLACEHOLDERS | DATABASES | {"statemachine.io"}
FOR_OTHER_STEPS = ("flowrail.evidence", "flowrail.operations.running.evidence", "flowrail.fleet")

RECORDER = """
import atexit, sys

class Recorder:
    names = []

    def find_spec(self, name, path=None, target=None):
        self.names.append(name)

sys.meta_path.insert(0, Recorder())
atexit.register(lambda: sys.stderr.write("loaded: " + " ".join(Recorder.names)))
"""


def python(code: str, *words: str, stdin: str = "") -> str:
    """Run a program in a process of its own and return what it writes to standard error."""
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        env=clean_environment(),
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def loaded(*words: str, code: str = ENTRY, stdin: str = "") -> set[str]:
    """Return every module that a command imports, placeholders included."""
    return set(python(RECORDER + code, *words, stdin=stdin).rpartition("loaded: ")[2].split())


def files(modules: set[str]) -> list[str]:
    """Return those of *modules* that are modules of ours with code."""
    return [name for name in modules if (PACKAGE.parent / f"{name.replace('.', '/')}.py").is_file()]


def test_the_recorder_sees_every_module() -> None:
    everything = HEAVY | PLACEHOLDERS

    assert loaded("step", "decision-critic") >= {"yaml", "cattrs", "statemachine"}
    assert loaded(code=f"import {', '.join(everything)}") >= everything


@pytest.mark.parametrize("words", [["--help"], ["--version"]])
def test_help_loads_no_command_and_nothing_heavy(words: list[str]) -> None:
    modules = loaded(*words)

    assert not HEAVY & modules
    assert not [module for module in modules if module.startswith("flowrail.cli.commands.")]


def test_a_list_of_skills_loads_neither_sessions_nor_the_engine() -> None:
    assert not {"pydantic", "cattrs", "statemachine", "asyncio"} & loaded("list")


@pytest.mark.parametrize("form", ["xml", "json", "text"])
def test_a_step_loads_few_of_our_modules_and_nothing_heavy(form: str) -> None:
    put_skill("small")
    report = told("step", "small")["next"][0]["command"].split()[1:]

    for words in (["step", "small"], report):
        modules = loaded(*words, "--format", form)
        commands = [name for name in modules if name.startswith("flowrail.cli.commands.")]
        assert not NOT_FOR_A_STEP & modules
        assert commands == ["flowrail.cli.commands.run"]
        assert not [name for name in modules if name.startswith(FOR_OTHER_STEPS)]
    if form == "xml":  # what agents read
        assert len(files(modules)) <= MOST_MODULES, sorted(files(modules))


def test_a_step_of_a_bundled_skill_loads_no_heavy_module() -> None:
    step = told("step", "decision-critic", "-p", "decision=x")

    assert not NOT_FOR_A_STEP & loaded(*step["next"][0]["command"].split()[1:])


@pytest.mark.parametrize("words", [["sessions"], ["status"], ["resume"]])
def test_showing_a_session_loads_no_asyncio_and_no_database(words: list[str]) -> None:
    told("step", "decision-critic")

    assert not {"asyncio", "ssl", "importlib.metadata", *DATABASES} & loaded(*words)


@pytest.mark.parametrize("event", ["session-start", "stop", "subagent-stop", "pre-tool-use"])
def test_a_hook_without_an_answer_loads_few_modules(event: str) -> None:
    put_skill("small")
    for conversation in ("another", ""):
        process("start", "small", env={"CLAUDE_CODE_SESSION_ID": conversation})
    event_data = {"session_id": "this", "cwd": str(Path.cwd()), "tool_name": "Edit", "tool_input": {}}
    if event == "session-start":  # it has an answer where sessions are open
        event_data["cwd"] = str(Path.cwd().parent)

    modules = loaded("hook", event, stdin=json.dumps(event_data))

    assert not modules & {*HEAVY, *DATABASES, "click", "pathlib", "subprocess", "dataclasses", "inspect"}
    assert len(files(modules)) <= MOST_MODULES_OF_A_HOOK, sorted(files(modules))


def test_importing_the_package_loads_nothing() -> None:
    modules = loaded(code="import flowrail")

    assert [module for module in modules if module.startswith("flowrail")] == ["flowrail"]
    assert not HEAVY & modules


STEP = """
import sys
at_first = set(sys.modules)  # a tool that watches the process has its own modules there
from flowrail.__main__ import main
sys.argv[1:] = ["step", "small"]
assert main() == 0
"""
NOTHING_MORE = f"""
assert not {PLACEHOLDERS | {"asyncio", "attrs.validators", "concurrent.futures"}} & set(sys.modules) - at_first
import linecache
assert not [name for name in linecache.cache if "cattrs generated" in name], "a function was compiled"
"""
REAL_MODULES = """
import asyncio, attrs, concurrent.futures, gettext, inspect, logging, pathlib, platform, tokenize, types, urllib.parse

for module in (asyncio, gettext, logging, platform, tokenize, urllib.parse):
    assert type(module) is types.ModuleType and module.__file__, module
assert asyncio.run(asyncio.sleep(0, 7)) == 7
with concurrent.futures.ThreadPoolExecutor(1) as pool:
    assert pool.submit(len, "abc").result() == 3
assert platform.python_implementation() == "CPython"
assert pathlib.Path("/a b").as_uri() == "file:///a%20b"
assert inspect.getsource(inspect.getsource).startswith("def getsource")

@attrs.define
class Small:
    size: int = attrs.field(validator=attrs.validators.lt(3))

try:
    Small(3)
except ValueError:
    pass
else:
    raise AssertionError("not validated")
"""
ENGINE = """
import io, logging, time
from statemachine import State, StateChart
from statemachine.invoke import invoke_group

class Light(StateChart):
    red = State(initial=True)
    green = State(final=True)
    go = red.to(green)

    async def on_go(self):
        import asyncio
        await asyncio.sleep(0)
        return "went"

class Loader(StateChart):
    loading = State(initial=True, invoke=invoke_group(lambda: 1, lambda: 2))
    ready = State(final=True)
    done_invoke_loading = loading.to(ready)

    def on_enter_ready(self, data=None, **_):
        self.results = data

log = io.StringIO()
logging.basicConfig(level=logging.DEBUG, stream=log)
assert Light().send("go") == "went"
assert "statemachine" in log.getvalue()
loader, end = Loader(), time.monotonic() + 20
while not loader.is_terminated and time.monotonic() < end:
    time.sleep(0.01)
assert loader.results == [1, 2]
"""


@pytest.mark.parametrize(
    "program",
    [
        STEP + NOTHING_MORE + REAL_MODULES + ENGINE,
        STEP + NOTHING_MORE + ENGINE + REAL_MODULES,
        "import asyncio, gettext, logging, platform, tokenize, attr.validators"
        + STEP
        + REAL_MODULES
        + ENGINE,
        "import statemachine" + STEP + REAL_MODULES + ENGINE,
    ],
    ids=["modules first", "engine first", "modules already imported", "engine already imported"],
)
def test_after_a_step_every_placeholder_is_replaced_by_the_real_module(program: str) -> None:
    put_skill("small")
    told("step", "small")

    python(program)


def test_a_python_skill_may_use_asyncio() -> None:
    body = "return asyncio.run(asyncio.sleep(0, Outcome.OK))"
    put_python("late", f"import asyncio\n{body}", where=home_skills())
    put_python("early", body, where=home_skills(), before="import asyncio\n")

    for name in ("late", "early"):
        assert process("step", name, "--json").data["revision"] == 0
        assert process("step", name, "done", "--json").data["revision"] == 1
