"""Read the tool calls of transcripts: JSON lines of Claude Code, of Codex, and a neutral form.

The formats of the hosts are not documented by them, so entries of an unknown type are ignored. A line that cannot be read
may hide a call; it is counted. A file is read line by line, and nothing but calls that wait for their result is kept.
"""

from __future__ import annotations

import heapq
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from flowrail.rules.tools import ToolUse
from flowrail.storage.files import list_names

CLAUDE_CODE, CODEX, NEUTRAL = "claude-code", "codex", "neutral"
LONGEST_LINE = 32_000_000
LONGEST_RESULT = 50_000
"""The first characters of a result that are looked at."""
MOST_WAITING = 500
"""A call whose result does not come holds back at most this many later ones."""
_REFUSED = re.compile(
    r"(?i)hook (?:error|blocked|denied)|blocked by hook|has been denied|tool use was rejected|doesn't want to proceed"
    r"|rejected by (?:the )?user|exec_command failed for|guards? `|order rule `"
)
_STATUS = re.compile(r"(?:^|\n)(?:Process exited with code|Exit code:?)\s+(\d+)")
_CALLS = {"function_call", "custom_tool_call", "local_shell_call"}
_RESULTS = {"function_call_output", "custom_tool_call_output", "local_shell_call_output"}


@dataclass(frozen=True)
class Call:
    """A tool call in a transcript, with its result."""

    file: str
    """The transcript."""
    line: int
    """The line of the call."""
    use: ToolUse
    """The tool and its arguments."""
    at: str = ""
    """When it was made."""
    result: str | None = None
    """The beginning of its result; `None` if the transcript has none."""
    status: int | None = None
    """The exit status, 0 for a call without an error; `None` if it is unknown."""
    was_refused: bool = False
    """Whether a hook or the user denied it, so that it did not happen."""


@dataclass
class Transcript:
    """A file that is being read."""

    path: str
    run: str = ""
    """The conversation; the parent's for the file of a sub-agent."""
    format: str = ""
    """The form of its entries; empty if none was recognised."""
    calls: int = 0
    """The calls that were read."""
    unreadable: list[int] = field(default_factory=list)
    """The lines that could not be read."""
    cwd: str = "/"
    ids: set[str] = field(default_factory=set)
    """The ids of the calls. Codex also lists a command that a call ran, under the same id."""

    def read(self) -> Iterator[Call]:
        """Yield the calls of the file in their order, each when its result and those before it are known."""
        pending: dict[str, Call] = {}
        with open(self.path, "rb") as file:
            for number, entry in self._entries(file):
                for call_id, call in self._calls(entry, number):
                    if call_id and call_id in self.ids:
                        continue
                    self.ids.add(call_id)
                    self.calls += 1
                    pending[call_id or f"line {self.calls}"] = call
                for call_id, text, status, is_error in self._results(entry):
                    if call_id in pending:
                        pending[call_id] = _ended(pending[call_id], text, status, is_error=is_error)
                while pending:
                    first = next(iter(pending))
                    if pending[first].result is None and len(pending) <= MOST_WAITING:
                        break
                    yield pending.pop(first)
        yield from pending.values()

    def _entries(self, file: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
        number = 0
        while line := file.readline(LONGEST_LINE):
            number += 1
            try:
                entry = json.loads(line) if line.strip() else {}
            except (ValueError, RecursionError):
                self.unreadable.append(number)
                continue
            if isinstance(entry, dict):
                yield number, entry

    def _calls(self, entry: Mapping[str, Any], line: int) -> Iterator[tuple[str, Call]]:
        """Yield the calls of an entry with their ids."""
        at = str(entry.get("timestamp", ""))
        item = _payload(entry)
        self.cwd = (
            _text(entry.get("cwd")) or (_text(item.get("cwd")) if item is not entry else "") or self.cwd
        )
        if item.get("type") == "session_meta" or entry.get("type") == "session_meta":
            self.format = CODEX
        for block in _blocks(entry, "tool_use"):
            self.format = CLAUDE_CODE
            yield _text(block.get("id")), self._call(line, at, _text(block.get("name")), block.get("input"))
        if item.get("type") in _CALLS:
            self.format = CODEX
            arguments = item.get("arguments", item.get("input", item.get("action")))
            if isinstance(arguments, str):
                try:
                    arguments = json.loads(arguments)
                except ValueError:
                    arguments = {"input": arguments}
                    if item["type"] == "function_call":
                        self.unreadable.append(line)
            name = _text(item.get("name")) or "local_shell"
            yield _text(item.get("call_id")) or _text(item.get("id")), self._call(line, at, name, arguments)
        elif item.get("type") == "item_completed":
            yield from self._executed(item, line, at)
        elif isinstance(entry.get("name"), str) and "arguments" in entry and "type" not in entry:
            self.format = NEUTRAL
            call = self._call(line, at, entry["name"], entry["arguments"])
            status = entry.get("exit_status", 0 if "result" in entry else None)
            if "result" in entry:
                call = _ended(call, _string(entry["result"]), status, is_error=bool(entry.get("denied")))
            yield "", replace(call, was_refused=entry.get("denied") is True)

    def _executed(self, item: Mapping[str, Any], line: int, at: str) -> Iterator[tuple[str, Call]]:
        """Yield what Codex did for a program of its agent. The program itself is text that is not read."""
        done = item.get("item")
        if not isinstance(done, dict):
            return
        workdir = _text(done.get("cwd")).removeprefix("file://")
        if done.get("type") == "CommandExecution":
            given = {"command": done.get("command"), "workdir": workdir}
            call = self._call(line, at, "exec_command", given)
        elif done.get("type") == "FileChange" and isinstance(done.get("changes"), dict):
            patch = "".join(f"*** Update File: {path}\n" for path in done["changes"])
            call = self._call(line, at, "apply_patch", {"input": patch})
        else:
            return
        self.format = CODEX
        status = done.get("exit_code", {"completed": 0, "failed": 1}.get(_text(done.get("status"))))
        printed = _text(done.get("aggregated_output", done.get("stdout")))[:LONGEST_RESULT]
        is_known = isinstance(status, int)
        was_refused = done.get("status") == "declined"
        call = replace(call, result=printed if is_known else None, status=status, was_refused=was_refused)
        yield _text(done.get("id")), call

    def _call(self, line: int, at: str, name: str, arguments: object) -> Call:
        given = arguments if isinstance(arguments, dict) else {}
        cwd = _text(given.get("workdir")) or self.cwd
        return Call(self.path, line, ToolUse(name, given, cwd, self.cwd, os.path.expanduser("~")), at)

    @staticmethod
    def _results(entry: Mapping[str, Any]) -> Iterator[tuple[str, str, int | None, bool]]:
        """Yield the results in an entry: the id of the call, the text, the exit status, and whether it is an error."""
        for block in _blocks(entry, "tool_result"):
            is_error = block.get("is_error") is True
            text = _string(block.get("content"))
            yield _text(block.get("tool_use_id")), text, _status(text, 1 if is_error else 0), is_error
        item = _payload(entry)
        if item.get("type") in _RESULTS:
            output, status = item.get("output"), None
            if isinstance(output, str) and output.startswith("{"):
                try:
                    output = json.loads(output)
                except ValueError:
                    status = None
            if isinstance(output, dict):
                status = (output.get("metadata") or {}).get("exit_code")
                output = output.get("output", output.get("content"))
            text, is_known = _string(output), isinstance(status, int)
            yield _text(item.get("call_id")), text, status if is_known else _status(text, 0), not is_known


def runs(paths: Iterable[str]) -> list[tuple[str, list[Transcript]]]:
    """Return the transcripts by conversation; files of sub-agents belong to the conversation that started them."""
    found: dict[str, Transcript] = {}
    parents: dict[str, str] = {}
    for path in paths:
        for file in _with_agents(path):
            if file not in found:
                own, parent = _identity(file)
                found[file] = Transcript(file, run=own)
                if parent:
                    parents[own] = parent
    grouped: dict[str, list[Transcript]] = {}
    for transcript in found.values():
        seen = {transcript.run}
        while (parent := parents.get(transcript.run, "")) and parent not in seen:
            seen.add(parent)
            transcript.run = parent
        grouped.setdefault(transcript.run, []).append(transcript)
    return list(grouped.items())


def calls_of(transcripts: list[Transcript]) -> Iterator[Call]:
    """Yield the calls of one conversation in the order of their times; those without a time follow the one before."""
    return heapq.merge(*(_in_order(transcript) for transcript in transcripts), key=lambda call: call.at)


def _in_order(transcript: Transcript) -> Iterator[Call]:
    latest = ""
    for call in transcript.read():
        latest = max(latest, call.at)
        yield call if call.at == latest else replace(call, at=latest)


def _with_agents(path: str) -> Iterator[str]:
    """Yield a file with those of its sub-agents, or every transcript in a folder."""
    if os.path.isdir(path):
        for folder, _, names in sorted(os.walk(path)):
            yield from (os.path.join(folder, name) for name in sorted(names) if name.endswith(".jsonl"))
        return
    yield path
    beside = os.path.join(path.removesuffix(".jsonl"), "subagents")
    yield from (os.path.join(beside, name) for name in list_names(beside, ".jsonl"))


def _identity(path: str) -> tuple[str, str]:
    """Return the id of the conversation of a file, and the id of the one that started it, from its first lines."""
    with open(path, "rb") as file:
        for _ in range(50):
            line = file.readline(LONGEST_LINE)
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):
                if not line:
                    break
                continue
            if not isinstance(entry, dict):
                continue
            if entry.get("type") == "session_meta":
                payload = _payload(entry)
                source = payload.get("source")
                spawned = source.get("subagent") if isinstance(source, dict) else None
                spawn = spawned.get("thread_spawn") if isinstance(spawned, dict) else None
                parent = spawn.get("parent_thread_id") if isinstance(spawn, dict) else None
                return _text(payload.get("id")) or path, _text(parent or payload.get("parent_thread_id"))
            if _text(entry.get("sessionId")):
                return entry["sessionId"], ""
            if _text(entry.get("run")):
                return entry["run"], ""
    return path, ""


def _ended(call: Call, text: str, status: int | None, *, is_error: bool) -> Call:
    was_refused = is_error and _REFUSED.search(text[:2_000]) is not None
    return replace(call, result=text[:LONGEST_RESULT], status=status, was_refused=was_refused)


def _payload(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what an entry of Codex wraps; older versions wrote it without a wrapper."""
    payload = entry.get("payload")
    return payload if isinstance(payload, dict) else entry


def _blocks(entry: Mapping[str, Any], kind: str) -> Iterator[Mapping[str, Any]]:
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == kind:
            yield block


def _status(text: str, otherwise: int) -> int:
    match = _STATUS.search(text[:2_000])
    return int(match[1]) if match else otherwise


def _string(value: object) -> str:
    if isinstance(value, list):
        return "\n".join(_text(part.get("text")) for part in value if isinstance(part, dict))
    return value if isinstance(value, str) else json.dumps(value)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
