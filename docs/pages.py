"""Generate the parts of the reference pages that come from the code, and the Claude Code plugin of this repository.

Write: python docs/pages.py     Check only: python docs/pages.py --check
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass
from enum import Enum
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args, get_type_hints

import click
import plugin
from cattrs.cols import is_namedtuple

import flowrail
import flowrail.formatters
from flowrail.cli.main import LazyGroup
from flowrail.command_table import COMMANDS
from flowrail.diagrams.extract import picture
from flowrail.diagrams.renderers import markdown, mermaid
from flowrail.discovery.compatibility import VERSIONS, compatibility
from flowrail.discovery.declaration import SOURCES, Beside, FoundSkill, Meta
from flowrail.discovery.locations import Root, Scope, bundled_folder
from flowrail.discovery.scan import scan
from flowrail.discovery.scores import CATEGORIES
from flowrail.error_codes import CODES
from flowrail.machines.finding_codes import FINDING_CODES
from flowrail.machines.step import StepDef
from flowrail.machines.workflow import Workflow
from flowrail.operations.operation import Operation
from flowrail.operations.skills.list import all_skills
from flowrail.skills.loader import Loader

HERE = Path(__file__).parent
ROOT = HERE.parent
GOLDEN = ROOT / "tests" / "golden"
BENCHMARK = ROOT / "benchmarks" / "adherence"

EXIT_STATUSES = {
    0: ("success", "continue"),
    1: ("failure: problems were found, or a Python function of the workflow failed", "read the output"),
    2: ("usage error: an unknown name, an invalid value, an unreadable file", "fix the command"),
    3: ("the disk or the store failed", "make room, then run the command again"),
    4: ("the command does not match the current state", "look at the state: `flow sessions ID`"),
    5: ("the workflow changed during the session", "ask the user, then run `flow session migrate ID`"),
    6: ("a handoff was refused", "read the reasons"),
    7: ("the code is not approved", "ask a person to run `flow trust`"),
}
"""What each exit status means, and what to do."""


def out(*lines: str) -> None:
    """Print *lines* for cog."""
    print("\n".join(lines))


def cell(text: object) -> str:
    """Return *text* as the content of one cell of a table."""
    return " ".join(str(text).replace("|", "\\|").split())


def table(*head: str, rows: Iterator[tuple[object, ...]] | list[tuple[object, ...]]) -> None:
    """Write a table."""
    out(f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}")
    out(*(f"| {' | '.join(map(cell, row))} |" for row in rows))


# --- commands


_SHARED = ("--format", "--json", "--color", "--store", "--root")
"""Options that are described once, because they mean the same in every command that has them."""


def commands() -> None:
    """Write the shared options, and a section for every command, in the order of the help."""
    sections = dict.fromkeys(entry.section for entry in COMMANDS.values())
    group = LazyGroup("flow", table=COMMANDS)
    context = click.Context(group, info_name="flow", help_option_names=["-h", "--help"])
    step = group.get_command(context, "step")
    assert step is not None
    table("Option", "Meaning", rows=list(_option_rows(step, context, shared=True)))
    out("")
    for section in sections:
        out(f"## {section}", "")
        for name, entry in COMMANDS.items():
            if entry.section == section:
                found = group.get_command(context, name)
                assert found is not None
                _command(found, context, name)


def _command(command: click.Command, parent: click.Context, name: str, level: int = 3) -> None:
    context = click.Context(command, info_name=name, parent=parent)
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)[1:]])
    first, *others = inspect.cleandoc(command.help or "").replace("\b\n", "").split("\n\n")
    out(f"{'#' * level} {context.command_path}", "", f"`{usage}`: {_prose(first)}", *map(_prose, others))
    options = [f"- {name}: {cell(meaning)}" for name, meaning in _option_rows(command, context, shared=False)]
    if options:
        out(*options, "")
    if command.epilog:
        lines = [line.strip() for line in command.epilog.splitlines() if line.startswith("  ")]
        out(*([f"For example: `{lines[0]}`", ""] if len(lines) == 1 else ["```shell", *lines, "```", ""]))
    if isinstance(command, click.Group):
        for sub in command.list_commands(context):
            found = command.get_command(context, sub)
            assert found is not None
            _command(found, context, sub, level + 1)


def _option_rows(
    command: click.Command, context: click.Context, *, shared: bool
) -> Iterator[tuple[object, ...]]:
    for option in command.params:
        if not isinstance(option, click.Option) or option.hidden or "--help" in option.opts:
            continue
        record = option.get_help_record(context)
        if record is not None and shared == bool({*option.opts} & {*_SHARED}):
            yield f"`{record[0]}`", record[1].replace("<", "&lt;")


def _prose(paragraph: str) -> str:
    if paragraph.startswith("  "):
        return f"```text\n{paragraph}\n```\n"
    return f"{' '.join(paragraph.replace('<', '&lt;').split())}\n"


# --- discovery


def dialects() -> None:
    """Write the key of each field of a candidate in both dialects."""
    table("Field", "Dialect v3", "Dialect v2", rows=list(_dialect_rows()))


def _dialect_rows() -> Iterator[tuple[object, ...]]:
    beside, newer = (
        set(Beside.__dataclass_fields__),
        {"accepts_from", "provides_to", "schema_version"},
    )
    for name, keys in SOURCES.items():
        new = [key for key in keys if key in {*beside, *newer, "schema_type", "name", "description"}]
        old = [key for key in keys if key not in new]
        shown = [
            f"`meta.{key}`"
            if key in Meta.__dataclass_fields__
            else f"`{key}`"
            if key not in {*newer, "schema_type"}
            else f"`handoff.{key}`"
            for key in new
        ]
        yield name, ", ".join(shown), ", ".join(f"`handoff.{key}`" for key in old)


def problem_types() -> None:
    """Write the categories that suit each problem type."""
    rows: list[tuple[object, ...]] = [(kind, ", ".join(fitting)) for kind, fitting in CATEGORIES.items()]
    table("Problem type", "Suitable categories", rows=rows)


def versions() -> None:
    """Write the matrix of versions."""
    pairs = [(sent, read) for sent in VERSIONS for read in VERSIONS if sent != read]
    found = [(sent, read, compatibility(sent, read)) for sent, read in pairs]
    rows: list[tuple[object, ...]] = [
        (sent, read, fit.verdict.value, fit.reason) for sent, read, fit in found if "no way" not in fit.reason
    ]
    table("From", "To", "Possible", "How", rows=rows)
    out("", "The same version is always possible; pairs that are not listed are not.")


# --- bundled skills


def skills_table() -> None:
    """Write the bundled skills, with links to their SKILL.md."""
    rows = [
        (
            f"[{item.name}](flowrail/bundled/{item.name}/SKILL.md)",
            item.total_steps,
            f"{len(item.workflows)} more" if item.workflows else "",
            markdown.cell(item.description),
        )
        for item in all_skills(Loader())
    ]
    table("Skill", "Steps", "Other workflows", "Description", rows=rows)


def diagram(address: str) -> None:
    """Write the diagram of a bundled workflow."""
    out("```mermaid", mermaid.render(picture(Loader().load(address).definition)), "```")


def skills() -> None:
    """Write a section for each bundled skill: what it is for and not for, parameters, what is checked, and a run."""
    bundled = Path(bundled_folder())
    shown = transcripts()
    declared = {
        found.skill: found.declaration.values
        for found in scan([Root(str(bundled), Scope.GLOBAL, "home")])
        if isinstance(found, FoundSkill)
    }
    for item in all_skills(Loader()):
        name, handoff = item.name, declared[item.name]
        front, _, card = (bundled / name / "SKILL.md").read_text(encoding="utf-8").partition("\n---\n")
        purpose = card.partition(f"# {name}\n\n")[2].partition("\n\n## ")[0].replace("\n", " ")
        not_for = re.search(r"Not for [^.]*\.", front)
        assert not_for, name
        if not_for[0] not in purpose:
            purpose = f"{purpose} {not_for[0]}"
        result = card.partition("## Result\n\n")[2].partition("\n\n## ")[0].replace("\n", " ")
        workflow = Loader().load(name).definition
        out(f"## {name}", "", purpose, "", f"![The steps of {name}](pictures/{name}.svg)", "")
        if "|" not in result:
            out(f"Result: {result}", "")
        if "categories" in handoff:
            out(f"Other skills can hand work over to it, as work of {', '.join(handoff['categories'])}.", "")
        if "provides_to" in handoff:
            out("Hands its result to a skill that the user chooses.", "")
        _parameters_and_checks(workflow)
        if name in PRICES:
            out(PRICES[name], "")
        recorded = HERE / "runs" / f"{name}.txt"
        is_recorded = recorded.exists()
        out("A coding agent's run, recorded:" if is_recorded else "A scripted agent's run:", "")
        out(
            "```text",
            recorded.read_text(encoding="utf-8").rstrip() if is_recorded else shown[name],
            "```",
            "",
        )
        for address in item.workflows:
            workflow = Loader().load(address).definition
            steps = " → ".join(
                f"{step.title}{f' (if {step.when})' if step.when else ''}" for step in workflow.steps
            )
            out(f"### {address}", "", f"{workflow.description} Steps: {steps}", "")
            _parameters_and_checks(workflow)


PRICES = {
    "planner": "Price of a small change (at most 6 files and 200 lines): commands print 83 kB if no review finds "
    "anything, and 138 kB if the plan and its code are each sent back once, even for a COULD. Earlier, a COULD sent "
    "nothing back and reviews were shown the earlier findings: a run with a COULD in both printed 98 kB, so it now "
    'costs 1.4 times as much. With `-p policy="none / 1-4 / 5+"` a COULD sends nothing back, and the run prints 84 kB. '
    "`tests/bundled/test_planner_bytes.py` counts these bytes.",
}
"""What a run of an expensive skill prints."""


def transcripts() -> dict[str, str]:
    """Return a run of each bundled skill, made in a process with a clean environment."""
    with tempfile.TemporaryDirectory() as home:
        environment = {"PATH": os.environ["PATH"], "HOME": home, "PYTHONPATH": str(ROOT / "tests")}
        command = [sys.executable, str(HERE / "transcripts.py")]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    made: dict[str, str] = json.loads(done.stdout)
    return made


def _parameters_and_checks(workflow: Workflow) -> None:
    for name, arg in workflow.params.items():
        default = f"default `{arg.default}`" if arg.default not in {None, ""} else ""
        choices = ", ".join(f"`{choice}`" for choice in (arg.choices or ())[:8])
        allowed = "; ".join(filter(None, [arg.kind, choices, "required" if arg.required else default]))
        out(f"- `-p {name}` ({allowed}): {markdown.cell(arg.description)}")
    if workflow.params:
        out("")
    checked: dict[str, list[str]] = {}
    for step in workflow.steps:
        for kind in _kinds_of_checks(step):
            checked.setdefault(kind, []).append(f"`{step.id}`")
    texts = [f"{kind}: {', '.join(ids)}" for kind in CHECKED if (ids := checked.get(kind))]
    out(f"Checked by {'. By '.join(texts)}." if texts else "Nothing is checked.", "")


CHECKED = (
    "lines that are cited and quoted",
    "a command that passed",
    "a recorded review",
    "an answer of the user",
    "form only, because the content is not checkable",
    "nothing",
)
"""How a step can be checked, the strongest first."""


def _kinds_of_checks(step: StepDef) -> list[str]:
    """Return how *step* is checked, over all its outcomes. An outcome without a strong check makes it form only."""
    kinds = set()
    for checks in step.evidence.values():
        strong = {
            *([CHECKED[0]] if any(check.citations for check in checks) else []),
            *([CHECKED[1]] if any(check.kind == "command" for check in checks) else []),
            *([CHECKED[2]] if any(check.kind == "review" for check in checks) else []),
        }
        kinds |= strong or {CHECKED[4]}
    if step.questions:
        kinds.add(CHECKED[3])
    return [kind for kind in CHECKED if kind in kinds] or ([CHECKED[2]] if step.gate else [CHECKED[5]])


# --- findings and errors


def findings() -> None:
    """Write every code of `flow check`."""
    table(
        "Code",
        "When",
        "What to do",
        rows=[(code, row.when, row.do) for code, row in sorted(FINDING_CODES.items())],
    )


def errors() -> None:
    """Write every code, by exit status."""
    for status in sorted({row.exit_status for row in CODES.values()}):
        out(f"## Exit status {status}", "")
        rows = [
            (f"`{code}`", row.when, row.do)
            for code, row in sorted(CODES.items())
            if row.exit_status == status
        ]
        table("Code", "When", "What to do", rows=rows)
        out("")


def exit_statuses() -> None:
    """Write what each exit status means."""
    rows: list[tuple[object, ...]] = [(status, *about) for status, about in EXIT_STATUSES.items()]
    table("Status", "Meaning", "What to do", rows=rows)


# --- JSON


def json_answers() -> None:
    """Write the fields of every command's answer, from the classes of the results, and of the parts in them."""
    operations = [known for _, known in sorted({found.name: found for found in _operations()}.items())]
    table(
        "Command",
        "Answer",
        rows=[(f"`flow {found.name}`", f"`{_type(found.result_type)}`") for found in operations],
    )
    out("")
    waiting = [part for found in operations for part in _classes_in(found.result_type)]
    known: list[type[Any]] = []
    for kind in waiting:  # grows while it is read
        if kind not in known:
            known.append(kind)
            waiting += [part for hint in get_type_hints(kind).values() for part in _classes_in(hint)]
    rows: list[tuple[object, ...]] = []
    for kind in sorted(known, key=lambda kind: kind.__name__):
        documented: dict[str, str] = {}
        for parent in filter(_is_part, reversed(kind.__mro__)):
            documented |= _fields_documented(parent)
        own_fields = dataclass_fields(kind) if is_dataclass(kind) else ()
        internal = {each.name for each in own_fields if "internal" in each.metadata}
        keys = [
            f"`{name}` {_type(hint)}{': ' if name in documented else ''}{documented.get(name, '')}"
            for name, hint in get_type_hints(kind).items()
            if name not in internal
        ]
        about = inspect.cleandoc(kind.__doc__ or "").partition("\n")[0]
        rows.append((f"**{kind.__name__}**: {about}", "<br>".join(keys)))
    table("Answer, or a part of one", "Keys", rows=rows)


def _operations() -> Iterator[Operation[..., object]]:
    """Yield every operation that a command of the table runs."""
    entries = [*COMMANDS.values()]
    for entry in entries:  # grows while it is read
        entries += entry.commands.values()
        if entry.module and not entry.module.startswith("cli."):
            found = vars(import_module(f"flowrail.{entry.module}")).values()
            yield from {
                op.name: op for op in found if isinstance(op, Operation) and any(_classes_in(op.result_type))
            }.values()


def _classes_in(hint: Any) -> Iterator[type[Any]]:
    """Yield the dataclasses and named tuples in a type."""
    if _is_part(hint):
        yield hint
    for part in get_args(hint):
        yield from _classes_in(part)


def _is_part(kind: Any) -> bool:
    return is_dataclass(kind) or is_namedtuple(kind)


# --- workflow.yaml


def workflow_yaml() -> None:
    """Write the keys of a workflow's file, part by part, from its JSON Schema."""
    from flowrail.machines.reader import json_schema

    schema = json_schema()
    _part("The file", schema)
    for name, part in schema["$defs"].items():
        if "properties" in part:
            _part(_section(name), part)


def _part(title: str, part: Mapping[str, Any]) -> None:
    out(f"## {title}", "", part.get("description", "").replace("\n", " "), "")
    needed = set(part.get("required", ()))
    table(
        "Key",
        "Value",
        "Meaning",
        rows=[
            (
                f"`{key}`" + (" (required)" if key in needed else ""),
                _kind(value),
                value.get("description", ""),
            )
            for key, value in part["properties"].items()
        ],
    )
    out("")


def _section(name: str) -> str:
    """Return the title of the section about a definition class."""
    return {
        "Arg": "Parameter or fact",
        "Evidence": "Check of evidence",
        "StepCommand": "Command",
        "CommandFact": "Fact of a command",
        "GateConfig": "Gate",
        "StepDef": "Step",
    }.get(name, name)


def _kind(value: Mapping[str, Any]) -> str:
    if "$ref" in value:
        title = _section(str(value["$ref"]).rpartition("/")[2])
        return f"[{title.lower()}](#{title.lower().replace(' ', '-')})"
    if "enum" in value:
        return ", ".join(f"`{each}`" for each in value["enum"])
    if "const" in value:
        return f"`{value['const']}`"
    if "anyOf" in value:
        kinds = dict.fromkeys(_kind(each) for each in value["anyOf"] if each.get("type") != "null")
        return " or ".join(kinds)
    kind = value.get("type", "any value")
    if isinstance(kind, list) and {"string", "number", "boolean"} <= set(kind):
        return "scalar"
    if isinstance(kind, list):
        return " or ".join(_kind({**value, "type": each}) for each in kind if each != "null")
    if kind == "array":
        return f"list of {_kind(value.get('items', {}))}"
    if kind == "object":
        inner = value.get("additionalProperties")
        return f"mapping to {_kind(inner)}" if isinstance(inner, dict) else "mapping"
    return {"string": "text", "integer": "whole number", "boolean": "true or false"}.get(kind, str(kind))


# --- fault injection


def adherence(module: str, name: str) -> None:
    """Write a table of a module of `benchmarks/adherence` from its recorded runs."""
    benchmark = import_module(module)
    head, *rows = getattr(benchmark, name)(benchmark.load())
    if rows:
        table(*head, rows=rows)
    else:
        out("No runs have been recorded yet.")


def trial(name: str) -> None:
    """Write a table of the trial with real agents from its stored runs: `runs` or `comparison`."""
    script = ROOT / "benchmarks" / "trial" / "grade.py"
    done = subprocess.run([sys.executable, str(script), name], capture_output=True, text=True, check=True)
    out(done.stdout.rstrip())


# --- databases


def databases(part: str) -> None:
    """Write a part of the page "Growing" from the results of `benchmarks/databases.py`."""
    results = json.loads((ROOT / "benchmarks" / "databases.json").read_text("utf-8"))
    parts = {"machine": _machine, "stores": _stores, "step": _step, "processes": _processes, "disk": _disk}
    parts[part](results)


def _machine(results: Mapping[str, Any]) -> None:
    machine = results["machine"]
    out(
        f"Measured with `python benchmarks/databases.py` on {machine['system']} with {machine['cores']} cores,"
        f" PostgreSQL {machine['postgresql'].split()[0]} on the same machine, and a load average of"
        f" {machine['load']} at the start.",
        f"A record was {results['record']} bytes long, as after a few steps of a bundled skill; a session had 100 records.",
    )


def _stores(results: Mapping[str, Any]) -> None:
    stores, many = list(results["stores"].values()), results["records"]
    sizes = results["session"]
    (few, _), *_, (most, slow) = sizes.items()
    disk = [f"{store['bytes'] / 1e9:.1f} GB" for store in stores]
    rows: list[tuple[object, ...]] = [
        (f"{many:,} records on disk", f"{disk[0]} in {many // 100:,} folders", *disk[1:]),
        ("a step in a new store", *(f"{store['1']:.1f} ms" for store in stores)),
        (f"a step in a store of {many:,} records", *(f"{store[f'{many}']:.1f} ms" for store in stores)),
        (
            f"a step in a session of {int(most):,} records, compared with one of {few}",
            "",
            "",
            f"x {slow / sizes[few]:.1f}",
        ),
    ]
    table("", "Files", "SQLite", "PostgreSQL", rows=rows)


def _step(results: Mapping[str, Any]) -> None:
    (base, least), *others = results["step"].items()
    rows: list[tuple[object, ...]] = [(f"bare {base}", f"{least:.2f} ms", "x 1.0")]
    rows += [(name, f"{time:.2f} ms", f"x {time / least:.1f}") for name, time in others]
    table("One step", "Time", "Compared", rows=rows)


def _processes(results: Mapping[str, Any]) -> None:
    rates = results["processes"]
    table(
        "Processes, each with a session of its own",
        *(f"Steps per second, {name}" for name in next(iter(rates.values()))),
        rows=[(many, *(f"{rate:,}" for rate in row.values())) for many, row in rates.items()],
    )


def _disk(results: Mapping[str, Any]) -> None:
    size = results["stores"]["PostgreSQL"]["bytes"] * 100_000_000 / results["records"] / 1e9
    minutes = round(size / 0.1 / 60)
    out(
        f"- **Disk**: {size:.0f} GB in PostgreSQL. At 0.12 dollars per GB and month, {size * 0.12:.0f} dollars per"
        " month, and as much again for each full backup.",
        "- **`flow sessions --all`, `flow audit --verify`, `flow store copy`**: they read everything."
        f" At 100 MB per second, {minutes} minutes. Give an id, or prune.",
        f"- **A dump**: at 100 MB per second, {minutes} minutes. Use archived logs or snapshots of the disk instead.",
    )


# --- records and names


def fields(path: str) -> None:
    """Write the fields of a class and their types; *path* is MODULE:CLASS."""
    module, _, name = path.partition(":")
    kind = getattr(__import__(module, fromlist=[name]), name)
    hints = kind.__annotations__
    out(inspect.cleandoc(kind.__doc__ or ""), "")
    table("Field", "Type", rows=[(f"`{key}`", f"`{_type(hint)}`") for key, hint in hints.items()])


MADE_BY_FLOWRAIL = {
    "SessionStore": (),
    "SessionView": (
        "A `SessionStore` returns it, with the values of [`ShownStep`](json.md) as attributes.",
        "",
    ),
}
"""Classes that programs do not construct, each with the lines in place of its signature."""


def python_names() -> None:
    """Write every name of the package with its signature and docstring, and list the names of the other packages."""
    kinds: dict[str, list[str]] = {"Functions": [], "Classes": [], "Errors": []}
    for name in sorted(flowrail.__all__):
        value = getattr(flowrail, name)
        is_error = isinstance(value, type) and issubclass(value, Exception)
        kinds["Errors" if is_error else "Classes" if isinstance(value, type) else "Functions"].append(name)
    for kind in ("Functions", "Classes"):
        out(f"## {kind}", "")
        for name in kinds[kind]:
            _name(name, getattr(flowrail, name))
    out("## Errors", "")
    texts = {
        name: " ".join(inspect.cleandoc(getattr(flowrail, name).__doc__ or "").split())
        for name in kinds["Errors"]
    }
    table("Class", "Meaning", rows=[(f"`{name}`", text) for name, text in texts.items()])
    out("")
    out("## Other packages", "")
    rows = []
    for package in ("machines", "formatters", "testing", "discovery"):
        module = __import__(f"flowrail.{package}", fromlist=[package])
        names = [name for name in module.__all__ if name not in flowrail.__all__]
        rows.append((f"`flowrail.{package}`", ", ".join(f"`{name}`" for name in names)))
    table("Package", "Names", rows=rows)


def _name(name: str, value: Any) -> None:
    out(f"### {name}", "")
    union = not callable(value) and hasattr(value, "__args__")
    if union:
        out(f"One of {', '.join(f'`{each.__name__}`' for each in value.__args__)}.", "")
        return
    if isinstance(value, str):
        out(
            "A text for agents; see [blocks](blocks.md)." if len(value) > 80 else f"`{value!r}`",
            "",
        )
        return
    if name in MADE_BY_FLOWRAIL:
        out(*MADE_BY_FLOWRAIL[name])
    elif not (isinstance(value, type) and issubclass(value, Enum)):
        out("```python", _signature(name, value), "```", "")
    out(inspect.cleandoc(value.__doc__ or "").replace("<", "&lt;"), "")
    if isinstance(value, type) and issubclass(value, Enum):
        out(f"Values: {', '.join(f'`{each.value}`' for each in value)}.", "")
    elif isinstance(value, type) and name != "Session":
        methods = [
            f"- `.{_signature(each, member, wide=10**6)}`: {' '.join(member.__doc__.split())}"
            for each, member in vars(value).items()
            if not each.startswith("_") and inspect.isfunction(member) and member.__doc__
        ]
        out(*methods, *([""] if methods else []))


def _signature(name: str, value: Any, wide: int = 140) -> str:
    """Return a call as a reader would write it, with one parameter per line if it is long."""
    try:
        signature = inspect.signature(value)
    except ValueError:  # (a default that means no default, or a type made of `str`)
        signature = inspect.signature(value.__init__ if inspect.isfunction(value.__init__) else str.__len__)
    parts, meanings, star = [], {}, False
    documented = _fields_documented(value) if is_dataclass(value) else {}
    for each in signature.parameters.values():
        if each.name == "self" or each.name.startswith("_"):
            continue
        star = star or each.kind is each.VAR_POSITIONAL
        if each.kind is each.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        mark = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        text = f"{mark}{each.name}" + ("" if each.annotation is each.empty else f": {_type(each.annotation)}")
        if each.default is not each.empty:
            text += f" = {_default(each.default)}"
        parts.append(text)
        meanings[text] = f"  # {' '.join(documented[each.name].split())}" if each.name in documented else ""
    returned = signature.return_annotation
    after = "" if isinstance(value, type) or returned is signature.empty else f" -> {_type(returned)}"
    line = f"{name}({', '.join(parts)}){after}"
    if len(line) <= wide:
        return line
    inner = "\n".join(f"    {part},{meanings.get(part, '')}" for part in parts)
    return f"{name}(\n{inner}\n){after}"


def _fields_documented(kind: Any) -> dict[str, str]:
    """Return the text under each field of a dataclass."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    body = tree.body[0].body  # type: ignore[attr-defined]
    return {
        field.target.id: inspect.cleandoc(text.value.value)
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
    }


def _type(annotation: Any) -> str:
    """Return a type as a reader would write it: without modules, and without the key that a field declares."""
    if hasattr(annotation, "__metadata__"):
        annotation = annotation.__origin__
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__forward_arg__", None)
    if text is None:
        text = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    text = re.sub(r"\b(?:\w+\.)+(?=[A-Z])", "", str(text))
    text = re.sub(r"Annotated\[(\w+), 'value'\]", r"\1", text)
    text = re.sub(r"Annotated\[(.+?), \w+\([^)]*\)\]", r"\1", text)  # what only the checker reads
    return text.replace("]]]", "]] ]")  # three brackets end the code of a page


def _default(value: Any) -> str:
    if isinstance(value, Mapping) and not value:
        return "{}"
    if inspect.isfunction(value):
        return value.__name__
    text = repr(value)
    hidden = value is inspect.Parameter.empty or text == "<factory>" or "object at" in text
    return "..." if hidden or "frozenset(" in text else text  # the order of a set differs from run to run


def schemas() -> dict[str, bytes]:
    """Return the JSON Schemas of `workflow.yaml` and of payloads, by path."""
    from flowrail.handoff.payload.models import json_schema as payload_schema
    from flowrail.machines.reader import json_schema as workflow_schema

    written = {"workflow": workflow_schema()}
    written |= {f"handoff-{version}": payload_schema(version) for version in ("1.0", "2.0", "3.0")}
    return {
        f"docs/reference/{name}.schema.json": f"{json.dumps(schema, indent=1, ensure_ascii=False)}\n".encode()
        for name, schema in written.items()
    }


def outdated_files() -> Iterator[str]:
    """Yield the paths of schemas and of the plugin's files that differ from what is generated, and of extra files."""
    expected = plugin.contents()
    for path, data in {**expected, **schemas()}.items():
        file = ROOT / path
        if not file.is_file() or file.read_bytes() != data:
            yield path
    present = (file.relative_to(ROOT).as_posix() for file in (ROOT / "plugins").rglob("*") if file.is_file())
    yield from sorted(set(present) - set(expected))


def main(words: list[str]) -> int:
    """Generate all reference pages and the plugin, or with --check report what is outdated."""
    from cogapp import Cog

    if "--check" in words:
        if outdated := list(outdated_files()):
            out("Generated files are outdated. Run: python docs/pages.py", *outdated)
            return 1
    else:
        shutil.rmtree(ROOT / "plugins", ignore_errors=True)
        for path, data in {**plugin.contents(), **schemas()}.items():
            (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / path).write_bytes(data)
    pages = [ROOT / "README.md", *sorted(HERE.rglob("*.md"))]
    marked = [str(page) for page in pages if "[[[cog" in page.read_text("utf-8")]
    mode = ["--check", "--diff"] if "--check" in words else ["-r"]
    return int(Cog().main(["cog", *mode, "-P", "-e", "-I", str(HERE), "-I", str(BENCHMARK), *marked]) or 0)


if __name__ == "__main__":
    import sys

    sys.exit(main(sys.argv[1:]))
