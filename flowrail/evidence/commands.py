"""Commands as evidence: whether a shell line is exactly the declared command, and running it.

A command runs without a shell, in an environment of a few variables, in a process group of its own that is killed at
the end. `flow step` never runs one.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from flowrail import processes
from flowrail.evidence.baseline import machine_name
from flowrail.machines.definition.evidence import CommandRun, EvidenceCheck, Level, Verdict
from flowrail.machines.guidance.evidence import line_of
from flowrail.storage.files import sha256_hex

KEPT_OUTPUT = 2_000
"""Bytes of the output of a command that did not pass, from its end."""
LARGEST_OUTPUT = 16 * 1024 * 1024
"""A command that prints more is stopped."""
PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "USER", "LOGNAME", "VIRTUAL_ENV", "TERM", "TZ")
_PLAIN = re.compile(r"""[A-Za-z0-9_@%+=:,./ "'-]*\Z""")
"""A line of these characters means the same to `shlex` and to a shell: it has no operator and no expansion."""


def is_same_command(line: str, command: Sequence[str]) -> bool:
    """Return whether the shell line *line* runs exactly *command* and nothing else.

    A line with an operator, an expansion, a second line or a different argument is another command.
    """
    stripped = line.strip()
    if stripped == line_of(command):
        return "\n" not in stripped and "\r" not in stripped
    if not _PLAIN.match(stripped):
        return False
    try:
        return shlex.split(stripped) == list(command)
    except ValueError:
        return False


def judge(check: EvidenceCheck, exit_status: int, output: str) -> tuple[Verdict, str]:
    """Return the verdict on a command that has ended, and why it failed."""
    if exit_status != 0:
        return Verdict.FAIL, f"it exited with {exit_status}"
    missing = next((pattern for pattern in check.output if not re.search(pattern, output)), None)
    if missing is not None:
        return Verdict.FAIL, f"its output does not match {missing}"
    return Verdict.PASS, ""


def run(check: EvidenceCheck, folder: str, environ: Mapping[str, str]) -> CommandRun:
    """Run the command of *check* in *folder* and judge it. The result has no state and no time yet."""
    run = CommandRun(
        check.id, Level.CHECKED, Verdict.ERROR, tuple(check.run), folder, machine_name(), state=""
    )
    environment = {name: environ[name] for name in PASSED_ON if name in environ}
    try:
        done = processes.run(
            check.run, folder=folder, environ=environment, seconds=check.timeout, most_output=LARGEST_OUTPUT
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return run._replace(seconds=0.0, problem=f"it could not be started ({reason})")
    text = done.output.decode("utf-8", "replace")
    run = run._replace(
        exit_status=done.status, seconds=done.seconds, output=text, output_digest=sha256_hex(done.output)
    )
    if done.status is None:
        return run._replace(problem=done.problem)
    verdict, problem = judge(check, done.status, text)
    return run._replace(verdict=verdict, problem=problem)


def end_of(text: str) -> str:
    """Return the end of an output, as much as a record holds."""
    return text.encode("utf-8", "replace")[-KEPT_OUTPUT:].decode("utf-8", "ignore")
