"""Record a run of each bundled skill, for its page: what the commands print now, shortened.

The agents are those of the tests. They know only what flow prints. The first report of each run comes before the work.

    PYTHONPATH=tests python docs/transcripts.py     print the transcripts as JSON, by skill
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import tempfile
import textwrap
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

from support.sandbox import BUNDLED, Ran, as_user
from support.simulated_agents import Habit, StepOutput, Team, Want, words_of

from flowrail.cli.main import main as run_without_evidence
from flowrail.discovery.locations import bundled_folder

WIDEST = 150


class Sure(Habit):
    """Claims the highest confidence."""

    def value(self, output: StepOutput, want: Want) -> str:
        """Choose a value to report."""
        is_claim = want.name == "confidence" and want.choices
        return want.choices[-1] if is_claim else super().value(output, want)


@dataclass
class Recorder(Team):
    """Agents of one run. Notes what the main one runs, with the first line of each answer, and counts the rest."""

    habit: Habit = field(default_factory=Sure)
    session: str = ""
    shown: list[list[str]] = field(default_factory=list)
    reports: int = 0
    by_agents: int = 0

    def _ran(self, line: str, *, refused: bool = False) -> Ran:
        words = words_of(line)
        is_report = self.session in words and words[0] == "step" and not words[2].startswith("-")
        if is_report and not self.reports:
            self._report_too_early(line, words)
        ran = super()._ran(line, refused=refused)
        if not self.session:
            self.session = re.findall(r'session="([^"]+)"', ran.out)[0]
            self._show(line)
        elif self.session not in words:
            self.by_agents += 1
        elif is_report and ran.status == 0:
            self.reports += 1
            self._show(line)
        return ran

    def _show(self, line: str) -> None:
        head = as_user("resume", self.session, "--format", "text").out.partition("\n")[0]
        self.shown.append([f"$ {line}", head])

    def _report_too_early(self, line: str, words: list[str]) -> None:
        with redirect_stderr(io.StringIO()) as printed, redirect_stdout(io.StringIO()):
            run_without_evidence(words)
        refusal, problem, *_ = printed.getvalue().splitlines()
        self.shown.append([f"$ {line}", refusal, problem])


def record(skill: str, first: str) -> str:
    """Run *skill* from its *first* command on, and return the transcript."""
    team = Recorder(runs=as_user)
    team.run(first)
    start, refused, accepted, *more = team.shown
    lines = [*start, *refused, "# the agent does the work of the step and writes it down", *accepted]
    if more:
        by_agents = f", and {team.by_agents} commands of sub-agents" if team.by_agents else ""
        *between, (_, end) = more
        titles = " → ".join(re.sub(r"^\S+ · step (\d+) of \d+ · ", r"\1 ", head) for _, head in between)
        lines += [
            f"# {len(more)} more reports{by_agents}, to these steps",
            *textwrap.wrap(titles, WIDEST - 2),
            end,
        ]
    return "\n".join(short(line, skill) for line in lines)


def short(line: str, skill: str) -> str:
    """Return a line with fixed ids, short paths and a width that fits the page."""
    line = re.sub(rf"\b({skill})-[a-z0-9]{{6}}\b", r"\1-k3x9q2", line)
    line = re.sub(r"\S*\.flow/sessions/[^/ ]+/work", "…", line)
    return line if len(line) <= WIDEST else f"{line[: WIDEST - 2].rstrip()} …"


def main() -> None:
    """Print the transcripts of the bundled skills without a recorded run as JSON."""
    transcripts = {}
    for skill in BUNDLED:
        if Path(__file__).with_name("runs").joinpath(f"{skill}.txt").exists():
            continue  # the page shows a recorded run
        card = Path(bundled_folder(), skill, "SKILL.md").read_text(encoding="utf-8").partition("\n---\n")[2]
        command = re.search(r"^flow step .*$", card, re.MULTILINE)
        assert command, skill
        with tempfile.TemporaryDirectory() as project:
            os.chdir(project)
            transcripts[skill] = record(skill, shlex.join(shlex.split(command[0])))
            os.chdir("/")
    print(json.dumps(transcripts, ensure_ascii=False))


if __name__ == "__main__":
    main()
