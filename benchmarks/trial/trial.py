"""A trial with real agents: three tasks, four arms, and contexts that are taken away. `grade.py` grades the stored runs.

    python benchmarks/trial/trial.py prepare stocktake commands FOLDER   # prints the prompt of the first agent
    FOLDER/shell 'COMMAND'                                               # what an agent runs
    python benchmarks/trial/trial.py prompt FOLDER                       # the prompt of the next agent
    python benchmarks/trial/trial.py store FOLDER                        # into benchmarks/trial/runs

An agent does everything through `FOLDER/shell`. It calls the hooks of the project as a host does, counts the commands, and
takes the context away: the command runs, but the agent reads only TURN OVER. Every first, third, … agent of a run loses
its context after a fixed number of commands, every second one at the first command with an effect after that number.
"""

from __future__ import annotations

import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
RUNS = HERE / "runs"
ARMS = {"text": "skill text", "log": "text and a log", "steps": "flowrail", "commands": "flowrail, commands"}
LOG = """\
Your context may be lost at any time. Keep a log: before and after every command with an effect, append a line to `LOG.md`
with what you are about to do and what came of it. Read `LOG.md` before you begin or continue."""
AGAIN = """\
You were working on this. Your context was lost; nothing of it is left but this request. Continue the work."""
RULES = """\
Do everything, also reading and writing files, with one program: {shell} 'COMMAND' runs COMMAND in a shell in the project
folder. Use no other tool and read nothing outside the project. One COMMAND for each action; do not put two tools or two
`flow` commands into one COMMAND.

{shell} ask 'QUESTION' asks the user and prints the answer. When the work is finished, or if you have to wait for the user,
run {shell} end; it says whether your turn may end, and whether the user did something.

If it prints TURN OVER, stop at once, run nothing more, and reply with the single word LOST; another agent continues. If the
turn may end, reply with one sentence about the result."""
CONVERSATION = "trial-conversation"
DECISIONS = {"acme": "No", "birch": "Yes"}
LONGEST = 6_000


def main(command: str, *arguments: str) -> int:
    """Run one of the commands."""
    if command == "prepare":
        task, arm, folder = arguments
        prepare(task, arm, Path(folder).resolve())
        print(Run(Path(folder).resolve()).prompt())
        return 0
    run = Run(Path(arguments[0]).resolve())
    if command == "prompt":
        print(run.prompt())
    elif command == "store":
        print(run.store(arguments[1] if len(arguments) > 1 else ""))
    else:
        print(run.shell(" ".join(arguments[1:])))
    return 0


def prepare(name: str, arm: str, folder: Path) -> None:
    """Create the project of a run, for one arm."""
    source, project = HERE / "tasks" / name, folder / "project"
    shutil.copytree(source / "project", project)
    tools = project / "tools"
    tools.mkdir()
    for tool in TOOLS[name]:
        file = tools / tool
        file.write_text(
            '#!/bin/sh\nexec "$TRIAL_PYTHON" "$TRIAL_TOOLS" ' + tool + ' "$@"\n', encoding="utf-8"
        )
        file.chmod(0o755)
    (folder / "home").mkdir()
    state = {"task": name, "arm": arm, "agents": 0, "commands": [], "hooks": 0}
    (folder / "run.json").write_text(json.dumps(state), encoding="utf-8")
    shell = folder / "shell"
    shell.write_text(
        f'#!/bin/sh\nexec {sys.executable} {HERE / "trial.py"} shell {folder} "$@"\n', encoding="utf-8"
    )
    shell.chmod(0o755)
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    skill = project / ".claude" / "skills" / name
    skill.mkdir(parents=True)
    task = yaml.safe_load((source / "task.yaml").read_text(encoding="utf-8"))
    description = task["request"].removeprefix(f"Use the skill {name} to ").partition(",")[0]
    head = f"---\nname: {name}\ndescription: {description[:1].upper()}{description[1:]}.\n---\n\n"
    text = (source / "SKILL.md").read_text(encoding="utf-8")
    if arm in {"text", "log"}:
        body = f"{text}\n{LOG}\n" if arm == "log" else text
        (skill / "SKILL.md").write_text(f"{head}# {name}\n\n{body}", encoding="utf-8")
        return
    body = f"Run `flow step {name}`. It prints one step and the commands to report it. Do the step, then run one of them.\n"
    (skill / "SKILL.md").write_text(f"{head}# {name}\n\n{body}", encoding="utf-8")
    workflow = {"name": name, "description": f"{description}.", "steps": steps_of(task, arm)}
    (skill / "workflow.yaml").write_text(yaml.safe_dump(workflow, sort_keys=False), encoding="utf-8")
    run = Run(folder)
    run.flow("setup", "--host", "claude-code")
    shown = run.flow("trust", name, "--digest", "0", "--json", check=False)
    if arm == "commands":
        run.flow("trust", name, "--digest", json.loads(shown)["error"]["details"]["digest"])


def steps_of(task: Mapping[str, Any], arm: str) -> list[dict[str, Any]]:
    """Return the steps of the workflow: each block once per item, then the last ones; without commands in the arm `steps`."""
    steps = []
    items = task["items"]
    for number, item in enumerate(items):
        after = (
            task["each"][0]["id"].replace("{item}", items[number + 1])
            if number + 1 < len(items)
            else task["last"][0]["id"]
        )
        text = json.dumps(task["each"]).replace("{item}", item).replace("{next}", after)
        steps += json.loads(text)
    steps += task["last"]
    return [step if arm == "commands" else without_commands(step) for step in steps]


def without_commands(step: Mapping[str, Any]) -> dict[str, Any]:
    """Return a step as it is without `commands`: the agent runs the tools and reports the facts."""
    plain = {key: value for key, value in step.items() if key != "commands"}
    evidence = {
        outcome: [check for check in checks if "command" not in check]
        for outcome, checks in step.get("evidence", {}).items()
    }
    plain["evidence"] = {outcome: checks for outcome, checks in evidence.items() if checks}
    if not plain["evidence"]:
        del plain["evidence"]
    if "reports" in step:
        plain["reports"] = {
            name: {key: value for key, value in declared.items() if key != "from"}
            for name, declared in step["reports"].items()
        }
    return plain


TOOLS = {
    "stocktake": ("freeze", "count", "review", "book", "thaw"),
    "retire": ("export", "usage", "delete", "notify"),
    "notes": ("review", "publish"),
}


class Run:
    """One run of a task in one arm, in a folder: the project, and beside it what the agent does not see."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.project = folder, folder / "project"
        self.ledger = folder / "ledger.jsonl"
        self.state: dict[str, Any] = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        self.task = yaml.safe_load(
            (HERE / "tasks" / self.state["task"] / "task.yaml").read_text(encoding="utf-8")
        )
        programs = os.environ.get("PATH", os.defpath)
        if self.state["arm"] in {"steps", "commands"}:
            programs = f"{Path(sys.executable).parent}{os.pathsep}{programs}"
        self.environment = {
            "PATH": programs,
            "HOME": str(folder / "home"),
            "XDG_STATE_HOME": str(folder / "home" / "state"),
            "LANG": "C.UTF-8",
            "TRIAL_LEDGER": str(self.ledger),
            "TRIAL_TOOLS": str(HERE / "tools.py"),
            "TRIAL_PYTHON": sys.executable,
            "CLAUDE_CODE_SESSION_ID": CONVERSATION,
        }

    def prompt(self) -> str:
        """Return what the next agent reads: the task, and what a host adds after it compacted a context."""
        self.state["agents"] += 1
        self._save()
        name = self.state["task"]
        parts = (
            f'You are a coding agent in the project folder {self.project}. The user\'s request: "{self.task["request"]}"',
            AGAIN if self.state["agents"] > 1 else "",
            f"The skill's text is in .claude/skills/{name}/SKILL.md of the project; read it first.",
            self._session_start(),
            RULES.format(shell=self.folder / "shell"),
        )
        return "\n\n".join(part for part in parts if part)

    def shell(self, command: str) -> str:
        """Run a command of the agent, and return what the agent reads."""
        mine = [entry for entry in self.state["commands"] if entry["agent"] == self.state["agents"]]
        if mine and mine[-1].get("lost"):
            return "TURN OVER"
        if command == "end":
            return self._end()
        if command.startswith("ask "):
            self._log(command, 0, "", asked=True)
            return self._owner(command)
        denial = self._denial(command)
        if denial:
            self._log(command, 1, denial, denied=True)
            return denial
        effects = self._effects()
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=self.project,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            errors="replace",
        )
        output = (done.stdout + done.stderr)[:LONGEST]
        if done.returncode:
            output = f"{output}\n(exit status {done.returncode})"
        event = "PostToolUseFailure" if done.returncode else "PostToolUse"
        response = (
            {"tool_response": {"stdout": done.stdout, "stderr": done.stderr}}
            if not done.returncode
            else {"error": output}
        )
        added = self._hook(event, tool_name="Bash", tool_input={"command": command}, **response)
        output += str(added.get("hookSpecificOutput", {}).get("additionalContext", ""))
        has_effect = self._effects() > effects
        is_late = len(mine) + 1 >= self.task["lost_after"]
        lost = is_late and (has_effect or self.state["agents"] % 2 == 1)
        self._log(command, done.returncode, output, lost=lost, effect=has_effect)
        return "TURN OVER" if lost else output

    def store(self, note: str) -> str:
        """Store the run among those that are graded, without paths of this machine."""
        events = [json.loads(line) for line in self._ledger_lines()]
        for event in events:
            del event["at"]
        files = {
            str(path.relative_to(self.project)): path.read_text(encoding="utf-8", errors="replace")
            for path in sorted(self.project.rglob("*.md"))
            if not str(path.relative_to(self.project)).startswith(".")
        }
        stored = {**self.state, "note": note, "events": events, "files": files}
        text = json.dumps(stored, indent=1, ensure_ascii=False)
        for private in (str(self.folder), str(HERE.parents[1]), str(Path.home())):
            text = text.replace(private, "RUN")
        RUNS.mkdir(exist_ok=True)
        number = 1 + len(list(RUNS.glob(f"{self.state['task']}-{self.state['arm']}-*.json")))
        path = RUNS / f"{self.state['task']}-{self.state['arm']}-{number}.json"
        path.write_text(f"{text}\n", encoding="utf-8")
        return path.name

    def flow(self, *words: str, check: bool = True, conversation: bool = False) -> str:
        """Run `flow` as the user does, outside of the agent's conversation."""
        environment = {
            key: value
            for key, value in self.environment.items()
            if conversation or key != "CLAUDE_CODE_SESSION_ID"
        }
        done = subprocess.run(
            ["flow", *words],
            cwd=self.project,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        assert not check or done.returncode == 0, (words, done)
        return done.stdout

    def _end(self) -> str:
        answered = self._owner_at_the_terminal()
        answer = {} if answered else self._hook("Stop", stop_hook_active=False, background_tasks=[])
        reason = str(answer.get("reason", "")) if answer.get("decision") == "block" else ""
        self._log("end", 0, reason)
        if answered:
            return f"The user did something: {answered} Continue your work."
        return reason or "Your turn may end."

    def _owner(self, question: str) -> str:
        """Return what the user says when asked in the chat."""
        known = [f"{name}: {answer}" for name, answer in DECISIONS.items() if name in question]
        if self.state["task"] == "retire" and known:
            self._record_answer(known)
            return "; ".join(known)
        return "I cannot tell. Decide yourself."

    def _owner_at_the_terminal(self) -> str:
        """Answer, as the user at a terminal, every question of a session that only a person may answer."""
        if self.state["arm"] not in {"steps", "commands"}:
            return ""
        done = []
        for session in json.loads(self.flow("sessions", "--json", check=False) or "{}").get("sessions", []):
            for question in session["questions"]:
                name = str(question["id"]).removeprefix("delete_")
                if name not in DECISIONS or question["answer"] is not None:
                    continue
                answer = f"{question['id']}={DECISIONS[name]}"
                if self._at_a_terminal("flow", "answer", str(session["session"]), answer) == 0:
                    self._record_answer([f"{name}: {DECISIONS[name]}"])
                    done.append(f"answered the question about {name}.")
        return " ".join(done)

    def _record_answer(self, known: list[str]) -> None:
        for line in known:
            with self.ledger.open("a") as file:
                name, _, answer = line.partition(": ")
                file.write(json.dumps({"tool": "answer", "arguments": [name, answer], "at": 0}) + "\n")

    def _at_a_terminal(self, *words: str) -> int:
        """Run a command at a real terminal, without the agent's conversation."""
        environment = {
            key: value for key, value in self.environment.items() if key != "CLAUDE_CODE_SESSION_ID"
        }
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.project)
            os.execvpe(words[0], list(words), environment)  # noqa: S606
        shown = b""
        while select.select([terminal], [], [], 30)[0]:
            try:
                part = os.read(terminal, 4096)
            except OSError:  # the program has ended
                break
            shown += part
            if b"Type yes: " in shown:
                shown = b""
                os.write(terminal, b"yes\n")
            if not part:
                break
        else:
            os.kill(child, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def _session_start(self) -> str:
        source = "startup" if self.state["agents"] == 1 else "compact"
        answer = self._hook("SessionStart", source=source)
        return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))

    def _denial(self, command: str) -> str:
        answer = self._hook("PreToolUse", tool_name="Bash", tool_input={"command": command}).get(
            "hookSpecificOutput", {}
        )
        return str(answer["permissionDecisionReason"]) if answer.get("permissionDecision") == "deny" else ""

    def _hook(self, event: str, **details: Any) -> dict[str, Any]:
        settings = self.project / ".claude" / "settings.json"
        if not settings.is_file():
            return {}
        common = {"session_id": CONVERSATION, "cwd": str(self.project), "hook_event_name": event}
        answer: dict[str, Any] = {}
        for entry in json.loads(settings.read_text())["hooks"].get(event, ()):
            if not re.fullmatch(entry.get("matcher", ".*"), details.get("tool_name", "")):
                continue
            for hook in entry["hooks"]:
                done = subprocess.run(
                    ["sh", "-c", hook["command"]],
                    cwd=self.project,
                    env=self.environment,
                    input=json.dumps({**common, **details}),
                    capture_output=True,
                    text=True,
                    check=False,
                )
                self.state["hooks"] += 1
                answer |= json.loads(done.stdout or "{}")
        return answer

    def _log(self, command: str, status: int, output: str, **marks: bool) -> None:
        entry = {
            "agent": self.state["agents"],
            "command": command[:400],
            "exit": status,
            "bytes": len(command.encode()) + len(output.encode()),
            **{mark: True for mark, is_set in marks.items() if is_set},
        }
        self.state["commands"].append(entry)
        self._save()

    def _effects(self) -> int:
        return len(self._ledger_lines())

    def _ledger_lines(self) -> list[str]:
        return self.ledger.read_text().splitlines() if self.ledger.is_file() else []

    def _save(self) -> None:
        (self.folder / "run.json").write_text(json.dumps(self.state), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
