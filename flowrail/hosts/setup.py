"""Hooks put into a host's settings, taken away again, and looked at.

What was put in is written down in the user's own state, so that taking it away gives back the very bytes
that were there; where somebody has changed the settings since, what is ours is found by its form.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from typing import Any, NamedTuple

from flowrail.discovery.locations import config_folder, find_project_root
from flowrail.errors import ConflictError, DocumentError, FlowError
from flowrail.hosts.jsonc import parse, without
from flowrail.hosts.settings import likened, refuse_odd, standing, with_hooks, without_hooks
from flowrail.storage import files

HOSTS = ("claude-code", "codex")
OTHER = "other"
"""Any host that calls no hooks of this form."""
LARGEST = 1_000_000
FORMAT = 1
_NOTHING = "\ufeff \t\r\n"


class LinkedSettingsError(ConflictError):
    """The project's settings are a link; what it leads to is nobody's to change for the project."""

    code = "SETTINGS_LINKED"


class Place(NamedTuple):
    """Where a host keeps its settings: which host, whose, and the file."""

    host: str
    to: str
    path: str


class Done(NamedTuple):
    """What became of one host's settings: the text before and after, `None` where there is no file."""

    place: Place
    before: str | None
    after: str | None

    @property
    def changed(self) -> bool:
        """Whether anything is another now."""
        return self.before != self.after


def place(host: str, to: str, *, cwd: str, home: str, environ: Mapping[str, str]) -> Place:
    """Return where *host* keeps the settings of the project that *cwd* is in, or the user's own."""
    if to == "home":
        moved = environ.get("CODEX_HOME") or os.path.join(home, ".codex")
        folder = config_folder(home, environ) if host == "claude-code" else moved
    else:
        folder = os.path.join(find_project_root(cwd), ".claude" if host == "claude-code" else ".codex")
    name = "settings.json" if host == "claude-code" else "hooks.json"
    return Place(host, to, os.path.join(folder, name))


def places(cwd: str, home: str, environ: Mapping[str, str]) -> list[Place]:
    """Return every place that our hooks may stand in."""
    found = [
        place(host, to, cwd=cwd, home=home, environ=environ) for host in HOSTS for to in ("project", "home")
    ]
    return list({os.path.realpath(each.path): each for each in found}.values())


def install(where: Place, state: str, *, permissions: bool, dry_run: bool) -> Done:
    """Put our hooks into a host's settings, everything else left as it is."""
    real = _real(where)
    before = _text(real)
    kept = _kept(real, state, before)
    bare = _bare(before, kept)
    if kept is None and before is not None and False in standing_of(before, real).values():
        bare = without_hooks(before, source=real)  # those of an earlier version, put in by another hand
    permissions = permissions or bool(kept and kept["permissions"])
    edited = with_hooks(bare, permissions=permissions, source=real)
    if not dry_run and edited.text != before:
        record = {
            "format": FORMAT,
            "path": real,
            "after": _digest(edited.text),
            "spans": edited.spans,
            "made": bare is None,
            "folder": kept["folder"] if kept else not os.path.isdir(os.path.dirname(real)),
            "permissions": permissions,
        }
        files.make_private_dir(os.path.join(state, "hosts"))
        files.write_atomic(_record(real, state), json.dumps(record).encode() + b"\n")
        files.make_dir(os.path.dirname(real))
        files.write_atomic(real, edited.text.encode(), mode=_mode(real))
    return Done(where, before, edited.text)


def uninstall(where: Place, state: str, *, dry_run: bool) -> Done:
    """Take our hooks out of a host's settings again."""
    real = _real(where)
    before = _text(real)
    kept = _kept(real, state, before)
    after = _bare(before, kept) if kept else (None if before is None else without_hooks(before, source=real))
    if not dry_run:
        if after is None and before is not None:
            files.remove(real)
            if kept and kept["folder"]:
                with suppress(OSError):  # somebody may have put something else there
                    os.rmdir(os.path.dirname(real))
        elif after is not None and after != before:
            files.write_atomic(real, after.encode(), mode=_mode(real))
        with suppress(OSError):
            os.unlink(_record(real, state))
    return Done(where, before, after)


def standing_of(text: str, source: str) -> dict[str, bool | None]:
    """Return how our hooks stand in a text; one that holds nothing has none."""
    return standing(text, source=source) if text.strip(_NOTHING) else {}


def alike(where: Place) -> list[str]:
    """Return the commands of hooks in a host's settings that begin like ours and are none of ours."""
    text = _text(os.path.realpath(where.path)) or ""
    return likened(text, source=where.path) if text.strip(_NOTHING) else []


def look(where: Place) -> dict[str, bool | None] | FlowError | None:
    """Return how our hooks stand in a host's settings; `None` without a file, or what is wrong with it."""
    try:
        text = _text(os.path.realpath(where.path))
        if text is None:
            return None
        if text.strip(_NOTHING):
            refuse_odd(text, source=where.path)
        return standing_of(text, where.path)
    except FlowError as error:
        return error


def switched_off(where: Place) -> bool:
    """Return whether a host's settings say that no hook is called at all."""
    try:
        root = parse(_text(os.path.realpath(where.path)) or "{}", source=where.path)
    except FlowError:
        return False
    off = root.member("disableAllHooks")
    return off is not None and off.value is True


def _real(where: Place) -> str:
    """Return the file itself: in home it may be a link, to somebody's dotfiles."""
    real = os.path.realpath(where.path)
    parts = (where.path, os.path.dirname(where.path))
    if where.to != "home" and any(os.path.islink(each) for each in parts):
        raise LinkedSettingsError(
            f"{where.path} is behind a link",
            hint=f"change {real} by hand, or use --to home",
            place=where.path,
        )
    return real


def _text(path: str) -> str | None:
    try:
        data = files.read_bounded(path, limit=LARGEST, what="the host's settings")
    except files.MissingFileError:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        fact = f"is no UTF-8: byte 0x{data[error.start]:02X}"
        raise DocumentError(fact, hint="mend it first", place=f"{path}:{line}") from None


def _kept(path: str, state: str, text: str | None) -> dict[str, Any] | None:
    """Return what was written down when hooks were put in, if the settings are as they were then."""
    if text is None:
        return None
    try:
        data = json.loads(files.read_bounded(_record(path, state), limit=LARGEST, what="what was put in"))
        spans = [(int(at), int(length)) for at, length in data["spans"]]
        fits = data["path"] == path and data["after"] == _digest(text)
        told = {name: data.get(name) is True for name in ("made", "permissions", "folder")}
    except (DocumentError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return {"spans": spans, **told} if fits else None


def _bare(text: str | None, kept: Mapping[str, Any] | None) -> str | None:
    """Return *text* without what was put in; `None` where the file was made for it."""
    if text is None or kept is None:
        return text
    return None if kept["made"] else without(text, kept["spans"])


def _record(path: str, state: str) -> str:
    return os.path.join(state, "hosts", f"{sha256(os.fsencode(path)).hexdigest()[:32]}.json")


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _mode(path: str) -> int:
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        return 0o644
