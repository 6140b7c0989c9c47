"""Files that a command writes where its user says, as by `--output`."""

from __future__ import annotations

from flowrail.cli import output
from flowrail.storage.files import write_output


def write(path: str, content: bytes, *, mode: int = 0o644) -> None:
    """Write *content* to a file that the user named; ``/dev/stdout`` is where answers go."""
    if path == "/dev/stdout":
        output.put_bytes(content)
    else:
        write_output(path, content, mode=mode)
