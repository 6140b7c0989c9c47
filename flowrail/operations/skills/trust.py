"""What a person should know before a folder's code may run: files, imports, reach."""

from __future__ import annotations

import ast
import os
from collections.abc import Collection, Iterable, Iterator

from flowrail.approval import (
    Snapshot,
    file_called,
    forget,
    is_name,
)
from flowrail.discovery.locations import Root
from flowrail.discovery.scan.declaration import read_metadata
from flowrail.discovery.scan.frontmatter import read_frontmatter
from flowrail.discovery.scan.scan import SKILL_FILE
from flowrail.machines.loading.python_source import UNREADABLE, TooMuchError, parsed
from flowrail.machines.loading.skill_folder import LARGEST_PYTHON
from flowrail.skills.catalog import OWN_SCOPES, Found, UnknownSkillError, find, places

MOST_NAMES = 60
LARGEST_TOGETHER = 500_000
"""So many bytes of Python in one folder are looked into."""
_REACHES = {
    "starts processes": {
        "_posixsubprocess", "anyio", "asyncio", "concurrent", "multiprocessing", "os", "pexpect", "plumbum", "posix",
        "pty", "sh", "shutil", "subprocess", "trio", "webbrowser",
    },
    "opens the network": {
        "_socket", "aiohttp", "anyio", "asyncio", "ftplib", "http", "httpx", "imaplib", "nntplib", "paramiko", "poplib",
        "requests", "smtplib", "socket", "socketserver", "ssl", "telnetlib", "trio", "urllib", "urllib3", "webbrowser",
        "websockets", "wsgiref", "xmlrpc",
    },
    "loads other code": {
        "_ctypes", "_imp", "bdb", "builtins", "cProfile", "cffi", "cloudpickle", "code", "codeop", "ctypes", "dill",
        "doctest", "gc", "imp", "importlib", "inspect", "marshal", "pdb", "pickle", "pkgutil", "profile", "pydoc",
        "runpy", "shelve", "site", "sqlite3", "sys", "timeit", "trace", "unittest", "zipimport",
    },
}  # fmt: skip
"""What modules are for that reach out of the process; of what is known, for there is no end of them."""
_BUILT_IN = frozenset(
    {
        "exec", "eval", "compile", "breakpoint", "getattr", "globals", "locals", "vars", "__import__", "__builtins__",
        "__loader__",
    }
)  # fmt: skip
_INNER = frozenset(
    {
        "exec", "eval", "__subclasses__", "__globals__", "__builtins__", "__import__", "__loader__", "__code__",
        "__self__", "__dict__", "__getattribute__", "f_globals",
        "f_builtins", "f_locals", "tb_frame", "gi_frame", "cr_frame", "ag_frame", "attrgetter", "methodcaller",
        "get_field", "get_type_hints",
    }
)  # fmt: skip
"""Names that come without an import and load code, by themselves or as what hangs on another."""
_THROUGH = frozenset(
    {
        "asyncio", "builtins", "ctypes", "importlib", "multiprocessing", "os", "posix", "pty", "runpy", "shutil",
        "socket", "subprocess", "sys", "urllib",
    }
)  # fmt: skip
"""Modules that many others have imported, so that they are reached through those: ``random._os``."""
_CLOSED = (".pyc", ".pyo", ".pyd", ".so", ".dylib", ".dll", ".zip", ".pyz", ".whl", ".egg")


def find_folder(name: str, roots: Iterable[Root]) -> Found:
    """Return the skill of that name whose folder is to be allowed, or not any more.

    One without a workflow counts too: its health check is a program. It comes after a workflow of that
    name, unless that one is the user's own and needs no leave.
    """
    standing = list(roots)
    card = _card(name, standing)
    try:
        found = find(name, standing)
    except UnknownSkillError:
        if card is None:
            raise
        return card
    return card if card is not None and found.source in OWN_SCOPES else found


def take_back(name: str, roots: Iterable[Root], state: str) -> tuple[str, bool]:
    """Take back what was allowed of the nearest skill of that name; return its folder, and whether anything was.

    What was allowed once is taken back whatever it is called, and whether or not a skill lies there still.
    """
    standing = list(roots)
    plain = name == os.path.basename(name) and name not in {"", os.curdir, os.pardir}
    beside = [os.path.join(root, name) for _, root in places(standing)] if plain else []
    try:
        nearest = find_folder(name, standing).folder
    except UnknownSkillError:
        taken = next((folder for folder in beside if forget(folder, state)), None)
        if taken is None:
            raise
        return taken, True
    taken = next((folder for folder in (nearest, *beside) if forget(folder, state)), None)
    return taken or nearest, taken is not None


def _card(name: str, roots: Iterable[Root]) -> Found | None:
    """Return the nearest skill of a project that is called *name* and has no workflow of its own.

    A name that could pass for something else in the question to a person is none.
    """
    if name != os.path.basename(name) or not is_name(name):
        return None
    folders = ((source, os.path.join(root, name)) for source, root in places(roots))
    return next(
        (
            Found(name, folder, source)
            for source, folder in folders
            if source not in OWN_SCOPES and _has_card(folder)
        ),
        None,
    )


def _has_card(folder: str) -> bool:
    """Return whether a card lies in *folder*, be it called so in small letters, as discovery takes it."""
    if os.path.isfile(os.path.join(folder, SKILL_FILE)):
        return True
    try:
        names = [name for name in os.listdir(folder) if name.lower() == SKILL_FILE.lower()]
    except OSError:
        return False
    return any(os.path.isfile(os.path.join(folder, name)) for name in names)


def about(now: Snapshot) -> Iterator[str]:
    """Yield lines that describe *now*: what is in it, and what its Python may reach."""
    yield f"folder {now.folder}"
    yield f"digest {now.digest}"
    for path, mark in now.files.items():
        yield f"  {path} ({len(now.contents[path])} bytes{', executable' if mark.startswith('x') else ''})"
    yield from _runs(now)
    imports: set[str] = set()
    through: set[str] = set()
    built_in: set[str] = set()
    for path, data, most in _python(now):
        try:
            tree = _tree(data, most)
        except TooMuchError:
            yield f"{path} is too large to look into"
        except UNREADABLE:
            yield f"{path} is no Python that can be read"
        else:
            imports |= _imports(tree)
            hanging = _hanging(tree)
            through |= {name.lstrip("_") for name in hanging} & _THROUGH
            built_in |= _named(tree) & _BUILT_IN | hanging & _INNER
    if imports:
        yield f"imports {_listed(imports)}"
    for what, modules in _REACHES.items():
        reached = sorted(
            ((imports | through) & modules) | (built_in if what == "loads other code" else set())
        )
        if reached:
            yield f"may be code that {what}: {', '.join(reached)}"
    closed = [path for path in now.contents if path.lower().endswith(_CLOSED)]
    if closed:
        yield f"is compiled or packed and was not looked into: {_listed(closed)}"


def _runs(now: Snapshot) -> Iterator[str]:
    """Yield what would be started: the workflow's own code, and the health check."""
    if "workflow.yaml" not in now.contents and "workflow.py" in now.contents:
        yield "runs workflow.py whenever a step of it is shown or reported"
    front = read_frontmatter(now.contents.get(file_called(now, SKILL_FILE), b""), SKILL_FILE)
    command = read_metadata(front, SKILL_FILE).declared.health_check
    if command:
        yield f"runs, when a health check is asked for: {command}"


def _listed(names: Collection[str]) -> str:
    shown = [name[:60] for name in sorted(names)[:MOST_NAMES]]
    return ", ".join(shown) + (f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else "")


def _python(now: Snapshot) -> Iterator[tuple[str, bytes, int]]:
    """Yield each Python file with how large it may be to be looked into."""
    left = LARGEST_TOGETHER
    for path, data in now.contents.items():
        if path.endswith(".py"):
            most = min(left, LARGEST_PYTHON)
            left -= len(data) if len(data) <= most else 0
            yield path, data, most


def _tree(data: bytes, most: int) -> ast.Module:
    if len(data) > most:
        raise TooMuchError(f"has more than {most} bytes")
    return parsed(data)


def _imports(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add("." * node.level + node.module.partition(".")[0])
    return names


def _named(tree: ast.Module) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _hanging(tree: ast.Module) -> set[str]:
    """Return the names of all that is taken from something else, be it by a dot, an import or a pattern."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.MatchClass):
            names |= set(node.kwd_attrs)
    return names
