"""Which folders of a project may run: those whose exact content a person allowed.

A digest is over every file of the folder: its path, whether it may be executed, its bytes. That is what git
keeps of it too; an empty folder and the other bits of a mode run nothing. Links and odd files have no digest,
so a folder that holds one cannot be allowed. What was allowed is kept in the user's own state folder, by the
folder's real path; nothing in a project can grant it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import stat
from collections.abc import Mapping
from itertools import islice
from typing import NamedTuple

from flowrail.command import Command, Hint
from flowrail.errors import DocumentError, StorageError, TrustError
from flowrail.storage import files as storage_files

MOST_FILES = 2_000
LARGEST_FILE = 4 * 1024 * 1024
LARGEST_FOLDER = 64 * 1024 * 1024
_NAME = re.compile(r"\w[\w.-]{0,99}(?:/\w[\w.-]{0,99})?\Z")


class Snapshot(NamedTuple):
    """A folder's content at one moment, and the digest of exactly that."""

    folder: str
    digest: str
    files: Mapping[str, str]
    contents: Mapping[str, bytes]


class Allowance(NamedTuple):
    """What a person allowed: a folder with that digest."""

    folder: str
    digest: str
    files: Mapping[str, str]
    at: str


def snapshot(folder: str, *, keep: bool = True) -> Snapshot:
    """Return the content and digest of *folder*; `TrustError` where it holds more than plain files.

    Without *keep* the content is left out: looking at many folders takes the memory of one file.
    """
    root = os.path.realpath(folder)
    files: dict[str, str] = {}
    contents: dict[str, bytes] = {}
    size = 0
    for path, executable, _ in sorted(_walk(root, "")):
        data = storage_files.read_bounded(os.path.join(root, path), limit=LARGEST_FILE, what=f"`{path}`")
        size += len(data)
        if size > LARGEST_FOLDER:
            raise _refused(root, f"holds more than {LARGEST_FOLDER} bytes")
        if keep:
            contents[path] = data
        files[path] = f"{'x' if executable else '-'}{hashlib.sha256(data).hexdigest()}"
    whole = json.dumps(sorted(files.items()), ensure_ascii=True).encode()
    return Snapshot(root, hashlib.sha256(whole).hexdigest(), files, contents)


def file_called(now: Snapshot, name: str) -> str:
    """Return which file of a folder is read as *name*: where there is none, one of that name in other letters."""
    alike = sorted(path for path in now.contents if path.lower() == name.lower())
    return name if name in alike or not alike else alike[0]


def sizes(folder: str) -> dict[str, int]:
    """Return how large each file of *folder* is; nothing is read. `TrustError` as of `snapshot`."""
    return {path: size for path, _, size in _walk(os.path.realpath(folder), "")}


def is_name(skill: str) -> bool:
    """Return whether a person can be asked about a skill of that name, and it can stand in a command."""
    return _NAME.match(skill) is not None


def asking(skill: str, root: str = "") -> str | Hint:
    """Return what a person types to allow *skill*; *root* is its place where that has to be named."""
    if not is_name(skill):
        return "a person first names its folder in letters, digits, `.`, `_` and `-`"
    return Hint("a person types: ", typed("skill trust", skill, root))


def typed(verb: str, skill: str, root: str = "") -> Command:
    """Return the command that does *verb* to *skill*, its place with it where that has to be named."""
    return Command(verb, skill, root=root or None)


def require(
    folder: str,
    state: str,
    *,
    skill: str,
    why: str,
    instead: str | Hint = "",
    root: str = "",
    now: Snapshot | None = None,
) -> Snapshot:
    """Return the content of *folder* if exactly that was allowed; `TrustError` otherwise.

    *why* says what makes it necessary, *instead* what else could be done about it, *root* the skill's
    place where that has to be named. *now* is its content where that was read already.
    """
    now = snapshot(folder) if now is None else now
    allowed = allowance(folder, state)
    if allowed is not None and allowed.digest == now.digest:
        return now
    if allowed is None:
        what = f"{why}, and nobody allowed it"
    else:
        changes = ", ".join(_changes(allowed.files, now.files)[:10])
        what = f"{why}, and it changed since it was allowed: {changes}"
        left = _left_by_python(allowed.files, now)
        instead = Hint(left, "; ", instead) if left and instead else left or instead
    raise TrustError(
        f"skill `{skill}` {what}",
        hint=Hint(asking(skill, root), "; ", instead) if instead else asking(skill, root),
        skill=skill,
        folder=now.folder,
        digest=now.digest,
    )


def allowance(folder: str, state: str) -> Allowance | None:
    """Return what was allowed of *folder*, or `None`; what another user may have written allows nothing."""
    try:
        storage_files.check_private_dir(os.path.join(state, "trust"))
        data = json.loads(
            storage_files.read_bounded(_place(folder, state), limit=LARGEST_FILE, what="an allowance")
        )
        return Allowance(str(data["folder"]), str(data["digest"]), dict(data["files"]), str(data["at"]))
    except (DocumentError, StorageError, ValueError, KeyError, TypeError, RecursionError):
        return None


def allow(now: Snapshot, state: str, *, at: str) -> None:
    """Allow exactly that content; `TrustError` where more would have to be kept of it than is read again."""
    kept = {"folder": now.folder, "digest": now.digest, "files": dict(now.files), "at": at}
    data = json.dumps(kept, indent=1).encode() + b"\n"
    if len(data) > LARGEST_FILE:
        raise _refused(now.folder, f"holds paths of more than {LARGEST_FILE} bytes together")
    storage_files.make_private_dir(os.path.join(state, "trust"))
    storage_files.write_atomic(_place(now.folder, state), data)


def forget(folder: str, state: str) -> bool:
    """Take an allowance back; return whether there was one."""
    try:
        os.unlink(_place(folder, state))
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StorageError(
            f"what was allowed cannot be taken back: {error.strerror}",
            hint=f"look at {os.path.join(state, 'trust')}, a folder of your own",
        ) from None
    return True


def _place(folder: str, state: str) -> str:
    name = hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()
    return os.path.join(state, "trust", f"{name}.json")


def _changes(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    added = [f"{path} (new)" for path in now if path not in before]
    gone = [f"{path} (gone)" for path in before if path not in now]
    changed = [f"{path} (changed)" for path in now if path in before and before[path] != now[path]]
    return sorted(added + gone + changed)


def _left_by_python(before: Mapping[str, str], now: Snapshot) -> str:
    """Return how *before* is had again where nothing is new but what Python keeps of what it imported."""
    if any(now.files.get(path) != before[path] for path in before):
        return ""
    folders = {os.path.dirname(path) for path in now.files if path not in before}
    if not folders or any(os.path.basename(each) != "__pycache__" for each in folders):
        return ""
    clear = shlex.join(["rm", "-r", *(os.path.join(now.folder, each) for each in sorted(folders)[:5])])
    return f"or take away what a run of Python left: {clear}"


def _walk(root: str, below: str) -> list[tuple[str, bool, int]]:
    found: list[tuple[str, bool, int]] = []
    pending = [below]
    count = 0
    while pending:
        here = pending.pop()
        try:
            with os.scandir(os.path.join(root, here)) as scanned:
                entries = [
                    (each.name, each.stat(follow_symlinks=False)) for each in islice(scanned, MOST_FILES + 1)
                ]
        except OSError as error:
            raise _refused(
                root, f"has a part that cannot be read: {here or '.'} ({error.strerror})"
            ) from None
        for name, about in entries:
            path = os.path.join(here, name)
            if stat.S_ISDIR(about.st_mode):
                pending.append(path)
            elif about.st_mode & (stat.S_ISUID | stat.S_ISGID):
                raise _refused(root, f"holds `{path}`, which runs as its owner or group")
            elif stat.S_ISREG(about.st_mode):
                found.append((path, bool(about.st_mode & stat.S_IXUSR), about.st_size))
            else:
                raise _refused(root, f"holds `{path}`, which is no plain file")
            count += 1
            if count > MOST_FILES:
                raise _refused(root, f"holds more than {MOST_FILES} files and folders")
    return found


def _refused(folder: str, what: str) -> TrustError:
    return TrustError(
        f"{folder} {what}, so its content cannot be vouched for",
        hint="take that out of the skill's folder",
        folder=folder,
    )
