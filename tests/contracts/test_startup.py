"""Every step starts a process, so it loads few modules. Placeholders for modules give way to the real ones."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.sandbox import ENTRY, SMALL, clean_environment, home_skills, process, put_python, put_skill, told

import flowrail

PACKAGE = Path(flowrail.__file__).parent
MOST_MODULES = 48
"""Modules with code that `flow step SKILL OUTCOME` may load."""
HEAVY = {"asyncio", "ssl", "cattrs", "pydantic", "statemachine", "yaml", "rich", "importlib.metadata"}
DATABASES = {"sqlalchemy", "psycopg", "sqlite3", "dbos"}
PLACEHOLDERS = {"attr.validators", "gettext", "logging", "platform", "tokenize", "urllib.parse"}
NOT_FOR_A_STEP = HEAVY - {"cattrs", "statemachine"} | PLACEHOLDERS | DATABASES
FOR_EVIDENCE = ("flowrail.evidence", "flowrail.operations.running.evidence")
"""Only a step that demands evidence needs these."""

RECORDER = """
import sys

class Recorder:
    names = []

    def find_spec(self, name, path=None, target=None):
        self.names.append(name)

sys.meta_path.insert(0, Recorder())
import atexit
atexit.register(lambda: sys.stderr.write("loaded: " + " ".join(Recorder.names)))
"""


def loaded(*words: str, code: str = ENTRY, stdin: str = "") -> set[str]:
    """Return every module that a command imports, placeholders included."""
    done = subprocess.run(
        [sys.executable, "-c", RECORDER + code, *words],
        env=clean_environment(),
        input=stdin,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stderr.rpartition("loaded: ")[2].split())


def test_the_recorder_sees_every_module() -> None:
    assert loaded("step", "decision-critic") >= {"yaml", "cattrs", "statemachine"}
    everything = HEAVY | PLACEHOLDERS
    assert loaded(code=f"import {', '.join(everything)}") >= everything


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["-h"]])
def test_help_loads_nothing_heavy(words: list[str]) -> None:
    assert not HEAVY & loaded(*words)


def test_help_loads_no_command() -> None:
    assert not [module for module in loaded("--help") if module.startswith("flowrail.cli.commands.")]


def test_a_list_of_skills_loads_neither_sessions_nor_the_engine() -> None:
    assert not {"pydantic", "cattrs", "statemachine", "asyncio"} & loaded("list")


def test_agents_commands_on_files_load_no_database_and_no_fleet() -> None:
    put_skill("small")
    here = told("step", "small")

    for words in (["resume", here["session"]], here["next"][0]["command"].split()[1:]):
        packages = {module.partition(".")[0] for module in loaded(*words)}
        assert not {"dbos", "sqlalchemy", "psycopg"} & packages
        assert not any(module.startswith("flowrail.fleet") for module in loaded(*words))


@pytest.mark.parametrize("form", ["xml", "json", "text"])
def test_a_step_loads_no_heavy_module(form: str) -> None:
    put_skill("small")
    here = told("step", "small")

    for words in (["step", "small"], here["next"][0]["command"].split()[1:]):
        modules = loaded(*words, "--format", form)
        assert not NOT_FOR_A_STEP & modules
        commands = {each for each in modules if each.startswith("flowrail.cli.commands.")}
        assert commands == {"flowrail.cli.commands.run"}
        assert "statemachine.io" not in modules
        assert not [each for each in modules if each.startswith(FOR_EVIDENCE)]


def test_a_report_loads_few_of_our_modules() -> None:
    put_skill("small")
    first = told("step", "small")

    modules = loaded(*first["next"][0]["command"].split()[1:], "--format", "xml")

    files = {name for name in modules if (PACKAGE.parent / f"{name.replace('.', '/')}.py").is_file()}
    assert len(files) <= MOST_MODULES, sorted(files)


def test_a_step_of_a_bundled_skill_loads_no_heavy_module() -> None:
    here = told("step", "decision-critic", "-p", "decision=x")

    assert not NOT_FOR_A_STEP & loaded(*here["next"][0]["command"].split()[1:])


@pytest.mark.parametrize("words", [["sessions"], ["status"], ["resume"], ["step", "--help"]])
def test_showing_a_session_loads_no_asyncio(words: list[str]) -> None:
    told("step", "decision-critic")

    assert not {"asyncio", "ssl", "importlib.metadata"} & loaded(*words)


@pytest.mark.parametrize("event", ["session-start", "stop", "subagent-stop", "pre-tool-use"])
def test_a_hook_without_an_answer_loads_few_modules(event: str) -> None:
    put_skill("small", SMALL)
    for conversation in ("another", ""):
        process("start", "small", env={"CLAUDE_CODE_SESSION_ID": conversation})
    said = {"session_id": "this", "cwd": str(Path.cwd()), "tool_name": "Edit", "tool_input": {}}
    if event == "session-start":  # where sessions are open, there is something to say
        said["cwd"] = str(Path.cwd().parent)

    modules = loaded("hook", event, stdin=json.dumps(said))

    assert not modules & {*HEAVY, *DATABASES, "click", "pathlib", "subprocess", "dataclasses", "inspect"}
    assert {each for each in modules if each.startswith("flowrail")} == {
        "flowrail",
        "flowrail.__main__",
        "flowrail.storage.files",
        "flowrail.cli",
        "flowrail.command",
        "flowrail.cli.hook_entry",
        "flowrail.cli.lazy_imports",
        "flowrail.discovery",
        "flowrail.discovery.locations",
        "flowrail.errors",
        "flowrail.hooks",
        "flowrail.hosts",
        "flowrail.hooks.fast_lookup",
        "flowrail.hooks.subagents",
        "flowrail.hosts.conversation",
        "flowrail.hooks.answer",
        "flowrail.hooks.environment",
        "flowrail.hosts.protocol",
        "flowrail.machines",
        "flowrail.machines.definition",
        "flowrail.machines.definition.tool_rules",
        "flowrail.storage",
        "flowrail.storage.ownership",
        "flowrail.text",
        "flowrail.text.limits",
    }


NOT_LOADED = """
import sys
assert "asyncio" not in sys.modules
assert "concurrent" not in sys.modules
assert "concurrent.futures" not in sys.modules
"""

REAL = """
import asyncio, concurrent, concurrent.futures
assert asyncio.__file__.endswith("__init__.py") and type(asyncio).__name__ == "module"
assert asyncio.run(asyncio.sleep(0, 7)) == 7
with concurrent.futures.ThreadPoolExecutor(1) as pool:
    assert pool.submit(len, "abc").result() == 3
"""

ASYNC_CALLBACKS = """
import statemachine

class Light(statemachine.StateChart):
    red = statemachine.State(initial=True)
    green = statemachine.State(final=True)
    go = red.to(green)

    async def on_go(self):
        import asyncio
        await asyncio.sleep(0)
        return "went"

    async def on_enter_green(self):
        self.entered = True

light = Light()
assert light.send("go") == "went"
assert light.entered
"""

WORK_IN_THREADS = """
import time
from statemachine import State, StateChart
from statemachine.invoke import invoke_group

class Loader(StateChart):
    loading = State(initial=True, invoke=invoke_group(lambda: 1, lambda: 2))
    ready = State(final=True)
    done_invoke_loading = loading.to(ready)

    def on_enter_ready(self, data=None, **_):
        self.results = data

loader = Loader()
end = time.monotonic() + 20
while not loader.is_terminated and time.monotonic() < end:
    time.sleep(0.01)
assert loader.results == [1, 2]
"""

IN_A_LOOP = """
import asyncio

async def drive():
    light = Light()
    await light.activate_initial_state()
    return await light.send("go")

assert asyncio.run(drive()) == "went"
"""


NOTHING_ELSE = f"""
assert not {PLACEHOLDERS | {"attrs.validators"}} & set(sys.modules) - at_first
"""

THE_REAL_OTHERS = """
import gettext, inspect, logging, pathlib, platform, tokenize, types, urllib.parse
import attr, attrs, click

for module in (gettext, logging, platform, tokenize, urllib.parse):
    assert type(module) is types.ModuleType and module.__file__, module
assert platform.python_implementation() == "CPython" and platform.machine()
assert pathlib.Path("/a b").as_uri() == "file:///a%20b"
assert inspect.getsource(inspect.getsource).startswith("def getsource")

@attrs.define
class Small:
    size: int = attrs.field(validator=attrs.validators.lt(3))
    other: int = attr.ib(default=1, validator=attr.validators.instance_of(int))

assert Small(2) == Small(2)
for wrong in (lambda: Small(3), lambda: Small(1, "2")):
    try:
        wrong()
    except (ValueError, TypeError):
        pass
    else:
        raise AssertionError("not validated")
from attrs.validators import in_
from attr.validators import matches_re
"""

LOGGED = """
import io, logging
import statemachine

heard = io.StringIO()
class Light(statemachine.StateChart):
    red = statemachine.State(initial=True)
    green = statemachine.State(final=True)
    go = red.to(green)

Light().send("go")
logging.basicConfig(level=logging.DEBUG, stream=heard)
Light().send("go")
assert "statemachine" in heard.getvalue(), heard.getvalue()
"""

STEP = """
import sys
at_first = set(sys.modules)  # a tool that watches the process has its own modules there
from flowrail.__main__ import main
sys.argv[1:] = ["step", "small"]
assert main() == 0
"""


def run(*parts: str) -> None:
    """Run some Python in a process of its own, in a project with a session of a skill."""
    put_skill("small")
    told("step", "small")
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(parts)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr


def test_after_a_step_asyncio_is_the_real_one() -> None:
    run(STEP, NOT_LOADED, REAL)


def test_after_a_step_every_placeholder_is_replaced_by_the_real_module() -> None:
    run(STEP, NOTHING_ELSE, THE_REAL_OTHERS)


def test_after_a_step_the_engine_logs_if_logging_is_configured() -> None:
    run(STEP, NOTHING_ELSE, LOGGED)


def test_a_step_compiles_no_function_to_read_a_session() -> None:
    run(STEP, "import linecache\nassert not [name for name in linecache.cache if 'cattrs generated' in name]")


def test_a_module_that_is_already_imported_gets_no_placeholder() -> None:
    run("import gettext, logging, platform, tokenize, attr.validators", STEP, THE_REAL_OTHERS, LOGGED)


def test_after_a_step_the_engine_takes_async_callbacks() -> None:
    run(STEP, NOT_LOADED, ASYNC_CALLBACKS, IN_A_LOOP)


def test_after_a_step_the_engine_works_in_threads() -> None:
    run(STEP, NOT_LOADED, WORK_IN_THREADS, REAL)


def test_the_engine_imports_asyncio_when_it_needs_it() -> None:
    run(STEP, NOT_LOADED, ASYNC_CALLBACKS, REAL)


def test_asyncio_gets_no_placeholder_if_it_is_already_imported() -> None:
    run("import asyncio\nbefore = asyncio", STEP, "import asyncio\nassert asyncio is before", ASYNC_CALLBACKS)


def test_an_engine_that_is_already_imported_is_left_alone() -> None:
    run("import statemachine", STEP, REAL, ASYNC_CALLBACKS)


def test_a_python_skill_may_use_asyncio() -> None:
    put_python("py", "import asyncio\nreturn asyncio.run(asyncio.sleep(0, Outcome.OK))", where=home_skills())
    put_python(
        "early",
        "return asyncio.run(asyncio.sleep(0, Outcome.OK))",
        where=home_skills(),
        before="import asyncio\nfrom concurrent.futures import ThreadPoolExecutor\n",
    )

    for name in ("py", "early"):
        assert process("step", name, "--json").data["revision"] == 0
        assert process("step", name, "done", "--json").data["revision"] == 1


def test_importing_the_package_loads_nothing() -> None:
    modules = loaded(code="import flowrail")

    assert [module for module in modules if module.startswith("flowrail")] == ["flowrail"]
    assert not HEAVY & modules
