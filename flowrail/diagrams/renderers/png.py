"""Convert SVG to PNG with the extra `png` or an installed program."""

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
"""Programs and their options; the zoom factor follows."""
SECONDS = 60.0
ZOOM, LEAST_ZOOM = 2.0, 0.5
LARGEST_SIDE, MOST_PIXELS = 16_000, 8_000_000
"""The programs refuse more or use too much memory: up to ten bytes per pixel."""
_SIZE = re.compile(r'<svg [^>]*viewBox="0 0 ([0-9.]+) ([0-9.]+)"')


class NoPngError(UsageError):
    """No installed program converts SVG to PNG."""

    code = "PNG_NOT_POSSIBLE"


class PngFailedError(FlowError):
    """The program that converts SVG to PNG failed."""

    code = "PNG_FAILED"


def render(svg: str, *, find: Callable[[str], str | None] = shutil.which) -> bytes:
    """Return *svg* as PNG: twice as large, or smaller if that would be too large."""
    zoom = _zoom(svg)
    converted = _by_package(svg, zoom)
    if converted is not None:
        return converted
    for program, words in PROGRAMS:
        path = find(program)
        if path is not None:
            return _by_program([path, *words, f"{zoom:.3f}"], svg)
    raise NoPngError(
        "no program that converts SVG to PNG is installed",
        hint="install one: pip install 'flowrail[png]', apt-get install librsvg2-bin or brew install librsvg; "
        "or use --format svg",
    )


def _zoom(svg: str) -> float:
    found = _SIZE.match(svg)
    wide, high = (max(1.0, float(size)) for size in found.groups()) if found else (1.0, 1.0)
    zoom: float = min(ZOOM, LARGEST_SIDE / max(wide, high), math.sqrt(MOST_PIXELS / (wide * high)))
    if zoom < LEAST_ZOOM:
        raise PictureTooLargeError(
            f"the drawing is {wide:.0f} by {high:.0f} pixels, too large for a readable PNG",
            hint="use a format without pixels, such as --format svg",
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
        process = subprocess.run(
            command, input=svg.encode(), capture_output=True, check=False, timeout=SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _failed(command[0], str(error)) from None
    if process.returncode or not process.stdout.startswith(b"\x89PNG"):
        raise _failed(command[0], process.stderr.decode("utf-8", "replace"))
    return process.stdout


def _failed(program: str, reason: str) -> PngFailedError:
    return PngFailedError(
        f"{program} could not convert the drawing to PNG: {' '.join(reason.split())[:200]}",
        hint="use --format svg",
        program=program,
    )
