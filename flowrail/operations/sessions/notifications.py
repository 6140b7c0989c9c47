"""Tell the user that a session starts to wait for a person: with the user's command, or as a message of the desktop."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from flowrail.operations.board import Group, ListedSession
from flowrail.operations.environment import Environment
from flowrail.operations.steps.people import page_address
from flowrail.storage.configuration import read_configuration
from flowrail.storage.files import sha256_hex
from flowrail.text.placeholders import fill

_KEPT_SECONDS = 86_400.0
_ON_MACOS = "on run argv", "display notification (item 2 of argv) with title (item 1 of argv)", "end run"


class Notifications:
    """Runs a command for each session that starts to need a person, from the second `update` on.

    That is the command of the user's configuration, or with *on_desktop* the one that shows a message there. If several
    programs of the user notice the same record, such as `watch` and `ui`, one of them runs it.
    """

    def __init__(self, environment: Environment, *, on_desktop: bool) -> None:
        self._environment = environment
        configured = read_configuration(environment.environ, environment.home).notify
        self._command = configured or (desktop_command(environment.environ) if on_desktop else ())
        self._waiting: frozenset[str] | None = None
        self._claims = os.path.join(environment.state, "notified")
        self._forget_old()

    def update(self, entries: Sequence[ListedSession]) -> bool:
        """Return whether one of *entries* has started to need a person since the last call."""
        waiting = {entry.session: entry for entry in entries if entry.group is Group.NEEDS_YOU}
        before, self._waiting = self._waiting, frozenset(waiting)
        started = (
            [] if before is None else [entry for entry in waiting.values() if entry.session not in before]
        )
        for entry in started if self._command else ():
            if self._claim(entry):
                self._notify(entry)
        return bool(started)

    def _claim(self, entry: ListedSession) -> bool:
        """Return whether no other program has told the user of this record."""
        name = sha256_hex(f"{entry.session}\0{entry.head}\0{entry.reason}".encode())
        try:
            os.makedirs(self._claims, mode=0o700, exist_ok=True)
            os.close(os.open(os.path.join(self._claims, name), os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            return False
        except OSError:  # told twice is better than not told
            return True
        return True

    def _forget_old(self) -> None:
        with suppress(OSError), os.scandir(self._claims) as claims:
            for claim in claims:
                if time.time() - claim.stat().st_mtime > _KEPT_SECONDS:
                    os.unlink(claim.path)

    def _notify(self, entry: ListedSession) -> None:
        values = {
            "topic": entry.topic or entry.session,
            "reason": entry.reason,
            "skill": entry.skill,
            "session": entry.session,
            "page": page_address(self._environment, entry.session),
        }
        words = [fill(word, values) for word in self._command]
        try:
            subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        except OSError as error:
            self._environment.tell(
                f"`{words[0]}` could not be run ({error.strerror}); see `notify` in the configuration"
            )


def desktop_command(environ: Mapping[str, str]) -> Sequence[str]:
    """Return the command that shows a message on this desktop; empty without one."""
    if sys.platform == "darwin":
        return ["osascript", *(word for line in _ON_MACOS for word in ("-e", line)), "$topic", "$reason"]
    if (environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY")) and shutil.which("notify-send"):
        return ["notify-send", "--", "$topic", "$reason"]
    return ()
