"""A target's own check: a program with its arguments, never a shell, under a time limit.

It runs only when somebody asked for it, and of a project's skill only when a person allowed exactly
that folder's content. Its whole process group ends with it, its environment holds nothing of ours, and
its output is kept short.
"""

from __future__ import annotations

import os
import selectors
import shlex
import signal
import subprocess
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import NamedTuple

from flowrail import approval
from flowrail.discovery.candidate import Candidate
from flowrail.discovery.locations import Scope
from flowrail.discovery.scan.declaration import read_metadata
from flowrail.discovery.scan.frontmatter import read_frontmatter
from flowrail.errors import TrustError

SECONDS = 10.0
LONGEST_OUTPUT = 2000
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR")


class Health(NamedTuple):
    """How a check went: whether well, what it said, how long it took."""

    good: bool
    told: str
    seconds: float = 0.0


def may_run(candidate: Candidate, state: str, own: Collection[str]) -> None:
    """Refuse with `TrustError` where nobody allowed that skill to run, or its card says another command by now."""
    folder = os.path.dirname(candidate.path)
    if candidate.scope is Scope.GLOBAL or candidate.root in own:
        return
    root = candidate.root if candidate.scope in {Scope.EXTRA, Scope.REGISTRY} else ""
    why = "declares a health check, which is a program"
    now = approval.require(folder, state, skill=candidate.skill, why=why, root=root)
    if candidate.health_check != _declared(now, candidate):
        raise TrustError(
            f"skill `{candidate.skill}` declares another health check in what was allowed than was found before",
            hint="run the same command again; where that changes nothing, its card is read in two ways: "
            "begin it with `---` and end its frontmatter with the same",
            skill=candidate.skill,
            folder=now.folder,
        )


def check(candidate: Candidate, environ: Mapping[str, str], *, seconds: float = SECONDS) -> Health:
    """Run the check that *candidate* declares and return how it went."""
    try:
        words = shlex.split(candidate.health_check or "")
    except ValueError as error:
        return Health(False, f"its health check cannot be read: {str(error).lower()}")
    if not words:
        return Health(True, "it declares no health check")
    if candidate.remote:
        return Health(False, "it lives elsewhere, so its health check cannot run here")
    return _run(words, os.path.dirname(candidate.path), environ, seconds)


def _declared(now: approval.Snapshot, candidate: Candidate) -> str | None:
    """Return the check in the card that was allowed; the user's own registry may add one where it has none."""
    card = approval.file_called(now, os.path.basename(candidate.path))
    declared = read_metadata(read_frontmatter(now.contents.get(card, b""), card), card).declared.health_check
    added = declared is None and candidate.origins.get("health_check") == "registry"
    return candidate.health_check if added else declared


def _run(words: list[str], folder: str, environ: Mapping[str, str], seconds: float) -> Health:
    clean = {name: environ[name] for name in _PASSED_ON if name in environ}
    begun = time.monotonic()
    try:
        child = subprocess.Popen(
            words,
            cwd=folder,
            env=clean,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        return Health(False, f"`{words[0]}` cannot be started: {getattr(error, 'strerror', None) or error}")
    with child:
        try:
            said, in_time = _listen(child, begun + seconds)
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
    took = time.monotonic() - begun
    if not in_time:
        return Health(False, f"it took more than {seconds:g} seconds{_quoted(said)}", took)
    if child.returncode:
        how = (
            f"ended with {child.returncode}" if child.returncode > 0 else f"was killed by {-child.returncode}"
        )
        return Health(False, f"it {how}{_quoted(said)}", took)
    return Health(True, f"it ended well{_quoted(said)}", took)


def _listen(child: subprocess.Popen[bytes], deadline: float) -> tuple[str, bool]:
    """Return what *child* said, cut short, and whether it ended by the *deadline*."""
    said, ended = b"", False
    pipe = child.stdout
    assert pipe is not None  # noqa: S101 - asked for above
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while not ended and (left := deadline - time.monotonic()) > 0:
            ended = child.poll() is not None
            if selector.select(0 if ended else min(left, 0.02)):
                piece = os.read(pipe.fileno(), 65_536)
                said = (said + piece)[:LONGEST_OUTPUT]
                ended = ended and not piece
                if not piece:
                    return said.decode("utf-8", "replace"), _ends(child, deadline)
    return said.decode("utf-8", "replace"), ended


def _ends(child: subprocess.Popen[bytes], deadline: float) -> bool:
    try:
        child.wait(max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True


def _quoted(said: str) -> str:
    text = " ".join(said.split())
    return f": {text[:200]}" if text else ""
