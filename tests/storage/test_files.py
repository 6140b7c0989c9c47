"""Files are read up to a limit, written whole or not at all, and kept private."""

import errno
import os
import signal
import socket
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from flowrail.storage import files
from flowrail.storage.files import (
    FileTooLargeError,
    MissingFileError,
    NotPrivateError,
    NotRegularFileError,
    UnreadableFileError,
    WriteFailedError,
    append_durable,
    make_private_dir,
    read_bounded,
    sync_dir,
    write_atomic,
    write_output,
)

FULL = Path("/dev/full")


def failing(number: int) -> Callable[..., int]:
    """Return a system call that answers with the error *number*."""

    def call(*arguments: object, **options: object) -> int:
        raise OSError(number, os.strerror(number))

    return call


# --- reading


def test_a_file_is_read_whole_up_to_the_limit(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")

    assert read_bounded(tmp_path / "a", limit=5, what="the workflow") == b"12345"
    assert read_bounded(str(tmp_path / "a"), limit=99, what="the workflow") == b"12345"


def test_a_file_over_the_limit_is_refused_unread_however_large(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(3 << 30)

    with pytest.raises(FileTooLargeError, match="the journal has more than 1000 bytes") as caught:
        read_bounded(tmp_path / "sparse", limit=1000, what="the journal")

    assert (caught.value.code, caught.value.details["limit"]) == ("FILE_TOO_LARGE", 1000)


@pytest.mark.parametrize("name", ["missing", "file/below"])
def test_a_missing_file_says_what_is_missing(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(MissingFileError, match="the workflow does not exist") as caught:
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
def test_anything_but_a_regular_file_is_refused_at_once(
    tmp_path: Path, make: Callable[[Path], None], kind: str
) -> None:
    make(tmp_path / "odd")

    with pytest.raises(NotRegularFileError, match=f"the payload is {kind}") as caught:
        read_bounded(tmp_path / "odd", limit=9, what="the payload")

    assert caught.value.code == "FILE_NOT_REGULAR"


def test_a_link_is_followed_only_when_asked(tmp_path: Path) -> None:
    put_link(tmp_path / "link")

    assert read_bounded(tmp_path / "link", limit=9, what="the card", follow=True) == b"told"


@pytest.mark.parametrize("name", ["\0", "\ud800", "n" * 5000], ids=["NUL", "surrogate", "too-long"])
def test_an_impossible_name_is_unreadable(name: str) -> None:
    with pytest.raises(UnreadableFileError) as caught:
        read_bounded(name, limit=9, what="the card")

    assert caught.value.code == "FILE_UNREADABLE"


# --- writing


@pytest.mark.parametrize("durable", [True, False])
def test_a_write_replaces_the_file_whole_and_leaves_nothing_else(tmp_path: Path, durable: bool) -> None:
    (tmp_path / "a").write_bytes(b"a much longer text")

    write_atomic(tmp_path / "a", b"new", durable=durable)

    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("a", b"new")]


def test_a_written_file_is_private_by_default(tmp_path: Path) -> None:
    write_atomic(tmp_path / "a", b"")
    write_atomic(tmp_path / "b", b"", mode=0o400)

    assert [(tmp_path / each).stat().st_mode & 0o777 for each in "ab"] == [0o600, 0o400]


def test_a_write_replaces_a_link_and_leaves_its_target_alone(tmp_path: Path) -> None:
    put_link(tmp_path / "link")

    write_atomic(tmp_path / "link", b"new")

    assert (tmp_path / "target").read_bytes() == b"told"
    assert not (tmp_path / "link").is_symlink()


@pytest.mark.parametrize(
    ("target", "name", "hint"),
    [
        ("missing/a", "ENOENT", "create the directory first"),
        ("file/a", "ENOTDIR", "create the directory first"),
        ("folder", "EISDIR", "choose a file, not a directory"),
    ],
)
def test_an_impossible_write_says_why(tmp_path: Path, target: str, name: str, hint: str) -> None:
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


def test_a_process_killed_while_writing_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    code = """
        import os, signal, sys
        from flowrail.storage import files

        os.fsync = lambda fd: os.kill(os.getpid(), signal.SIGKILL)
        files.write_atomic(sys.argv[1], b"new")
    """

    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(tmp_path / "a")], check=False, timeout=30
    )

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


def test_output_can_go_into_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)

    write_output(pipe, b"all of it")

    assert os.read(reader, 100) == b"all of it"
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    os.close(reader)


@pytest.mark.skipif(not FULL.exists(), reason="this system has no device that is always full")
def test_an_append_to_a_full_disk_is_reported() -> None:
    fd = os.open(FULL, os.O_WRONLY)

    with pytest.raises(WriteFailedError, match=r"the journal could not be written \(ENOSPC\)") as caught:
        append_durable(fd, b"one\n", what="the journal")

    os.close(fd)
    assert str(caught.value.hint) == "free some space on the disk"


def test_a_failed_flush_is_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.parametrize("end", ["", "/"])
def test_a_link_to_a_directory_is_not_private(tmp_path: Path, end: str) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    with pytest.raises(NotPrivateError, match="is not a directory") as caught:
        make_private_dir(f"{tmp_path / 'link'}{end}")

    assert caught.value.code == "DIRECTORY_NOT_PRIVATE"


def test_a_directory_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)

    with pytest.raises(NotPrivateError, match="belongs to another user"):
        make_private_dir(tmp_path)


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


def test_sweeping_deletes_only_old_temporary_files(tmp_path: Path) -> None:
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


def test_a_file_without_permission_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:  # who runs the tests may be allowed everything
        patch.setattr(os, "open", failing(errno.EACCES))
        with pytest.raises(UnreadableFileError, match="EACCES") as caught:
            read_bounded(tmp_path / "a", limit=9, what="the card")

    assert str(caught.value.hint) == "make it readable for this user"


def test_a_disk_error_while_reading_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").touch()
    monkeypatch.setattr(os, "read", failing(errno.EIO))

    with pytest.raises(UnreadableFileError, match="EIO"):
        read_bounded(tmp_path / "a", limit=9, what="the card")


def test_a_directory_below_a_file_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(WriteFailedError, match="could not be created"):
        make_private_dir(tmp_path / "file/a")


def test_a_missing_directory_cannot_be_flushed(tmp_path: Path) -> None:
    with pytest.raises(WriteFailedError, match="ENOENT"):
        sync_dir(tmp_path / "missing")
