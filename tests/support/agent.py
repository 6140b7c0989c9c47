"""An agent that knows nothing but what is printed: it reads an answer and runs one command of it."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree as ET

from support.sandbox import ENTRY, Ran, flow, process

FORMS = ("xml", "json", "text")
_NEXT = "Report the outcome to get the next step:"


class Seen(NamedTuple):
    """What an agent makes of an answer: which step, which commands, what to append to them."""

    number: int | None
    commands: tuple[str, ...]
    wants: tuple[tuple[str, str], ...]
    status: str


class Turn(NamedTuple):
    """A command that was run, and what its answer told."""

    command: str
    seen: Seen


Run = Callable[[str], Ran]
Choose = Callable[[Seen], str]


def in_process(line: str) -> Ran:
    """Run a command in this process."""
    return flow(*words_of(line))


def as_process(line: str) -> Ran:
    """Run a command as a process of its own."""
    return process(*words_of(line))


def in_a_shell(line: str) -> Ran:
    """Run a command as it stands, as a shell would that finds `flow` on its path."""
    folder = Path.cwd().parent / "bin"
    folder.mkdir(exist_ok=True)
    program = folder / "flow"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c {shlex.quote(ENTRY)} "$@"\n')
    program.chmod(0o755)
    environ = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["/bin/sh", "-c", line], env=environ, capture_output=True, text=True, check=False)
    return Ran(done.returncode, done.stdout, done.stderr)


def the_first(seen: Seen) -> str:
    """Choose the first printed command."""
    return seen.commands[0]


def walk(
    begin: str, *, form: str = "xml", run: Run = in_process, choose: Choose = the_first, most: int = 60
) -> list[Turn]:
    """Run *begin* and then one printed command after the other until none is printed.

    A printed command is split as a shell would and run as it is; asked-for values are appended.
    """
    line, turns = begin, list[Turn]()
    while True:
        ran = run(line if form == "xml" else f"{line} --format {form}")
        assert ran.status == 0, (line, ran)
        assert not ran.err, (line, ran)
        seen = READERS[form](ran.out)
        turns.append(Turn(line, seen))
        assert len(turns) <= most, "the run does not end"
        if not seen.commands:
            return turns
        line = with_wants(choose(seen), seen)


def words_of(line: str, form: str = "xml") -> list[str]:
    """Return the arguments of a printed command, as a shell would give them."""
    assert line.isprintable()
    unquoted = re.sub(r"'[^']*'|\"'\"", "", line)
    assert not re.search(r"[^\w ./:=@%+,-]", unquoted, re.ASCII), line
    program, *words = shlex.split(line)
    assert program == "flow", line
    return words if form == "xml" else [*words, "--format", form]


def with_wants(line: str, seen: Seen) -> str:
    """Return a command with an example of every value that is asked for appended."""
    return " ".join([line, *(f"-s {shlex.quote(f'{name}={example}')}" for name, example in seen.wants)])


def read_xml(out: str) -> Seen:
    """Read the form for agents."""
    root = ET.fromstring(out)  # noqa: S314 - our own output, and the test is that it parses
    header = root.find("step_header")
    return Seen(
        int(header.get("number", "")) if header is not None else None,
        tuple(each.text or "" for each in root.iterfind("next/case")),
        tuple(
            (each.get("name", ""), each.get("example") or each.get("choices", "").split(", ")[0])
            for each in root.iterfind("next/want")
            if each.get("required") == "true"
        ),
        root.get("status", ""),
    )


def read_json(out: str) -> Seen:
    """Read the form for programs."""
    told = json.loads(out)
    wants = {
        want["name"]: want["example"] if isinstance(want["example"], str) else json.dumps(want["example"])
        for way in told["next"]
        for want in way["wants"]
        if want["required"]
    }
    return Seen(
        told["step"]["number"] if told["step"] else None,
        tuple(way["command"] for way in told["next"]),
        tuple(wants.items()),
        told["status"],
    )


def read_text(out: str) -> Seen:
    """Read the form for people."""
    head, _, tail = out.rpartition(_NEXT)
    place = re.search(r"^[^\n]* · step (\d+) of \d+ · ", head or out)
    standing = re.search(r" · revision \d+ · (\w+)", head or out)
    examples = re.findall(r"^  -s (\w+)=[A-Z]+  such as (.*?)(?:  .*)?$", tail, re.MULTILINE)
    choices = re.findall(r"^  -s (\w+)=[A-Z]+  one of (.*?)(?:, .*)?$", tail, re.MULTILINE)
    return Seen(
        int(place[1]) if place else None,
        tuple(re.findall(r"^    (flow .*)$", tail, re.MULTILINE)) if head else (),
        (*examples, *choices),
        standing[1] if standing else "",
    )


READERS: dict[str, Callable[[str], Seen]] = {"xml": read_xml, "json": read_json, "text": read_text}
