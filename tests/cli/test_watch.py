"""`flow watch` in a real terminal and in a pipe."""

from __future__ import annotations

import fcntl
import json
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

import pytest
from support.forked import start, start_at_terminal
from support.sandbox import flow, put_skill, told
from support.web import APPROVAL

from flowrail.operations.board import Board
from flowrail.operations.environment import Environment
from flowrail.operations.sessions.notifications import Notifications

SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Screen:
    """A terminal in which a command runs."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.output = ""

    def wait_for(self, text: str) -> str:
        """Read until *text* was written, and return what was written since the screen was last drawn."""
        end = time.monotonic() + 30
        while text not in SEQUENCE.sub("", self.output):
            assert time.monotonic() < end, self.output
            if select.select([self._descriptor], [], [], 0.2)[0]:
                self.output += os.read(self._descriptor, 1 << 16).decode()
        return SEQUENCE.sub("", self.output.rpartition("\x1b[H")[2])


@contextmanager
def watching(*options: str, columns: int = 80) -> Iterator[Screen]:
    """Run `flow watch` in a terminal of so many columns, and end it as Ctrl+C does."""

    def prepare() -> None:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))

    environ = {**os.environ, "TERM": "xterm-256color"}
    child, descriptor = start_at_terminal(["watch", *options], env=environ, prepare=prepare)
    try:
        yield Screen(descriptor)
    finally:
        child.send_signal(signal.SIGINT)
        end = time.monotonic() + 20
        while child.poll() is None and time.monotonic() < end:
            if select.select([descriptor], [], [], 0.1)[0]:
                with suppress(OSError):  # the other side is closed
                    os.read(descriptor, 1 << 16)
        os.close(descriptor)
        assert child.poll() == 0


def started(version: str = "1.4.0") -> str:
    put_skill("release", APPROVAL)
    return str(told("step", "release", "--new", "-p", f"version={version}")["session"])


@pytest.mark.parametrize("columns", [80, 200])
def test_the_board_fits_the_terminal_and_follows_the_store(columns: int) -> None:
    session = started()

    with watching(columns=columns) as screen:
        first = screen.wait_for("Running (1)")
        screen.wait_for("step 1 of 3: Test 1.4.0")
        told("step", "release", "ok", "--session", session)
        screen.wait_for("Needs you (1)")
        screen.wait_for("\x07")
        second = screen.wait_for("Publish it?")  # the last line of the card, so the card was read whole

    assert all(len(line.rstrip("\r")) <= columns for line in first.split("\n"))
    assert "Publish it?" in second
    assert session in second


def test_with_many_sessions_every_group_is_on_the_screen() -> None:
    sessions = [started(f"1.{number}") for number in range(60)]
    for session in sessions[:30]:
        told("step", "release", "ok", "--session", session)
    for session in sessions[50:]:
        told("session", "abandon", session)

    with watching(columns=80) as screen:
        screen.wait_for("Ended (10)")
        shown = screen.wait_for("more: flow sessions --all")

    assert [heading in shown for heading in ("Needs you (30)", "Running (20)", "Ended (10)")] == [True] * 3
    assert len(shown.split("\n")) <= 40


@contextmanager
def piped(*options: str, before: str = "") -> Iterator[TextIO]:
    """Run `flow watch`, yield what it prints, and end it as Ctrl+C does. *before* is Python that runs first."""
    reader, writer = os.pipe()
    child = start(["watch", *options], streams={0: 0, 1: writer, 2: 2}, before=before)
    os.close(writer)
    with open(reader, encoding="utf-8") as printed:
        try:
            yield printed
        finally:
            child.send_signal(signal.SIGINT)
            assert child.wait() == 0


@pytest.mark.every_store
def test_json_is_one_line_for_each_change() -> None:
    session = started()

    with piped("--json") as printed:
        first: dict[str, Any] = json.loads(printed.readline())
        told("step", "release", "ok", "--session", session)
        second: dict[str, Any] = json.loads(printed.readline())

    assert (first["session"], first["group"], first["position"]["number"]) == (session, "running", 1)
    assert (second["group"], second["reason"]) == ("needs you", "Publish it?")


DELETES = """
import time

class Deleted:
    def __del__(self, pause=time.sleep):
        print("deleting", flush=True)
        pause(3600)

def sleep(seconds):
    Deleted()

time.sleep = sleep
"""


def test_ctrl_c_ends_it_although_an_object_is_being_deleted() -> None:
    session = started()

    with piped(before=DELETES) as printed:
        assert f'"session": "{session}"' in printed.readline()
        assert printed.readline() == "deleting\n"


def test_the_users_command_runs_when_a_session_starts_to_need_a_person(tmp_path: Path) -> None:
    session, file = started("$topic; rm -rf x"), tmp_path / "told"
    program = f"import sys; open({str(file)!r}, 'a').write(sys.argv[1] + '|' + sys.argv[2])"
    folder = Path(os.environ["HOME"]) / ".config" / "flowrail"
    folder.mkdir(parents=True)
    words = json.dumps([sys.executable, "-c", program, "$topic", "$reason"])
    (folder / "config.toml").write_text(f"notify = {words}\n")

    with piped() as printed:
        assert f'"session": "{session}"' in printed.readline()
        told("step", "release", "ok", "--session", session)
        assert '"group": "needs you"' in printed.readline()
        end = time.monotonic() + 20
        while not file.exists() or not file.read_text():
            assert time.monotonic() < end
            time.sleep(0.05)

    assert file.read_text() == "$topic; rm -rf x|Publish it?"


def test_watch_and_ui_together_tell_the_user_once(monkeypatch: pytest.MonkeyPatch) -> None:
    session, environment, commands = started(), Environment(), list[list[str]]()
    monkeypatch.setattr("flowrail.operations.sessions.notifications.desktop_command", lambda _: ["$session"])
    monkeypatch.setattr(subprocess, "Popen", lambda words, **_: commands.append(words))
    programs = [Notifications(environment, on_desktop=True) for _ in ("watch", "ui")]
    before = Board(environment.store).refresh(environment.now)
    told("step", "release", "ok", "--session", session)
    after = Board(environment.store).refresh(environment.now)

    noticed = [(program.update(before), program.update(after)) for program in programs]

    assert noticed == [(False, True)] * 2
    assert commands == [[session]]


@pytest.mark.parametrize(
    ("command", "text", "message"),
    [
        ("sessions", "notify = 'x", "not valid TOML"),
        ("sessions", "colour = true", "`colour` is not a known key"),
        ("sessions", 'store = "relative"', "neither an absolute path nor the address"),
        ("watch", "notify = 1", "`notify` must be a list"),
    ],
)
def test_a_mistake_in_the_configuration_is_named(command: str, text: str, message: str) -> None:
    folder = Path(os.environ["HOME"]) / ".config" / "flowrail"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(text)

    ran = flow(command)

    assert ran.status == 2
    assert message in ran.err
    assert "config.toml" in ran.err
