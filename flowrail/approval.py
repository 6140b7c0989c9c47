"""Approvals of folders. A folder may run code only if the user approved exactly its content.

A digest covers every file of a folder: its path, its executable bit and its bytes. A folder that contains a link
or a device has no digest and cannot be approved. Approvals are stored in the user's own state folder by the
folder's real path, so nothing in a project can grant one.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, NamedTuple

from flowrail.command import Command, Hint
from flowrail.errors import DocumentError, StorageError, TrustError
from flowrail.storage import files as storage_files
from flowrail.storage.files import sha256_hex
from flowrail.text.phrases import joined

MOST_FILES = 2_000
LARGEST_FILE = 4 * 1024 * 1024
LARGEST_FOLDER = 64 * 1024 * 1024
_NAME = r"\w[\w.-]{0,99}(?:/\w[\w.-]{0,99})?\Z"


class FolderContent(NamedTuple):
    """A folder's content and its digest. `files` holds the executable bit and digest of each path."""

    folder: str
    digest: str
    files: Mapping[str, str]
    contents: Mapping[str, bytes]


class Approval(NamedTuple):
    """A folder that may run code as long as it has this digest."""

    folder: str
    digest: str
    files: Mapping[str, str]
    at: str


def snapshot(folder: str) -> FolderContent:
    """Return the content and digest of *folder*; `TrustError` if it cannot be approved."""
    root = os.path.realpath(folder)
    files: dict[str, str] = {}
    contents: dict[str, bytes] = {}
    size = 0
    for path, executable in sorted(_walk(root)):
        data = storage_files.read_bounded(os.path.join(root, path), limit=LARGEST_FILE, what=f"`{path}`")
        size += len(data)
        if size > LARGEST_FOLDER:
            raise _refused(root, f"contains more than {LARGEST_FOLDER} bytes")
        contents[path] = data
        files[path] = f"{'x' if executable else '-'}{sha256_hex(data)}"
    whole = json.dumps(sorted(files.items()), ensure_ascii=True).encode()
    return FolderContent(root, sha256_hex(whole), files, contents)


def file_called(content: FolderContent, name: str) -> str:
    """Return the path of the file *name* in a folder, ignoring upper and lower case."""
    alike = sorted(path for path in content.contents if path.lower() == name.lower())
    return name if name in alike or not alike else alike[0]


def is_name(skill: str) -> bool:
    """Return whether a skill's name can be used in a command that a person types."""
    return re.match(_NAME, skill) is not None


def how_to_approve(skill: str, root: str = "") -> str | Hint:
    """Return a hint with the command that approves *skill*, with its *root* if it needs one."""
    if not is_name(skill):
        return "rename its folder first: use letters, digits, `.`, `_` and `-`"
    return Hint("a person runs: ", Command("skill trust", skill, root=root or None))


def require(
    folder: str,
    state: str,
    *,
    skill: str,
    why: str,
    instead: str | Hint = "",
    root: str = "",
    content: FolderContent | None = None,
) -> FolderContent:
    """Return the content of *folder* if exactly this content is approved; `TrustError` otherwise.

    *why* says what needs approval. *instead* is a hint at another solution. *content* is the content if it was read
    already.
    """
    content = snapshot(folder) if content is None else content
    approved = approval_of(folder, state)
    if approved is not None and approved.digest == content.digest:
        return content
    if approved is None:
        problem = f"{why} and has not been approved"
    else:
        difference = joined(changes(approved.files, content.files))
        problem = f"{why}, and it changed since it was approved: {difference}"
    hint = how_to_approve(skill, root)
    raise TrustError(
        f"skill `{skill}` {problem}",
        hint=Hint(hint, "; ", instead) if instead else hint,
        skill=skill,
        folder=content.folder,
        digest=content.digest,
    )


def approval_of(folder: str, state: str) -> Approval | None:
    """Return the approval of *folder*, or `None`."""
    try:
        data = _read(_path(state, folder))
        return Approval(str(data["folder"]), str(data["digest"]), dict(data["files"]), str(data["at"]))
    except _UNUSABLE:
        return None


def approve(content: FolderContent, state: str, *, at: str) -> None:
    """Approve exactly this content."""
    approval = Approval(content.folder, content.digest, content.files, at)
    _write(_path(state, content.folder), approval._asdict())


def revoke(folder: str, state: str) -> bool:
    """Delete the approval of *folder*; return whether there was one."""
    return _delete(_path(state, folder))


@dataclass(frozen=True)
class Program:
    """The program that a command runs, as it was found when a person approved it."""

    path: str
    """Its path; empty if it was not found."""
    digest: str
    """The digest of its content if it is in the project, otherwise empty."""


def programs(words: Iterable[str], project: str, environ: Mapping[str, str]) -> dict[str, Program]:
    """Return the programs that the first *words* of commands name: paths in the project, or names on the PATH."""
    found: dict[str, Program] = {}
    for word in words:
        path = (
            os.path.join(project, word) if "/" in word else shutil.which(word, path=environ.get("PATH")) or ""
        )
        found[word] = Program(os.path.normpath(path) if path else "", _digest_in(path, project))
    return found


def _digest_in(path: str, project: str) -> str:
    """Return the digest of a program if it is in the project; empty otherwise."""
    real = os.path.realpath(path) if path else ""
    if not real.startswith(os.path.realpath(project) + os.sep) or not os.path.isfile(real):
        return ""
    return sha256_hex(storage_files.read_bounded(real, limit=LARGEST_FOLDER, what=f"`{path}`"))


def commands_digest(content: FolderContent, project: str, found: Mapping[str, Program]) -> str:
    """Return the digest of the content, project and programs that `approve_commands` approves."""
    parts = [
        content.digest,
        os.path.realpath(project),
        {word: asdict(program) for word, program in found.items()},
    ]
    return sha256_hex(json.dumps(parts, sort_keys=True).encode())


def approve_commands(
    content: FolderContent, project: str, found: Mapping[str, Program], state: str, *, at: str
) -> None:
    """Approve the commands of exactly this content to run these programs in *project*."""
    approved = {
        "folder": content.folder,
        "project": os.path.realpath(project),
        "digest": content.digest,
        "programs": {word: asdict(program) for word, program in found.items()},
        "at": at,
    }
    _write(_path(state, content.folder, project), approved)


def approved_program(folder: str, project: str, word: str, state: str, *, skill: str, root: str = "") -> str:
    """Return the path of the program *word* of a command of *skill*; `TrustError` unless a person approved it as it is."""
    content = snapshot(folder)
    try:
        approved = _read(_path(state, folder, project))
        program = Program(**approved["programs"][word]) if word in approved["programs"] else Program("", "")
        if approved["digest"] != content.digest:
            problem = "changed since its commands were approved"
        elif not program.path:
            problem = f"may not run `{word}`, which was not found when its commands were approved"
        elif program.digest != _digest_in(program.path, project):
            problem = f"may not run `{word}`, which changed since it was approved"
        else:
            return program.path
    except _UNUSABLE:
        problem = "may not run commands in this project"
    raise TrustError(
        f"skill `{skill}` {problem}",
        hint=Hint("a person runs: ", Command("skill trust", skill, commands=True, root=root or None)),
        skill=skill,
        folder=content.folder,
    )


def revoke_commands(folder: str, project: str, state: str) -> bool:
    """Delete the approval of the commands in *project*; return whether there was one."""
    return _delete(_path(state, folder, project))


_UNUSABLE = (DocumentError, StorageError, ValueError, KeyError, TypeError, RecursionError)
"""Raised for a missing or damaged approval, and for one that another user may have written."""


def _path(state: str, *folders: str) -> str:
    """Return the file of the approval of a folder, or of its commands in a project."""
    name = sha256_hex(os.fsencode("\0".join(map(os.path.realpath, folders))))
    return os.path.join(state, "trust", f"{'commands-' if len(folders) > 1 else ''}{name}.json")


def _read(path: str) -> dict[str, Any]:
    storage_files.check_private_dir(os.path.dirname(path))
    approval: dict[str, Any] = json.loads(
        storage_files.read_bounded(path, limit=LARGEST_FILE, what="the approval")
    )
    return approval


def _write(path: str, approval: Mapping[str, object]) -> None:
    storage_files.make_private_dir(os.path.dirname(path))
    storage_files.write_atomic(path, json.dumps(approval, indent=1).encode() + b"\n")


def _delete(path: str) -> bool:
    if not os.path.lexists(path):
        return False
    storage_files.remove(path)
    return True


def changes(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return each path whose digest differs, with the word `new`, `gone` or `changed`."""
    return [
        f"{path} ({'new' if path not in before else 'gone' if path not in now else 'changed'})"
        for path in sorted({*before, *now})
        if before.get(path) != now.get(path)
    ]


def _walk(root: str) -> list[tuple[str, bool]]:
    """Return path and executable bit of every file below *root*; `TrustError` for anything but files."""
    files: list[tuple[str, bool]] = []
    pending = [""]
    count = 0
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(os.path.join(root, folder)) as scanned:
                entries = [
                    (entry.name, entry.stat(follow_symlinks=False))
                    for entry in islice(scanned, MOST_FILES + 1)
                ]
        except OSError as error:
            raise _refused(root, f"cannot be read: {folder or '.'} ({error.strerror})") from None
        for name, status in entries:
            path = os.path.join(folder, name)
            if stat.S_ISDIR(status.st_mode):
                pending.append(path)
            elif stat.S_ISREG(status.st_mode):
                files.append((path, bool(status.st_mode & stat.S_IXUSR)))
            else:
                raise _refused(root, f"contains `{path}`, which is not a regular file")
            count += 1
            if count > MOST_FILES:
                raise _refused(root, f"contains more than {MOST_FILES} files and folders")
    return files


def _refused(folder: str, problem: str) -> TrustError:
    return TrustError(
        f"{folder} {problem}, so it cannot be approved",
        hint="remove that from the skill's folder",
        folder=folder,
    )
