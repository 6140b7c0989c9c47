"""Patterns of tool calls, in the form of a host's permission rules: for `forbids`, guards and order rules.

``Edit`` names a tool, ``Bash(git push*)`` a tool and its argument, ``mcp__server__*`` several tools. A rule helps
an agent to follow its step. It is not a sandbox, because a shell has many forms of the same command. A rule that
cannot be evaluated does not match. Hooks import this module for every tool that an agent uses.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache

from flowrail.hosts.host import HOSTS
from flowrail.rules.shell import ShellCommand, simple_commands, spellings, without_prefixes, written_by

LONGEST = 200
STEP_KEYS = ("forbids",)
"""The keys of a step whose values are patterns. `denied_by` and `denies_all` decide what each of them denies."""
WATCHED = "watched"
"""The file in a session's folder that says that hooks see the tool calls of its conversation."""
_LONGEST_LINE = 20_000
_RULE = r"(?P<tool>[A-Za-z_][A-Za-z0-9_.*-]*)(?:\((?P<argument>[^\n]*)\))?\Z"
SHELLS = frozenset[str]().union(*(host.tools.shells for host in HOSTS))
EDITS = frozenset[str]().union(*(host.tools.edits for host in HOSTS))
READS = frozenset[str]().union(*(host.tools.reads for host in HOSTS))
AGENT_TOOLS = frozenset[str]().union(*(host.tools.agents for host in HOSTS))
QUESTIONS = frozenset[str]().union(*(host.tools.questions for host in HOSTS))
SKILL_TOOLS = frozenset[str]().union(*(host.tools.skills for host in HOSTS))
_SAME = {"Edit": EDITS, "Read": READS, "Agent": AGENT_TOOLS, "Task": AGENT_TOOLS, "Bash": SHELLS}
"""The tools that a rule for a tool matches. Every tool that changes files counts as an edit."""
_NAMED_BY = {"Agent": "subagent_type", "Task": "subagent_type", "Skill": "skill", "WebSearch": "query"}
_PATHS = ("file_path", "path", "notebook_path")
_OWN_TOOL = r"mcp__(?:plugin_)?flow(?:rail)?(?:_flow(?:rail)?)?__[a-z]+\Z"
"""A tool of our own server, under the names that a host gives it."""
_OWN_PROGRAMS = frozenset({"flow", "flowrail"})
_PATCHED = r"(?m)^\*\*\* (?:Add|Update|Delete) File: (.+)$"
_HOST = r"(?i)[a-z][a-z0-9+.-]*://(?:[^/@?#]*@)?([^/:?#]+)"


class ToolUse:
    """A tool that an agent is about to use, with its input and folder.

    ``work`` is the folder for the session's own files: writing there is never forbidden, because evidence may demand it.
    """

    def __init__(
        self, tool: str, given: Mapping[str, object], cwd: str, project: str, home: str, work: str = ""
    ) -> None:
        self.tool = tool
        self.input = given
        self.cwd = cwd
        self.project = project
        self.home = home
        self.work = work
        self.line = _line_in(given) if tool in SHELLS else ""
        """The line of a shell tool."""

    @cached_property
    def commands(self) -> list[ShellCommand]:
        """The commands of the line."""
        return simple_commands(self.line)

    @cached_property
    def spellings(self) -> tuple[str, ...]:
        """The commands that the line runs, in each spelling that a pattern may have."""
        return tuple(spellings(self.commands))

    @cached_property
    def redirected(self) -> list[str]:
        """The files that the line writes by `>`, `>>` or `tee`."""
        return written_by(self.commands) if ">" in self.line or "tee" in self.line else []


def problem(rule: object) -> str | None:
    """Return what is wrong with *rule*, or `None`."""
    if not isinstance(rule, str) or not (match := re.match(_RULE, rule)):
        return "is not a rule"
    if len(rule) > LONGEST:
        return f"has more than {LONGEST} characters"
    argument = match["argument"]
    if argument is not None and not argument.strip():
        return "names nothing between its brackets"
    if match["tool"] in SHELLS and argument and re.split(r"[ :*]", argument)[0] in _OWN_PROGRAMS:
        return "names commands of flow, which are never denied"
    return None


def patterns_in(order_rule: str) -> tuple[str, ...]:
    """Return the patterns of tool calls that the text of an order rule names: they are in quotes."""
    return tuple(order_rule.split('"')[1::2])


def covers(general: str, special: str) -> bool:
    """Return whether every call that the pattern *special* matches is one that *general* matches, too.

    The answer can be no although it is so, never the reverse.
    """
    wide, narrow = re.match(_RULE, general), re.match(_RULE, special)
    if wide is None or narrow is None:
        return False
    tools_of = _SAME.get(narrow["tool"], {narrow["tool"]})
    if not all(_is_tool(wide["tool"], tool) for tool in tools_of) or (
        "*" in narrow["tool"] and wide["tool"] != narrow["tool"]
    ):
        return False
    argument, part = (match["argument"] or "*" for match in (wide, narrow))
    if argument == part or argument.strip() == "*":
        return True
    text = re.sub(r"(?::\*| \*)$", "*", part)
    return bool(SHELLS & tools_of) and any(_fits(parts, text) for parts in _command_globs(argument))


def forbidding(rules: Iterable[object], used: ToolUse) -> str | None:
    """Return the first of *rules* that matches *used*; flowrail's own commands never match."""
    for rule in rules:
        if isinstance(rule, str) and _matches(rule, used):
            return None if _is_own(used) else rule
    return None


def denied_by(step: object, used: ToolUse) -> str | None:
    """Return the rule of *step*, a `StepDef` or its plain form, that denies *used*."""
    return forbidding(step_patterns(step)["forbids"], used)


def denies_all(step: object, pattern: str) -> bool:
    """Return whether *step* denies every call that *pattern* matches; no if that is not certain."""
    return any(covers(rule, pattern) for rule in step_patterns(step)["forbids"])


def step_patterns(step: object) -> dict[str, Sequence[str]]:
    """Return the patterns of tool calls of *step*, a `StepDef` or its plain form, by the key that has them."""
    return {key: step.get(key, ()) if isinstance(step, Mapping) else getattr(step, key) for key in STEP_KEYS}


def written_files(used: ToolUse) -> list[str]:
    """Return the files that a tool writes, as far as its input or a shell line says it."""
    if used.tool in SHELLS:
        return used.redirected
    return _files(used) if used.tool in EDITS else []


class _Pattern:
    """A pattern that was read: the tool and its argument, `*` for any."""

    def __init__(self, tool: str, argument: str) -> None:
        self.tool = tool
        self.argument = argument
        self.is_any = argument.strip() == "*"
        self.command_globs = _command_globs(argument)


@lru_cache(maxsize=1_000)
def _parsed(rule: str) -> _Pattern | None:
    """Return the pattern that a text describes; `None` if it cannot be evaluated."""
    match = re.match(_RULE, rule) if len(rule) <= LONGEST else None
    return _Pattern(match["tool"], match["argument"] or "*") if match is not None else None


def _matches(rule: str, used: ToolUse) -> bool:
    pattern = _parsed(rule)
    if pattern is None:
        return False
    argument, is_any = pattern.argument, pattern.is_any
    if used.tool in SHELLS and pattern.tool in EDITS:
        paths = _not_in_work(used.redirected, used)
        return any(_is_path("**" if is_any else argument, path, used) for path in paths)
    if not _is_tool(pattern.tool, used.tool):
        return False
    if used.tool in SHELLS:
        return is_any or _matches_command(pattern, used)
    if used.tool in EDITS:
        paths = _not_in_work(_files(used), used)
        return (is_any and (bool(paths) or not _files(used))) or any(
            not is_any and _is_path(argument, path, used) for path in paths
        )
    if is_any:
        return True
    if used.tool in {"WebFetch", "web_fetch"} and argument.startswith("domain:"):
        return _is_site(argument.removeprefix("domain:"), str(used.input.get("url", "")))
    if used.tool in _NAMED_BY:
        return _glob(argument, str(used.input.get(_NAMED_BY[used.tool], "")))
    return any(_is_path(argument, path, used) for path in _files(used))


def _is_tool(named: str, tool: str) -> bool:
    if tool in _SAME.get(named, ()) or tool == named:
        return True
    if named.startswith("mcp__") and named.count("__") == 1 and tool.startswith(f"{named}__"):
        return True  # the name of a server alone matches all its tools
    return "*" in named and _glob(named, tool)


# --- commands -----------------------------------------------------------------------------------------


def is_ours(line: str) -> bool:
    """Return whether only `flow` runs, so that a step that forbids the shell can still be reported."""
    return _run_only_flow(simple_commands(line))


def _is_own(used: ToolUse) -> bool:
    """Return whether a tool is one of flowrail's own, or a shell in which only `flow` runs."""
    if used.tool in SHELLS:
        return _run_only_flow(used.commands)
    return re.match(_OWN_TOOL, used.tool) is not None


def _run_only_flow(commands: Iterable[ShellCommand]) -> bool:
    programs = {words[0] for command in commands if (words := without_prefixes(command.words))}
    return bool(programs) and programs <= _OWN_PROGRAMS


def _line_in(given: Mapping[str, object]) -> str:
    """Return the line in the input of a shell tool."""
    line = given.get("command", given.get("cmd", ""))
    if isinstance(line, list):
        is_shell = len(line) == 3 and str(line[1]).startswith("-")  # noqa: PLR2004 - sh -c TEXT
        line = line[-1] if is_shell else " ".join(map(str, line))
    return line[:_LONGEST_LINE] if isinstance(line, str) else ""


def _command_globs(argument: str) -> list[list[str]]:
    """Return the globs that match the commands of a pattern; ` *` and `:*` at its end match any words or none."""
    for ending in (":*", " *"):
        if argument.endswith(ending):
            stem = argument[: -len(ending)]
            return [stem.split("*"), [*f"{stem} ".split("*"), ""]]
    return [argument.split("*")]


def _matches_command(pattern: _Pattern, used: ToolUse) -> bool:
    for command in used.spellings:
        for parts in pattern.command_globs:
            if _fits(parts, command):
                return True
    return False


def _glob(pattern: str, text: str) -> bool:
    """Return whether *text* matches *pattern*, in which only `*` is special."""
    return _fits(pattern.split("*"), text)


def _fits(parts: Sequence[str], text: str) -> bool:
    """Return whether *text* consists of these parts in their order, with any text between them."""
    if not text.startswith(parts[0]):
        return False
    if len(parts) == 1:
        return text == parts[0]
    position, last = len(parts[0]), parts[-1]
    for part in parts[1:-1]:  # the first place of each part leaves the most text for the others
        found = text.find(part, position)
        if found < 0:
            return False
        position = found + len(part)
    return text.endswith(last) and position + len(last) <= len(text)


# --- paths and sites ----------------------------------------------------------------------------------


def _files(used: ToolUse) -> list[str]:
    named = [str(used.input[key]) for key in _PATHS if isinstance(used.input.get(key), str)]
    patch = used.input.get("command", used.input.get("input")) if used.tool == "apply_patch" else None
    return [*named, *(re.findall(_PATCHED, patch[:_LONGEST_LINE]) if isinstance(patch, str) else ())]


def _not_in_work(paths: Iterable[str], used: ToolUse) -> list[str]:
    if not used.work:
        return list(paths)
    folder = _real(os.path.join(used.project, used.work))
    return [path for path in paths if not _real(os.path.join(used.cwd, path)).startswith(f"{folder}{os.sep}")]


def _is_path(pattern: str, path: str, used: ToolUse) -> bool:
    """Return whether *pattern* matches a file, as in `.gitignore`, relative to the project.

    `//x` is from the root, `~/x` from home; a pattern without a slash matches at any depth. A file
    behind a link is matched by its path and by the path that the link leads to.
    """
    full = os.path.normpath(os.path.join(used.cwd, path))
    if pattern.startswith("//"):
        base, inner = "/", pattern[2:]
    elif pattern.startswith("~/"):
        base, inner = used.home, pattern[2:]
    else:
        base, inner = used.project, pattern.removeprefix("./").removeprefix("/")
        if "/" not in pattern.rstrip("/"):
            inner = f"**/{inner}"
    parts = [part for part in inner.split("/") if part]
    return _is_below(os.path.normpath(base), full, parts) or _is_below(_real(base), _real(full), parts)


def _is_below(folder: str, path: str, pattern: Sequence[str]) -> bool:
    """Return whether *path* is in a folder and matches *pattern* there."""
    start = folder.rstrip(os.sep) + os.sep
    return f"{path}{os.sep}".startswith(start) and _along(pattern, path[len(start) :].split(os.sep))


def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):  # an impossible file name
        return path


def _along(pattern: Sequence[str], path: Sequence[str]) -> bool:
    """Return whether *pattern* matches the parts of a path or of a folder above it; `**` matches any number."""
    reached = {0}
    for part in (*path, ""):
        for index, wanted in enumerate(pattern):
            if wanted == "**" and index in reached:
                reached.add(index + 1)
        if len(pattern) in reached:
            return True
        reached = {
            index if pattern[index] == "**" else index + 1
            for index in reached
            if pattern[index] == "**" or _glob(pattern[index], part)
        }
    return False


def _is_site(domain: str, url: str) -> bool:
    match = re.match(_HOST, url)
    return match is not None and _glob(domain.lower(), match[1].lower())
