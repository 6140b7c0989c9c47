"""Codes and exit statuses are promises: scripts and agents act on them."""

from __future__ import annotations

import ast
import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from support.golden import as_in_golden_file

import flowrail
from flowrail.error_codes import CODES
from flowrail.errors import FlowError

PACKAGE = Path(flowrail.__file__).parent


def error_classes() -> dict[str, type[FlowError]]:
    """Return every class of error that any module of ours defines, by name."""
    for module in pkgutil.walk_packages(flowrail.__path__, "flowrail."):
        if not module.name.endswith("__main__"):
            try:
                import_module(module.name)
            except ModuleNotFoundError as missing:  # modules that need an extra define no errors
                if str(missing.name).startswith("flowrail"):
                    raise
    found: dict[str, type[FlowError]] = {}
    pending: list[type[FlowError]] = [FlowError]
    while pending:
        error = pending.pop()
        pending += error.__subclasses__()
        if error.__module__.startswith("flowrail."):
            found[error.__name__] = error
    return found


def raised_with_a_code() -> Iterator[tuple[str, str]]:
    """Yield the class and the code of every error that is made with one."""
    for file in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and (node.func.id.endswith("Error") or node.func.id == "unknown")
            ):
                for value in (keyword.value for keyword in node.keywords if keyword.arg == "code"):
                    choices = (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,)
                    for given in choices:
                        if isinstance(given, ast.Constant):
                            yield node.func.id.replace("unknown", "UsageError"), str(given.value)


def test_every_code_has_its_status_in_one_list() -> None:
    assert as_in_golden_file(
        "error_codes.txt", "\n".join(sorted(f"{row.exit_status} {code}" for code, row in CODES.items()))
    )


def test_every_error_has_a_code_of_the_table_and_its_status() -> None:
    classes = error_classes()

    used = {(error.code, error.exit_status) for error in classes.values()}
    used |= {(code, classes[name].exit_status) for name, code in raised_with_a_code()}

    assert used == {(code, row.exit_status) for code, row in CODES.items()}
    assert {row.exit_status for row in CODES.values()} == set(range(1, 8))


def test_a_row_says_when_and_what_to_do_in_sentences() -> None:
    for code, row in CODES.items():
        assert re.fullmatch(r"[A-Z]+(_[A-Z]+)*", code)
        for text in (row.when, row.do):
            assert text[0].isupper() or text[0] == "`"
            assert text.endswith(".")
