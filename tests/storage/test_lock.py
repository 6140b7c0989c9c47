"""A lock is held by one process at a time and ends with it."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from flowrail.storage.files import WriteFailedError
from flowrail.storage.lock import LockTimeoutError, locked


def python(code: str, *arguments: object) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock until it is killed."""
    code = """
        import sys, time
        from flowrail.storage.lock import locked

        with locked(sys.argv[1], wait=0, what="the session"):
            print("held", flush=True)
            time.sleep(60)
    """
    with subprocess.Popen(python(code, tmp_path / "lock"), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_lock_held_by_another_process_is_a_conflict_that_names_it(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    with (
        pytest.raises(LockTimeoutError, match=f"the session is held by process {holder.pid}\n") as caught,
        locked(tmp_path / "lock", wait=0.1, what="the session"),
    ):
        pytest.fail("it was held")

    assert (caught.value.code, caught.value.exit_status) == ("LOCKED", 4)
    assert caught.value.details["pid"] == holder.pid


def test_a_lock_ends_when_its_process_is_killed(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    holder.kill()

    with locked(tmp_path / "lock", wait=5, what="the session"):
        assert (tmp_path / "lock").read_text().strip() == str(os.getpid())


def test_a_lock_is_not_taken_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"content")
    (tmp_path / "lock").symlink_to("target")

    with (
        pytest.raises(WriteFailedError, match=r"could not be opened as a lock \(ELOOP\)"),
        locked(tmp_path / "lock", wait=0, what="the session"),
    ):
        pytest.fail("it was a link")

    assert (tmp_path / "target").read_bytes() == b"content"
