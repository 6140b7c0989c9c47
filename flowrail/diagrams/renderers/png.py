"""A picture as PNG, by whatever is there that can: the extra `png`, or a program that turns SVG into PNG."""

from __future__ import annotations

import importlib
import math
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence

from flowrail.diagrams.layout.layers import PictureTooLargeError
from flowrail.errors import FlowError, UsageError

PROGRAMS: tuple[tuple[str, Sequence[str]], ...] = (
    ("rsvg-convert", ("--format=png", "--zoom")),
    ("resvg", ("-", "-c", "--zoom")),
)
"""Each is told last how much larger than the drawing its picture is to be."""
SECONDS = 60.0
ZOOM, LEAST_ZOOM = 2.0, 0.5
LARGEST_SIDE, MOST_PIXELS = 16_000, 8_000_000
"""The tools refuse more, or take all memory: a pixel takes up to ten bytes."""
_SIZE = re.compile(r'<svg [^>]*viewBox="0 0 ([0-9.]+) ([0-9.]+)"')


class NoPngError(UsageError):
    """Nothing that is installed turns a drawing into PNG."""

    code = "PNG_NOT_POSSIBLE"


class PngFailedError(FlowError):
    """The tool that turns a drawing into PNG did not."""

    code = "PNG_FAILED"


def render(svg: str, *, find: Callable[[str], str | None] = shutil.which) -> bytes:
    """Return the SVG document *svg* as PNG, in the light colours: twice as large, less where it would be too large."""
    zoom = _zoom(svg)
    converted = _by_package(svg, zoom)
    if converted is not None:
        return converted
    for program, words in PROGRAMS:
        path = find(program)
        if path is not None:
            return _by_program([path, *words, f"{zoom:.3f}"], svg)
    raise NoPngError(
        "nothing here turns a drawing into PNG",
        hint="`pip install 'flowrail[png]'`, or install rsvg-convert (apt-get install librsvg2-bin, "
        "brew install librsvg); --format svg needs nothing",
    )


def _zoom(svg: str) -> float:
    found = _SIZE.match(svg)
    wide, high = (max(1.0, float(each)) for each in found.groups()) if found else (1.0, 1.0)
    zoom: float = min(ZOOM, LARGEST_SIDE / max(wide, high), math.sqrt(MOST_PIXELS / (wide * high)))
    if zoom < LEAST_ZOOM:
        raise PictureTooLargeError(
            f"the drawing is {wide:.0f} wide and {high:.0f} high, and nobody could read it in {LARGEST_SIDE} pixels",
            hint="take a format without pixels, such as --format svg",
            wide=round(wide),
            high=round(high),
        )
    return zoom


def _by_package(svg: str, zoom: float) -> bytes | None:
    try:
        package = importlib.import_module("resvg_py")
    except ImportError:
        return None
    return bytes(package.svg_to_bytes(svg_string=svg, zoom=zoom))


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
