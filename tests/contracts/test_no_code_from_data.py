"""What the code itself says: code is made in one place, and modules are imported by fixed names.

`tests/hostile/test_nothing_runs.py` shows it by what happens.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import flowrail

ALLOWED = {
    "exec": {"machines/loading/run_python.py"},
    "compile": {"machines/loading/run_python.py"},
    "import_module": {
        "__init__.py",
        "formatters/__init__.py",
        "machines/__init__.py",
        "cli/main.py",
        "cli/lazy_imports.py",
        "discovery/__init__.py",
        "machines/loading/packages.py",
    },
    "find_spec": {"machines/loading/packages.py", "errors.py"},
}
"""Where code may be made out of something, and modules imported by a name that is made at run time."""
NEVER = {
    "eval",
    "__import__",
    "spec_from_file_location",
    "module_from_spec",
    "exec_module",
    "run_path",
    "run_module",
}
NEVER |= {
    "system",
    "popen",
    "getoutput",
    "load_source",
    "unsafe_load",
    "full_load",
    "execl",
    "execv",
    "execvp",
}
MODULES = {
    "runpy",
    "pickle",
    "marshal",
    "shelve",
    "dill",
    "imp",
    "code",
    "codeop",
    "zipimport",
    "pkgutil",
    "site",
}


@cache
def trees() -> tuple[tuple[str, ast.Module], ...]:
    root = Path(flowrail.__file__).parent
    return tuple(
        (str(path.relative_to(root)), ast.parse(path.read_bytes())) for path in sorted(root.rglob("*.py"))
    )


def called(node: ast.Call) -> str:
    function = node.func
    if isinstance(function, ast.Name):
        return function.id
    return function.attr if isinstance(function, ast.Attribute) and function.attr != "compile" else ""


def is_ours(call: ast.Call) -> bool:
    """Return whether what is imported is named there and then, or is a module of ours."""
    if called(call) not in {"import_module", "find_spec"} or not call.args:
        return False
    name = call.args[0]
    if isinstance(name, ast.JoinedStr):
        name = name.values[0]
        return isinstance(name, ast.Constant) and str(name.value).startswith("flowrail.")
    return isinstance(name, ast.Constant)


def test_code_is_made_in_one_place_and_modules_are_imported_by_fixed_names() -> None:
    found: dict[str, set[str]] = {}
    for path, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and called(node) in {*ALLOWED, *NEVER} and not is_ours(node):
                found.setdefault(called(node), set()).add(path)
            if isinstance(node, ast.keyword) and node.arg == "shell":
                found.setdefault("shell=", set()).add(path)

    assert set(found) <= set(ALLOWED)
    for name, where in found.items():
        assert where <= ALLOWED[name], name


def test_nothing_that_loads_code_from_data_is_imported() -> None:
    for path, tree in trees():
        names = {
            name.partition(".")[0]
            for node in ast.walk(tree)
            for name in (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
        }
        assert not names & MODULES, path


def test_pythons_path_is_left_alone() -> None:
    for path, tree in trees():
        touched = [
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and node.attr in {"path", "meta_path", "path_hooks", "path_importer_cache"}
            and isinstance(node.value, ast.Name)
            and node.value.id == "sys"
        ]
        known = {"__main__.py", "cli/lazy_imports.py", "mcp/forgetting.py"}
        assert not touched or path in known, path
