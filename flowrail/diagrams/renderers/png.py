"""Convert SVG to PNG with the extra `png`."""

from __future__ import annotations

import math
import re

from flowrail.diagrams.layout.layout import PictureTooLargeError
from flowrail.errors import UsageError

ZOOM, LEAST_ZOOM = 2.0, 0.5
LARGEST_SIDE, MOST_PIXELS = 16_000, 8_000_000
"""More is refused or uses too much memory: up to ten bytes per pixel."""
_SIZE = re.compile(r'<svg [^>]*viewBox="0 0 ([0-9.]+) ([0-9.]+)"')


class NoPngError(UsageError):
    """The extra that converts SVG to PNG is not installed."""

    code = "PNG_NOT_POSSIBLE"


def render(svg: str) -> bytes:
    """Return *svg* as PNG: twice as large, or smaller if that would be too large."""
    zoom = _zoom(svg)
    try:
        import resvg_py  # an extra
    except ImportError:
        raise NoPngError(
            "nothing that converts SVG to PNG is installed",
            hint="pip install 'flowrail[png]', or use --format svg",
        ) from None
    return bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=zoom))


def _zoom(svg: str) -> float:
    match = _SIZE.match(svg)
    width, height = (max(1.0, float(size)) for size in match.groups()) if match else (1.0, 1.0)
    zoom: float = min(ZOOM, LARGEST_SIDE / max(width, height), math.sqrt(MOST_PIXELS / (width * height)))
    if zoom < LEAST_ZOOM:
        raise PictureTooLargeError(
            f"the drawing is {width:.0f} by {height:.0f} pixels, too large for a readable PNG",
            hint="use a format without pixels, such as --format svg",
            wide=round(width),
            high=round(height),
        )
    return zoom
