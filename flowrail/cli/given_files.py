"""Facts and texts that a command is given in a file or on standard input."""

from __future__ import annotations

import os
import sys

from flowrail.errors import DocumentError
from flowrail.storage.files import read_bounded
from flowrail.text import json as strict_json
from flowrail.text import size_limits
from flowrail.text.safe_text import decode


def read_text(name: str, *, label: str) -> tuple[str, str]:
    """Return the text of the file *name*, or of standard input for ``-``, and its name for messages."""
    source = "standard input" if name == "-" else name
    if name == "-":
        data = sys.stdin.buffer.read(size_limits.JSON_BYTES + 1)
        if len(data) > size_limits.JSON_BYTES:
            raise DocumentError(
                f"has more than {size_limits.JSON_BYTES} bytes", hint="shorten it", place=source
            )
    else:
        data = read_bounded(name, limit=size_limits.JSON_BYTES, what=label, follow=True)
    return decode(data, source=source), source


def read_given(text: str, *, label: str) -> tuple[str, str]:
    """Return a document that was given itself, in a file, or on standard input, and its name for messages."""
    is_given = text.lstrip()[:1] in {"{", "[", "<"} or (" " in text and not os.path.exists(text))
    return (text, label) if is_given else read_text(text, label=label)


def read_facts(name: str) -> dict[str, object]:
    """Return the object in the file *name*, or on standard input for ``-``."""
    text, source = read_text(name, label="the file of facts")
    value = strict_json.load(text, source=source)
    if not isinstance(value, dict):
        raise DocumentError("does not contain a JSON object", hint='write {"name": value}', place=source)
    return value
