"""A host that runs an agent's tool calls, with the hooks of the project's `.claude/settings.json`.

It calls them as Claude Code does: as shell commands, with one JSON document on standard input.
"""

from __future__ import annotations

import json
import re
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from arms import Project


class Result(NamedTuple):
    """The result of a tool call: whether it succeeded, and what the agent reads."""

    succeeded: bool
    text: str
    denied: bool = False


class Host:
    """One conversation. Counts the agent's tool calls, the calls of hooks, and the bytes in the agent's context."""

    def __init__(self, project: Project, conversation: str) -> None:
        self.project = project
        self.conversation = conversation
        self.environment = {**project.environment, "CLAUDE_CODE_SESSION_ID": conversation}
        settings = project.path / ".claude" / "settings.json"
        self._hooks = json.loads(settings.read_text())["hooks"] if settings.is_file() else {}
        self._lock = threading.Lock()
        self.calls = self.hook_calls = self.bytes = self.refused = 0
        self.transcript: list[dict[str, Any]] = []
        """The calls in the neutral form that `flow conform` reads."""

    def shell(self, command: str) -> Result:
        """Run a shell command for the agent."""
        given = {"command": command}
        reason = self._denial("Bash", given)
        if reason:
            return self._count(command, Result(False, reason, denied=True), "Bash", given)
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=self.project.path,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        if done.returncode:
            failure = f"Exit code {done.returncode}\n{done.stderr}{done.stdout}"
            self._hook("PostToolUseFailure", tool_name="Bash", tool_input=given, error=failure)
            return self._count(command, Result(False, failure), "Bash", given)
        response = {"stdout": done.stdout, "stderr": done.stderr, "interrupted": False}
        self._hook("PostToolUse", tool_name="Bash", tool_input=given, tool_response=response)
        return self._count(command, Result(True, done.stdout + done.stderr), "Bash", given)

    def write(self, name: str, text: str) -> Result:
        """Write a file for the agent."""
        path = self.project.path / name
        given = {"file_path": str(path), "content": text}
        reason = self._denial("Write", given)
        if reason:
            return self._count(name + text, Result(False, reason, denied=True), "Write", given)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return self._count(name + text, Result(True, "written"), "Write", given)

    def read(self, path: Path) -> Result:
        """Read a file for the agent."""
        given = {"file_path": str(path)}
        return self._count(path.name, Result(True, path.read_text(encoding="utf-8")), "Read", given)

    def start(self, source: str = "startup") -> str:
        """Begin the conversation, or begin it again after a compaction, and return what the hook adds to the context."""
        answer = self._hook("SessionStart", source=source)
        added = str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))
        self.bytes += self._size(added)
        return added

    def stop(self) -> str:
        """End the agent's turn, and return why it must continue, or nothing."""
        answer = self._hook("Stop", stop_hook_active=False, background_tasks=[])
        reason = str(answer.get("reason", "")) if answer.get("decision") == "block" else ""
        self.bytes += self._size(reason)
        self.refused += bool(reason)
        return reason

    def _denial(self, tool: str, given: Mapping[str, Any]) -> str:
        answer = self._hook("PreToolUse", tool_name=tool, tool_input=given).get("hookSpecificOutput", {})
        denied = answer.get("permissionDecision") == "deny"
        return str(answer["permissionDecisionReason"]) if denied else ""

    def _hook(self, event: str, **details: Any) -> dict[str, Any]:
        common = {"session_id": self.conversation, "cwd": str(self.project.path), "hook_event_name": event}
        answer: dict[str, Any] = {}
        for entry in self._hooks.get(event, ()):
            if not re.fullmatch(entry.get("matcher", ".*"), details.get("tool_name", "")):
                continue
            for hook in entry["hooks"]:
                done = subprocess.run(
                    ["sh", "-c", hook["command"]],
                    cwd=self.project.path,
                    env=self.environment,
                    input=json.dumps({**common, **details}),
                    capture_output=True,
                    text=True,
                    check=True,
                )
                with self._lock:
                    self.hook_calls += 1
                answer |= json.loads(done.stdout)
        return answer

    def _count(self, given: str, result: Result, tool: str, arguments: Mapping[str, Any]) -> Result:
        call = {"name": tool, "arguments": arguments, "result": result.text, "denied": result.denied}
        with self._lock:
            self.transcript.append({**call, "exit_status": int(not result.succeeded)})
            self.calls += 1
            self.bytes += self._size(given) + self._size(result.text)
            self.refused += result.denied or (not result.succeeded and given.startswith("flow "))
        return result

    def _size(self, text: str) -> int:
        """Return the bytes of a text, as if the project's folder were /project."""
        return len(text.replace(str(self.project.path), "/project").encode())
