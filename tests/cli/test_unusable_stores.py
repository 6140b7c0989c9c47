"""A store that is full, read-only, closed to this user or gone says so, and nothing is taken for recorded."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.forked import start_recorded
from support.sandbox import (
    ENTRY,
    ROUND,
    clean_environment,
    flow,
    put_skill,
    refused,
    sessions_folder,
    told,
)

WITHOUT_PRIVILEGES = """
import ctypes
ctypes.CDLL(None).capset((ctypes.c_uint32 * 2)(0x20080522), (ctypes.c_uint32 * 6)())
"""
"""Makes permissions count for root, too."""
VANISHES = """
import os, shutil
flush = os.fsync
def fsync(file):
    shutil.rmtree(".flow", ignore_errors=True)
    flush(file)
os.fsync = fsync
"""
FULL = "mount -t tmpfs -o size=256k tmpfs .flow"
READ_ONLY = "mount --bind .flow .flow && mount -o remount,bind,ro .flow"


def mounted(mount: str, script: str) -> str:
    """Return what *script* prints where *mount* changed `.flow`; `$flow` runs a command."""
    unshare = shutil.which("unshare") or pytest.skip("unshare is missing")
    program = f'flow() {{ {shlex.quote(sys.executable)} -c {shlex.quote(ENTRY)} "$@" 2>&1; echo "exit $?"; }}'
    done = subprocess.run(
        [unshare, "--mount", "--map-root-user", "sh", "-c", f"{mount} || exit 77\n{program}\n{script}"],
        env=clean_environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode == 77 or "unshare" in done.stderr:
        pytest.skip(f"this account may not mount: {done.stderr.strip()}")
    assert done.returncode == 0, done
    return done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a file system of its own")
def test_a_full_store_refuses_reports_until_there_is_space_again() -> None:
    put_skill("round", ROUND)
    Path(".flow").mkdir()

    out = mounted(
        FULL,
        """
        flow step round > begun; tail -1 begun
        head -c 300000 /dev/zero > .flow/other 2> /dev/null
        for report in 1 2 3 4 5 6; do flow step round ok > answer; tail -1 answer >> answers; done
        grep -c 'exit 0' answers; cat answer
        rm .flow/other
        flow step round --json; flow step round ok | tail -1
        """,
    )

    begun, accepted, refusal, hint, refused_with, *shown, at_last = out.splitlines()
    assert (begun, refused_with, at_last) == ("exit 0", "exit 3", "exit 0")
    assert refusal.endswith("could not be written (ENOSPC) [WRITE_FAILED]")
    assert hint == "  free some space on the disk"
    assert f' "revision": {accepted},' in shown


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a file system of its own")
def test_a_read_only_store_can_be_read_and_says_that_it_cannot_be_written() -> None:
    put_skill("round", ROUND)
    session = told("step", "round")["session"]

    out = mounted(READ_ONLY, f"flow step round ok\nflow step round --new\nflow resume {session} | tail -1")

    lines = out.splitlines()
    assert "(EROFS)" in lines[0]
    assert "(EROFS)" in lines[3]
    assert lines[1] == lines[4] == "  use a directory that is not mounted read-only"
    assert (lines[2], lines[5], lines[6]) == ("exit 3", "exit 3", "exit 0")
    assert told("resume", session)["revision"] == 0


@pytest.mark.parametrize("closed", ["store", "sessions", "session", "journal"])
def test_a_store_without_permission_is_named_with_the_reason(closed: str) -> None:
    put_skill("round", ROUND)
    session = told("step", "round")["session"]
    folder = sessions_folder() / session
    path = {
        "store": Path(".flow"),
        "sessions": sessions_folder(),
        "session": folder,
        "journal": folder / "journal.jsonl",
    }[closed]
    commands = [["step", "round", "ok", "--session", session]]
    commands += [["step", "round", "--new"], ["sessions"]] if closed in {"store", "sessions"} else []
    mode = path.stat().st_mode
    path.chmod(0)
    try:
        before = WITHOUT_PRIVILEGES if os.geteuid() == 0 else ""
        answers = [start_recorded(words, before=before).ran() for words in commands]
    finally:
        path.chmod(mode)

    for ran in answers:
        assert ran.status == 3, ran
        assert "(EACCES)" in ran.err
        assert "check the permissions of this user" in ran.err
        assert "restore" not in ran.err
    assert told("resume", session)["revision"] == 0


def test_a_store_that_vanished_before_the_flush_is_not_acknowledged() -> None:
    put_skill("round", ROUND)
    told("step", "round")

    ran = start_recorded(["step", "round", "ok"], before=VANISHES).ran()

    assert (ran.status, ran.out) == (3, "")
    assert "[WRITE_FAILED]" in ran.err
    assert refused("step", "round", "ok")[1]["code"] == "NO_OPEN_SESSION"
    assert flow("step", "round").status == 0
