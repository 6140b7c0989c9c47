"""Reads that are bounded, writes that happen or do not, locks that end with their process."""

import errno
import fcntl
import os
import resource
import signal
import socket
import stat
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowrail.storage import files
from flowrail.storage.files import (
    FileTooLargeError,
    LockTimeoutError,
    MissingFileError,
    NotPrivateError,
    NotRegularFileError,
    UnreadableFileError,
    WriteFailedError,
    append_durable,
    locked,
    make_private_dir,
    read_bounded,
    sync_dir,
    write_atomic,
    write_out,
)
from flowrail.text.safe_text import NotTextError, decode

FULL = Path("/dev/full")


def failing(number: int) -> Callable[..., int]:
    """Return a system call that answers with the error *number*."""

    def call(*arguments: object, **options: object) -> int:
        raise OSError(number, os.strerror(number))

    return call


def python(code: str, *arguments: object) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]


def run(code: str, *arguments: object) -> str:
    """Return what another process prints."""
    done = subprocess.run(python(code, *arguments), capture_output=True, text=True, check=True, timeout=30)
    return done.stdout.strip()


# --- reading


def test_a_file_is_read_whole_up_to_the_limit(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")

    assert read_bounded(tmp_path / "a", limit=5, what="the workflow") == b"12345"
    assert read_bounded(str(tmp_path / "a"), limit=99, what="the workflow") == b"12345"


def test_an_empty_file_is_no_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").touch()

    assert read_bounded(tmp_path / "a", limit=0, what="the workflow") == b""


def test_a_file_over_the_limit_is_refused_unread_however_large(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(3 << 30)

    with pytest.raises(FileTooLargeError, match="the journal has more than 1000 bytes") as caught:
        read_bounded(tmp_path / "sparse", limit=1000, what="the journal")

    assert (caught.value.code, caught.value.details["limit"]) == ("FILE_TOO_LARGE", 1000)


@pytest.mark.parametrize(("limit", "told"), [(100, b"12345" + b"6" * 90), (50, None)])
def test_a_file_that_grows_while_it_is_read_is_refused_once_it_is_past_the_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int, told: bytes | None
) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    about = (tmp_path / "a").stat()
    monkeypatch.setattr(os, "fstat", lambda fd: about)
    with (tmp_path / "a").open("ab") as file:
        file.write(b"6" * 90)

    if told is None:
        with pytest.raises(FileTooLargeError):
            read_bounded(tmp_path / "a", limit=limit, what="the journal")
    else:
        assert read_bounded(tmp_path / "a", limit=limit, what="the journal") == told


def test_a_file_that_shrinks_while_it_is_read_is_what_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    about = (tmp_path / "a").stat()
    monkeypatch.setattr(os, "fstat", lambda fd: about)
    (tmp_path / "a").write_bytes(b"123")

    assert read_bounded(tmp_path / "a", limit=9, what="the journal") == b"123"


@pytest.mark.parametrize("name", ["missing", "file/below"])
def test_a_missing_file_says_what_is_missing(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(MissingFileError, match="the workflow is not there") as caught:
        read_bounded(tmp_path / name, limit=9, what="the workflow")

    assert (caught.value.code, caught.value.place) == ("FILE_MISSING", str(tmp_path / name))


def put_link(path: Path) -> None:
    path.with_name("target").write_bytes(b"told")
    path.symlink_to("target")


def put_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # a socket's whole name has to be short
    try:
        with socket.socket(socket.AF_UNIX) as end:
            end.bind(path.name)
    finally:
        os.chdir(here)


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        pytest.param(os.mkfifo, "a pipe", id="pipe"),
        pytest.param(os.mkdir, "a directory", id="directory"),
        pytest.param(put_link, "a symbolic link", id="link"),
        pytest.param(put_socket, "a socket or device", id="socket"),
    ],
)
def test_what_is_no_regular_file_is_refused_at_once(
    tmp_path: Path, make: Callable[[Path], None], kind: str
) -> None:
    make(tmp_path / "odd")

    with pytest.raises(NotRegularFileError, match=f"the payload is {kind}") as caught:
        read_bounded(tmp_path / "odd", limit=9, what="the payload")

    assert caught.value.code == "FILE_NOT_REGULAR"


def test_a_device_is_refused_at_once() -> None:
    with pytest.raises(NotRegularFileError, match="is a device"):
        read_bounded("/dev/zero", limit=9, what="the payload")


def test_a_link_is_followed_only_when_asked(tmp_path: Path) -> None:
    put_link(tmp_path / "link")

    assert read_bounded(tmp_path / "link", limit=9, what="the card", follow=True) == b"told"


def test_a_followed_link_to_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")

    with pytest.raises(NotRegularFileError, match="is a pipe"):
        read_bounded(tmp_path / "link", limit=9, what="the card", follow=True)


@pytest.mark.parametrize("name", ["\0", "\ud800", "n" * 5000], ids=["NUL", "surrogate", "too-long"])
def test_an_impossible_name_is_unreadable(name: str) -> None:
    with pytest.raises(UnreadableFileError) as caught:
        read_bounded(name, limit=9, what="the card")

    assert caught.value.code == "FILE_UNREADABLE"


def test_a_file_without_permission_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:  # who runs the tests may be allowed everything
        patch.setattr(os, "open", failing(errno.EACCES))
        with pytest.raises(UnreadableFileError, match="EACCES") as caught:
            read_bounded(tmp_path / "a", limit=9, what="the card")

    assert str(caught.value.hint) == "make it readable for this user"


def test_a_disk_that_fails_while_reading_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").touch()
    monkeypatch.setattr(os, "read", failing(errno.EIO))

    with pytest.raises(UnreadableFileError, match="EIO"):
        read_bounded(tmp_path / "a", limit=9, what="the card")


def test_no_descriptor_is_left_open_by_a_refusal(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    before = os.dup(0)
    os.close(before)

    with pytest.raises(NotRegularFileError):
        read_bounded(tmp_path / "pipe", limit=9, what="the card")

    after = os.dup(0)
    os.close(after)
    assert after == before


# --- text


@given(st.text(st.characters(codec="utf-8")).filter(lambda text: not text.startswith("\ufeff")))
def test_text_survives_with_and_without_a_byte_order_mark(text: str) -> None:
    assert decode(text.encode(), source="a") == text
    assert decode(text.encode("utf-8-sig"), source="a") == text


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["bare", "marked"])
def test_bytes_that_are_no_text_are_named_with_their_line(mark: bytes) -> None:
    with pytest.raises(NotTextError, match=r"^a\.md:3: byte 0xFF is not UTF-8$") as caught:
        decode(mark + b"one\r\ntwo\nx\xff", source="a.md")

    assert caught.value.code == "FILE_NOT_TEXT"


@given(st.binary())
def test_any_bytes_are_text_or_refused(data: bytes) -> None:
    with suppress(NotTextError):
        decode(data, source="a")


# --- atomic writes


@pytest.mark.parametrize("durable", [True, False])
def test_a_write_replaces_the_file_whole_and_leaves_nothing_else(tmp_path: Path, durable: bool) -> None:
    (tmp_path / "a").write_bytes(b"a much longer text")

    write_atomic(tmp_path / "a", b"new", durable=durable)

    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("a", b"new")]


def test_what_is_written_to_a_pipe_goes_through_it_and_leaves_it_there(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    write_out(pipe, b"all of it")

    assert os.read(reader, 100) == b"all of it"
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    os.close(reader)


def test_a_pipe_that_nobody_reads_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr("flowrail.storage.files._READER_WAIT", 0.1)

    with pytest.raises(WriteFailedError, match="ENXIO") as caught:
        write_out(tmp_path / "pipe", b"new")

    assert str(caught.value.hint) == "start what reads it first"


def test_a_path_back_through_a_link_is_where_the_system_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "far" / "deep").mkdir(parents=True)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    Path("link").symlink_to(tmp_path / "far" / "deep")

    write_out("link/../out", b"new")

    assert (tmp_path / "far" / "out").read_bytes() == b"new"
    assert not list(Path().glob("out"))


def test_what_is_written_to_a_link_stands_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "link").symlink_to("mine")

    write_out(tmp_path / "link", b"new")
    write_out(tmp_path / "other", b"new")

    assert [(tmp_path / name).read_text() for name in ("mine", "link", "other")] == ["mine", "new", "new"]


def test_a_folder_is_not_written_to(tmp_path: Path) -> None:
    with pytest.raises(WriteFailedError):
        write_out(tmp_path, b"new")


def test_a_write_is_private_unless_said_otherwise(tmp_path: Path) -> None:
    write_atomic(tmp_path / "a", b"")
    write_atomic(tmp_path / "b", b"", mode=0o400)

    assert [(tmp_path / each).stat().st_mode & 0o777 for each in "ab"] == [0o600, 0o400]


def test_a_bare_name_is_written_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    write_atomic("a", b"here")

    assert (tmp_path / "a").read_bytes() == b"here"


def test_a_write_replaces_a_link_and_leaves_its_target_alone(tmp_path: Path) -> None:
    put_link(tmp_path / "link")

    write_atomic(tmp_path / "link", b"new")

    assert (tmp_path / "target").read_bytes() == b"told"
    assert not (tmp_path / "link").is_symlink()


def test_short_writes_are_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: whole(fd, data[:3]))

    write_atomic(tmp_path / "a", b"0123456789")

    assert (tmp_path / "a").read_bytes() == b"0123456789"


@pytest.mark.parametrize(
    ("target", "name", "hint"),
    [
        ("missing/a", "ENOENT", "make the directory first"),
        ("file/a", "ENOTDIR", "make the directory first"),
        ("folder", "EISDIR", "a directory stands there: name a file"),
    ],
)
def test_a_write_that_cannot_be_says_why(tmp_path: Path, target: str, name: str, hint: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()

    with pytest.raises(WriteFailedError) as caught:
        write_atomic(tmp_path / target, b"new")

    assert (caught.value.code, str(caught.value.hint)) == ("WRITE_FAILED", hint)
    assert caught.value.details == {"errno": name, "path": str(tmp_path / target)}
    assert {each.name for each in tmp_path.iterdir()} == {"file", "folder"}


@pytest.mark.parametrize(
    ("number", "word"),
    [
        (errno.ENOSPC, "space"),
        (errno.EDQUOT, "quota"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "writable"),
        (errno.EIO, "check the disk"),
    ],
    ids=errno.errorcode.get,
)
@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
def test_a_failed_write_leaves_the_old_file_and_a_fitting_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int, word: str
) -> None:
    (tmp_path / "a").write_bytes(b"old")

    with monkeypatch.context() as patch:
        patch.setattr(os, call, failing(number))
        with pytest.raises(WriteFailedError, match=errno.errorcode[number]) as caught:
            write_atomic(tmp_path / "a", b"new")

    assert word in str(caught.value.hint)
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("a", b"old")]


def test_a_file_past_the_size_limit_of_the_process_leaves_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    code = """
        import os, resource, signal, sys
        from flowrail.storage import files as _files

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
        try:
            _files.write_atomic(sys.argv[1], b"x" * 5000)
        except _files.WriteFailedError as error:
            refusal = error
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        print(refusal.details["errno"], refusal.hint)
    """

    told = run(code, tmp_path / "a")

    assert told == "EFBIG raise the limit on file sizes (`ulimit -f`)"
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("a", b"old")]


def test_a_process_killed_while_writing_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    code = """
        import os, signal, sys
        from flowrail.storage import files as _files

        os.fsync = lambda fd: os.kill(os.getpid(), signal.SIGKILL)
        _files.write_atomic(sys.argv[1], b"new")
    """

    done = subprocess.run(python(code, tmp_path / "a"), check=False, timeout=30)

    assert done.returncode == -signal.SIGKILL
    assert (tmp_path / "a").read_bytes() == b"old"


def test_an_interrupt_while_writing_leaves_no_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(fd: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", interrupt)
        with pytest.raises(KeyboardInterrupt):
            write_atomic(tmp_path / "a", b"new")

    assert list(tmp_path.iterdir()) == []


# --- appending


def test_an_append_is_written_whole_and_flushed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed: list[int] = []
    monkeypatch.setattr(os, "fsync", flushed.append)
    fd = os.open(tmp_path / "journal", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    append_durable(fd, b"one\n", what="the journal")
    append_durable(fd, b"two\n", what="the journal")

    os.close(fd)
    assert flushed == [fd, fd]
    assert (tmp_path / "journal").read_bytes() == b"one\ntwo\n"


@pytest.mark.skipif(not FULL.exists(), reason="this system has no device that is always full")
def test_an_append_to_a_full_disk_is_told() -> None:
    fd = os.open(FULL, os.O_WRONLY)

    with pytest.raises(WriteFailedError, match=r"the journal could not be written \(ENOSPC\)") as caught:
        append_durable(fd, b"one\n", what="the journal")

    os.close(fd)
    assert str(caught.value.hint) == "free some space on the disk"


def test_a_failed_flush_is_not_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []

    def fail(fd: int) -> None:
        tries.append(fd)
        raise OSError(errno.EIO, "no")

    fd = os.open(tmp_path / "journal", os.O_WRONLY | os.O_CREAT, 0o600)
    monkeypatch.setattr(os, "fsync", fail)

    with pytest.raises(WriteFailedError, match="EIO"):
        append_durable(fd, b"one\n", what="the journal")

    os.close(fd)
    assert tries == [fd]


# --- directories


def test_a_private_directory_is_made_with_those_above_it(tmp_path: Path) -> None:
    make_private_dir(tmp_path / "a/b/c")
    make_private_dir(f"{tmp_path}/a/b/c/")

    assert [(tmp_path / each).stat().st_mode & 0o777 for each in ("a", "a/b", "a/b/c")] == [0o700] * 3


def test_a_private_directory_may_be_named_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    make_private_dir("a/b")

    assert (tmp_path / "a/b").is_dir()


def test_a_deep_directory_is_made(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["d"] * 300)

    make_private_dir(deep)

    assert deep.is_dir()


def test_a_directory_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir(mode=0o755)

    make_private_dir(tmp_path / "a")

    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("end", ["", "/"])
def test_a_link_to_a_directory_is_no_private_directory(tmp_path: Path, end: str) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    with pytest.raises(NotPrivateError, match="is no directory") as caught:
        make_private_dir(f"{tmp_path / 'link'}{end}")

    assert caught.value.code == "DIRECTORY_NOT_PRIVATE"


def test_a_directory_made_by_another_process_meanwhile_is_fine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = os.mkdir

    def twice(path: str, mode: int) -> None:
        make(path, mode)
        make(path, mode)

    monkeypatch.setattr(os, "mkdir", twice)

    make_private_dir(tmp_path / "a/b")

    assert (tmp_path / "a/b").is_dir()


def test_a_directory_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)

    with pytest.raises(NotPrivateError, match="belongs to another user"):
        make_private_dir(tmp_path)


def test_a_directory_below_a_file_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(WriteFailedError, match="could not be made"):
        make_private_dir(tmp_path / "file/a")


def test_a_directory_is_flushed(tmp_path: Path) -> None:
    sync_dir(tmp_path)


def test_a_missing_directory_cannot_be_flushed(tmp_path: Path) -> None:
    with pytest.raises(WriteFailedError, match="ENOENT"):
        sync_dir(tmp_path / "missing")


@pytest.mark.parametrize(("number", "passes"), [(errno.EINVAL, True), (errno.EIO, False)])
def test_only_a_file_system_without_directory_flushes_is_excused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, passes: bool
) -> None:
    monkeypatch.setattr(os, "fsync", failing(number))

    if passes:
        sync_dir(tmp_path)
    else:
        with pytest.raises(WriteFailedError):
            sync_dir(tmp_path)


# --- locking


class Clock:
    """Time that passes only by sleeping."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock until it is killed."""
    code = """
        import sys, time
        from flowrail.storage import files as _files

        with _files.locked(sys.argv[1], wait=0, what="the session"):
            print("held", flush=True)
            time.sleep(60)
    """
    with subprocess.Popen(python(code, tmp_path / "lock"), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_lock_is_a_private_file_that_stays(tmp_path: Path) -> None:
    with locked(tmp_path / "lock", wait=0, what="the session") as fd:
        assert not os.get_inheritable(fd)

    with locked(tmp_path / "lock", wait=0, what="the session"):
        pass

    assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o600


def test_a_held_lock_says_who_holds_it(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("pid 123456789 since 2026-01-01T00:00:00Z\n")

    with locked(tmp_path / "lock", wait=0, what="the session"):
        words = (tmp_path / "lock").read_text().split()

    assert words[:3] == ["pid", str(os.getpid()), "since"]
    assert len(words) == 4


def test_a_lock_is_not_written_into_a_file_that_may_be_somebody_elses(tmp_path: Path) -> None:
    theirs = "what somebody wrote\n" * 9
    (tmp_path / "long").write_text(theirs)
    (tmp_path / "shared").write_text("short\n")
    os.link(tmp_path / "shared", tmp_path / "lock")

    for name in ("long", "lock"):
        with locked(tmp_path / name, wait=0, what="the session"):
            pass

    assert (tmp_path / "long").read_text() == theirs
    assert (tmp_path / "shared").read_text() == "short\n"


def test_a_lock_held_elsewhere_is_a_conflict_that_names_the_holder(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    began = time.monotonic()

    with (
        pytest.raises(
            LockTimeoutError, match=f"the session is held by process {holder.pid} since 20"
        ) as caught,
        locked(tmp_path / "lock", wait=0.1, what="the session"),
    ):
        pytest.fail("it was held")

    assert 0.1 <= time.monotonic() - began < 30  # (the holder holds it for longer)
    assert (caught.value.code, caught.value.exit_status) == ("LOCKED", 4)
    assert caught.value.details["pid"] == holder.pid


def test_a_lock_ends_with_its_process_even_when_that_is_killed(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    holder.kill()

    with locked(tmp_path / "lock", wait=5, what="the session"):
        note = (tmp_path / "lock").read_text()

    assert f"pid {os.getpid()} " in note


def test_a_lock_ends_with_its_block_however_that_ends(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), locked(tmp_path / "lock", wait=0, what="the session"):
        raise RuntimeError

    with locked(tmp_path / "lock", wait=0, what="the session"):
        pass


def test_waiting_pauses_longer_each_time_and_no_longer_than_asked(tmp_path: Path) -> None:
    clock = Clock()

    with (
        locked(tmp_path / "lock", wait=0, what="the session"),
        pytest.raises(LockTimeoutError),
        locked(tmp_path / "lock", wait=0.2, what="the session", clock=clock, sleep=clock.sleep),
    ):
        pytest.fail("it was held")

    assert clock.slept[:7] == [0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.05]
    assert max(clock.slept) == 0.05
    assert clock.now == pytest.approx(0.2)


def test_a_lock_given_back_meanwhile_is_taken(tmp_path: Path) -> None:
    first = locked(tmp_path / "lock", wait=0, what="the session")
    first.__enter__()
    clock = Clock()

    def give_back(seconds: float) -> None:
        clock.sleep(seconds)
        if len(clock.slept) == 3:
            first.__exit__(None, None, None)

    with locked(tmp_path / "lock", wait=9, what="the session", clock=clock, sleep=give_back):
        assert len(clock.slept) == 3


@pytest.mark.parametrize(
    "note",
    [
        b"",
        b"pid 12",
        b"pid x since 2026-01-01T00:00:00Z",
        b"pid 1_2 since 2026-01-01T00:00:00Z",
        b"pid 12 since \x1b[31m",
        b"pid 12 since 2026-01-01T00:00:00Z and more",
        b"\xff\xfe",
        b"0" * 100_000,
    ],
    ids=lambda note: repr(note[:40]),
)
def test_a_note_that_is_not_ours_is_not_repeated(tmp_path: Path, note: bytes) -> None:
    with locked(tmp_path / "lock", wait=0, what="the session"):
        (tmp_path / "lock").write_bytes(note)

        with (
            pytest.raises(LockTimeoutError) as caught,
            locked(tmp_path / "lock", wait=0, what="the session"),
        ):
            pytest.fail("it was held")

    assert caught.value.message == "the session is held by another process"


def test_counting_processes_do_not_lose_a_count(tmp_path: Path) -> None:
    (tmp_path / "count").write_text("0")
    code = """
        import pathlib, sys
        from flowrail.storage import files as _files

        count = pathlib.Path(sys.argv[1], "count")
        for _ in range(50):
            with _files.locked(sys.argv[1] + "/lock", wait=30, what="the count"):
                _files.write_atomic(count, str(int(count.read_text()) + 1).encode(), durable=False)
    """

    processes = [subprocess.Popen(python(code, tmp_path)) for _ in range(4)]

    assert [each.wait(timeout=60) for each in processes] == [0] * 4
    assert (tmp_path / "count").read_text() == "200"


def test_a_full_disk_spoils_the_note_but_not_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "pwrite", failing(errno.ENOSPC))

    with locked(tmp_path / "lock", wait=0, what="the session"):
        assert (tmp_path / "lock").read_bytes() == b""


def test_a_lock_is_not_taken_through_a_link(tmp_path: Path) -> None:
    put_link(tmp_path / "lock")

    with (
        pytest.raises(WriteFailedError, match=r"could not be opened as a lock \(ELOOP\)"),
        locked(tmp_path / "lock", wait=0, what="the session"),
    ):
        pytest.fail("it was a link")

    assert (tmp_path / "target").read_bytes() == b"told"


def test_a_file_system_without_locks_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "flock", failing(errno.ENOLCK))

    with (
        pytest.raises(WriteFailedError, match=r"the lock could not be taken \(ENOLCK\)"),
        locked(tmp_path / "lock", wait=0, what="the session"),
    ):
        pytest.fail("there are no locks")


def test_a_process_out_of_descriptors_is_told(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        with pytest.raises(WriteFailedError, match="EMFILE"):
            write_atomic(tmp_path / "a", b"new")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# --- what killed writers leave


def test_sweeping_takes_old_files_under_names_of_ours_and_nothing_else(tmp_path: Path) -> None:
    ours = [Path(files.temporary_in(str(tmp_path))) for _ in range(2)]
    others = [
        tmp_path / name for name in (".x.tmp", "0123456789abcdef.tmp", ".0123456789ABCDEF.tmp", "a.tmp")
    ]
    for path in (*ours, *others):
        path.touch()
        os.utime(path, (100, 100))
    os.utime(ours[1], (2000, 2000))
    (tmp_path / ".00000000000000aa.tmp").mkdir()
    (tmp_path / ".00000000000000bb.tmp").symlink_to(others[0])

    assert files.sweep(tmp_path, now=4000, age=3000) == 1

    assert not ours[0].exists()
    assert len(list(tmp_path.iterdir())) == 7


def test_sweeping_follows_no_link_and_needs_no_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    left = Path(files.temporary_in(str(tmp_path / "real")))
    left.touch()
    os.utime(left, (100, 100))
    (tmp_path / "link").symlink_to("real")

    assert files.sweep(tmp_path / "link", now=9000) == 0
    assert files.sweep(tmp_path / "missing") == 0
    assert files.sweep(left) == 0
    assert files.sweep(tmp_path / "real") == 1


def test_a_file_that_is_being_written_has_a_name_that_is_swept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []
    monkeypatch.setattr(os, "replace", lambda one, _: names.append(os.path.basename(one)))

    files.write_atomic(tmp_path / "x", b"")

    assert [files.is_temporary(name) for name in names] == [True]
