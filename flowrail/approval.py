"""Skills and commands may run in a project if a person approved exactly their content.

A digest covers every file of a folder that git would keep: its path, its executable bit and its bytes. A folder that
contains a link or a device has no digest and cannot be approved. Approvals are stored in the user's own state folder
by the real paths of folder and project, so nothing in a project can grant one.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice

from flowrail import git
from flowrail.command import Command, Hint
from flowrail.errors import DocumentError, StorageError, TrustError
from flowrail.storage import files as storage_files
from flowrail.storage.files import sha256_hex
from flowrail.text.phrases import joined

MOST_FILES = 2_000
LARGEST_FILE = 4 * 1024 * 1024
LARGEST_FOLDER = 64 * 1024 * 1024
_NAME = r"\w[\w.-]{0,99}(?:/\w[\w.-]{0,99})?\Z"
_IGNORED = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--exclude=__pycache__/")
"""Asks git for the files that it would not keep. A compiled file that someone committed is not among them."""
_IS_IGNORED = ("check-ignore", "--quiet", "--no-index", ".")
_INTERPRETER = re.compile(
    r"(?:python|pypy)[\d.]*|(?:ba|da|k|z)?sh|node|deno|bun|ruby|perl|php|lua|Rscript|pwsh"
)
_WRAPPERS = frozenset({"env", "nice", "nohup", "time", "timeout", "uv", "poetry", "pipx", "npx", "run"})
_INLINE = frozenset({"-c", "-m", "-e", "--eval", "--module"})
"""Options with which an interpreter runs no file that a later argument names."""
_UNUSABLE = (DocumentError, StorageError, ValueError, KeyError, TypeError, RecursionError)
"""Raised for a missing or damaged approval, and for one that another user may have written."""


@dataclass(frozen=True)
class FolderContent:
    """The content of a folder."""

    folder: str
    """Its real path."""
    digest: str
    """The digest of the whole content."""
    files: Mapping[str, str]
    """The executable bit and the digest of each file by its path."""
    contents: Mapping[str, bytes]
    """The bytes of each file by its path."""


@dataclass(frozen=True)
class Program:
    """The program that a command runs, as it was found when a person approved it."""

    path: str
    """Its path; empty if it was not found."""
    digest: str
    """The digest of its content if it is in the project, otherwise empty."""


@dataclass(frozen=True)
class Approval:
    """A folder whose code, commands and health check may run in a project, as long as it has this digest."""

    folder: str
    """The real path of the folder."""
    project: str
    """The real path of the project."""
    digest: str
    """The digest of the content."""
    files: Mapping[str, str]
    """The executable bit and the digest of each file by its path."""
    at: str
    """When it was approved."""
    programs: Mapping[str, Program] = field(default_factory=dict)
    """The programs of its commands, by the word that names each."""
    owner: int | None = None
    """The user whose later edits are approved, too."""

    def covers(self, content: FolderContent) -> bool:
        """Return whether the folder has the approved content, or one that only the approved owner can have written."""
        return self.digest == content.digest or (self.owner is not None and _is_only_of(self.owner, content))


def snapshot(folder: str) -> FolderContent:
    """Return the content and digest of *folder*; `TrustError` if it cannot be approved."""
    root = os.path.realpath(folder)
    files: dict[str, str] = {}
    contents: dict[str, bytes] = {}
    size = 0
    ignored = _ignored_by_git(root)
    for path, executable in sorted(_walk(root)):
        if path in ignored:
            continue
        data = storage_files.read_bounded(os.path.join(root, path), limit=LARGEST_FILE, what=f"`{path}`")
        size += len(data)
        if size > LARGEST_FOLDER:
            raise _refused(root, f"contains more than {LARGEST_FOLDER} bytes")
        contents[path] = data
        files[path] = f"{'x' if executable else '-'}{sha256_hex(data)}"
    whole = json.dumps(sorted(files.items()), ensure_ascii=True).encode()
    return FolderContent(root, sha256_hex(whole), files, contents)


def is_name(skill: str) -> bool:
    """Return whether a skill's name can be used in a command that a person types."""
    return re.match(_NAME, skill) is not None


def how_to_approve(skill: str, root: str) -> str | Hint:
    """Return a hint with the command that approves *skill*, with its *root* if it needs one."""
    if not is_name(skill):
        return "rename its folder first: use letters, digits, `.`, `_` and `-`"
    return Hint("a person runs: ", Command("trust", skill, root=root or None))


def require(
    folder: str,
    project: str,
    state: str,
    *,
    skill: str,
    why: str,
    instead: str | Hint = "",
    root: str = "",
    content: FolderContent | None = None,
) -> FolderContent:
    """Return the content of *folder* if exactly this content is approved for *project*; `TrustError` otherwise.

    *why* says what needs approval. *instead* is a hint at another solution. *content* is the content if it was read
    already.
    """
    content = snapshot(folder) if content is None else content
    approved = approval_of(folder, project, state)
    if approved is not None and approved.covers(content):
        return content
    problem = f"{why} and has not been approved for this project"
    if approved is not None:
        problem = (
            f"{why}, and it changed since it was approved: {joined(changes(approved.files, content.files))}"
        )
    hint = how_to_approve(skill, root)
    raise TrustError(
        f"skill `{skill}` {problem}",
        hint=Hint(hint, "; ", instead) if instead else hint,
        skill=skill,
        folder=content.folder,
        digest=content.digest,
    )


def approval_of(folder: str, project: str, state: str) -> Approval | None:
    """Return the approval of *folder* for *project*, or `None`."""
    path = _path(state, folder, project)
    try:
        storage_files.check_private_dir(os.path.dirname(path))
        data = json.loads(storage_files.read_bounded(path, limit=LARGEST_FILE, what="the approval"))
        programs = {word: Program(**program) for word, program in data.pop("programs").items()}
        return Approval(**data, programs=programs)
    except _UNUSABLE:
        return None


def approve(
    content: FolderContent,
    project: str,
    state: str,
    *,
    at: str,
    programs: Mapping[str, Program] | None = None,
    edits: bool = False,
) -> None:
    """Approve exactly this content and these programs in *project*; with *edits*, also later edits by the folder's owner."""
    owner = os.stat(content.folder).st_uid if edits else None
    if owner is not None and not _is_only_of(owner, content):
        raise _refused(content.folder, "can be changed by other users")
    approval = Approval(
        content.folder, os.path.realpath(project), content.digest, content.files, at, programs or {}, owner
    )
    path = _path(state, content.folder, project)
    storage_files.make_private_dir(os.path.dirname(path))
    storage_files.write_atomic(path, json.dumps(asdict(approval), indent=1).encode() + b"\n")


def revoke(folder: str, project: str, state: str) -> bool:
    """Delete the approval of *folder* for *project*; return whether there was one."""
    path = _path(state, folder, project)
    if not os.path.lexists(path):
        return False
    storage_files.remove(path)
    return True


def programs(
    commands: Iterable[Sequence[str]], project: str, environ: Mapping[str, str]
) -> dict[str, Program]:
    """Return the programs that commands run, by the word that names each.

    That is the first word, a path in the project or a name on the PATH, and the script of the project that it runs.
    """
    found: dict[str, Program] = {}
    for run in commands:
        for word in dict.fromkeys((run[0], *_script(run, project))):
            is_path = "/" in word or word != run[0]
            named = os.path.join(project, word) if is_path else shutil.which(word, path=environ.get("PATH"))
            found[word] = Program(os.path.normpath(named) if named else "", _digest_in(named or "", project))
    return found


def approved_program(
    folder: str, project: str, run: Sequence[str], state: str, *, skill: str, root: str
) -> str:
    """Return the path of the program of a command of *skill*; `TrustError` unless a person approved it as it is.

    *run* are the arguments as the skill declares them. If they name a script of the project, that must be approved, too.
    """
    content = snapshot(folder)
    approved = approval_of(folder, project, state)
    problem = _why_not(run, approved, content, project)
    if approved is None or problem:
        raise TrustError(
            f"skill `{skill}` {problem}", hint=how_to_approve(skill, root), skill=skill, folder=content.folder
        )
    return _own_script(run[0], content, project) or approved.programs[run[0]].path


def _own_script(word: str, content: FolderContent, project: str) -> str:
    """Return the path of the file of a skill's own folder that a word of its command names; empty for other words.

    It is approved with the folder, whose later edits may be approved, too.
    """
    path = os.path.realpath(os.path.join(project, word))
    return path if os.path.relpath(path, content.folder) in content.files else ""


def _why_not(run: Sequence[str], approved: Approval | None, content: FolderContent, project: str) -> str:
    """Return why a command of a skill with this content may not run; empty if it may."""
    if approved is None:
        return "may not run commands in this project"
    if not approved.covers(content):
        return "changed since its commands were approved"
    for word in (run[0], *_script(run, project)):
        if _own_script(word, content, project):
            continue
        program = approved.programs.get(word, Program("", ""))
        if not program.path:
            return f"may not run `{word}`, which was not found when it was approved: install it, then approve again"
        if not os.path.exists(program.path):
            return (
                f"cannot run `{word}`, because {program.path} is gone: install it, or approve the skill again"
            )
        if program.digest != _digest_in(program.path, project):
            return f"may not run `{word}`, which changed since it was approved"
    return ""


def _script(run: Sequence[str], project: str) -> Iterator[str]:
    """Yield the argument with the file of the project that a command runs through an interpreter or a wrapper, if any.

    Data files, and files that a tool such as make or pytest finds by itself, are not scripts: agents change them.
    """
    is_interpreted = False
    for word in run:
        if _INTERPRETER.fullmatch(os.path.basename(word)):
            is_interpreted = True
        elif is_interpreted and word in _INLINE:
            return
        elif "$" not in word and os.path.isfile(os.path.join(project, word)):
            yield word
            return
        elif not is_interpreted and not (
            word in _WRAPPERS or word[0] == "-" or "=" in word or word.isdigit()
        ):
            return


def changes(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return each path whose digest differs, with the word `new`, `gone` or `changed`."""
    return [
        f"{path} ({'new' if path not in before else 'gone' if path not in now else 'changed'})"
        for path in sorted({*before, *now})
        if before.get(path) != now.get(path)
    ]


def _path(state: str, folder: str, project: str) -> str:
    """Return the file of the approval of a folder for a project."""
    name = sha256_hex(os.fsencode("\0".join(map(os.path.realpath, (folder, project)))))
    return os.path.join(state, "trust", f"{name}.json")


def _digest_in(path: str, project: str) -> str:
    """Return the digest of a program if it is in the project; empty otherwise."""
    real = os.path.realpath(path) if path else ""
    if not real.startswith(os.path.realpath(project) + os.sep) or not os.path.isfile(real):
        return ""
    return sha256_hex(storage_files.read_bounded(real, limit=LARGEST_FOLDER, what=f"`{path}`"))


def _is_only_of(owner: int, content: FolderContent) -> bool:
    """Return whether only *owner* can have written the files of a folder."""
    for path in ("", *content.files):
        status = os.lstat(os.path.join(content.folder, path))
        if status.st_uid != owner or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return False
    return True


def _ignored_by_git(folder: str) -> frozenset[str]:
    """Return the paths of files in *folder* that git ignores; none if the folder is not in a repository.

    If git ignores the whole folder, all of its files count, except compiled ones.
    """
    try:
        output = git.output_of(folder, _IGNORED, os.environ)
        asked = git.ended(folder, _IS_IGNORED, os.environ, settings={"GIT_LITERAL_PATHSPECS": "0"})
    except git.GitFailedError:
        return frozenset()
    paths = map(os.fsdecode, output.split(b"\0"))
    return frozenset(path for path in paths if asked.status or "__pycache__" in path.split("/"))


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
