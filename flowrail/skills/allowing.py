"""What a person should know before a folder's code may run: files, imports, reach."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flowrail.trust import Snapshot

_REACHES = {
    "starts processes": {"subprocess", "os", "multiprocessing", "pty", "shutil"},
    "opens the network": {
        "socket",
        "ssl",
        "urllib",
        "http",
        "ftplib",
        "smtplib",
        "requests",
        "httpx",
        "aiohttp",
    },
    "loads other code": {"importlib", "runpy", "ctypes", "pickle", "marshal", "code"},
}


def about(now: Snapshot) -> Iterator[str]:
    """Yield lines that describe *now*: what is in it, and what its Python may reach."""
    yield f"folder {now.folder}"
    yield f"digest {now.digest}"
    for path, mark in now.files.items():
        yield f"  {path} ({len(now.contents[path])} bytes{', executable' if mark.startswith('x') else ''})"
    imports: set[str] = set()
    for path, data in now.contents.items():
        if path.endswith(".py"):
            names = _imports(data)
            if names is None:
                yield f"{path} is no Python that can be read"
            else:
                imports |= names
    if imports:
        yield f"imports {', '.join(sorted(imports))}"
    for what, modules in _REACHES.items():
        reached = sorted(imports & modules)
        if reached:
            yield f"may be code that {what}: {', '.join(reached)}"


def _imports(data: bytes) -> set[str] | None:
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in {"exec", "eval", "__import__"}
        ):
            names.add(node.func.id)
    return names
