"""A repository that names programs for git to start: none is started by looking."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.answers import checked
from support.sandbox import put_skill
from support.skills import git

REMOTES = {
    "ssh": ("ssh://host/x", {"core.sshCommand": "EVIL"}),
    "a program of the remote": (".", {"remote.origin.uploadpack": "EVIL"}),
    "a shell": ("ext::EVIL", {"protocol.ext.allow": "always"}),
    "any protocol": ("ssh://host/x", {"core.sshCommand": "EVIL", "protocol.ssh.allow": "always", "protocol.allow": "always"}),
}  # fmt: skip


def program(tmp_path: Path) -> tuple[Path, Path]:
    """Return a program, and the file that is there once it ran."""
    evil, canary = tmp_path / "evil", tmp_path / "canary"
    evil.write_text(f"#!/bin/sh\ntouch '{canary}'\nexit 1\n")
    evil.chmod(0o755)
    return evil, canary


def lacking(folder: Path, name: str, remote: str, evil: Path) -> None:
    """Take the object *name* out of a repository and say that its remote has it."""
    lost = git(folder, "rev-parse", name)
    (folder / ".git" / "objects" / lost[:2] / lost[2:]).unlink()
    url, settings = REMOTES[remote]
    more = {
        "core.repositoryformatversion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
    }
    for key, value in {**more, "remote.origin.url": url, **settings}.items():
        git(folder, "config", key, value.replace("EVIL", str(evil)))


@pytest.mark.parametrize("remote", REMOTES)
def test_nothing_is_fetched_to_tell_a_submodule(
    remote: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evil, canary = program(tmp_path)
    outer = tmp_path / "outer"
    for path in ("a/f", "c/inner/x/f"):
        (outer / path).parent.mkdir(parents=True)
        (outer / path).write_text(path)
    git(outer, "init", "-q")
    git(outer, "add", "-A")
    git(outer, "commit", "-qm", "first")
    git(outer, "sparse-checkout", "init", "--cone", "--sparse-index")
    git(outer, "sparse-checkout", "set", "a")
    lacking(outer, "HEAD:c", remote, evil)
    inner = outer / "c" / "inner"
    inner.mkdir(parents=True, exist_ok=True)
    git(inner, "init", "-q")
    monkeypatch.chdir(inner)
    put_skill("small", where=inner / ".claude" / "skills")

    for words in (["doctor"], ["list"]):
        checked(*words)

    assert os.getcwd() == str(inner)
    assert not canary.exists()
