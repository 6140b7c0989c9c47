"""A picture as PNG, by whatever is there that can: the extra `png`, or a program that turns SVG into PNG."""

from __future__ import annotations

import importlib
import shutil
import subprocess
from collections.abc import Callable, Sequence

from flowrail.errors import FlowError, UsageError

PROGRAMS: tuple[tuple[str, Sequence[str]], ...] = (
    ("rsvg-convert", ("--format=png", "--zoom=2")),
    ("resvg", ("--zoom", "2", "-", "-c")),
)
SECONDS = 60.0
LARGEST_SIDE = 16_000
"""In pixels; the tools refuse more, or take all memory."""


class NoPngError(UsageError):
    """Nothing that is installed turns a drawing into PNG."""

    code = "PNG_NOT_POSSIBLE"


class PngFailedError(FlowError):
    """The tool that turns a drawing into PNG did not."""

    code = "PNG_FAILED"


def render(svg: str, *, find: Callable[[str], str | None] = shutil.which) -> bytes:
    """Return the SVG document *svg* as PNG, twice as large, in the light colours."""
    converted = _by_package(svg)
    if converted is not None:
        return converted
    for program, words in PROGRAMS:
        path = find(program)
        if path is not None:
            return _by_program([path, *words], svg)
    raise NoPngError(
        "nothing here turns a drawing into PNG",
        hint="`pip install 'flowrail[png]'`, or install rsvg-convert (apt-get install librsvg2-bin, "
        "brew install librsvg); --format svg needs nothing",
    )


def _by_package(svg: str) -> bytes | None:
    try:
        package = importlib.import_module("resvg_py")
    except ImportError:
        return None
    return bytes(package.svg_to_bytes(svg_string=svg, zoom=2))


def _by_program(command: Sequence[str], svg: str) -> bytes:
    try:
        done = subprocess.run(command, input=svg.encode(), capture_output=True, check=False, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _failed(command[0], str(error)) from None
    if done.returncode or not done.stdout.startswith(b"\x89PNG"):
        raise _failed(command[0], done.stderr.decode("utf-8", "replace"))
    return done.stdout


def _failed(program: str, told: str) -> PngFailedError:
    return PngFailedError(
        f"{program} could not turn the drawing into PNG: {' '.join(told.split())[:200]}",
        hint="--format svg needs nothing of the kind",
        program=program,
    )
