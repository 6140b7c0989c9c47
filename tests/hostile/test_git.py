"""Reading a repository starts no program that its configuration names."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.answers import checked
from support.sandbox import put_skill
from support.skills import git

REMOTES = {
    "ssh": ("ssh://host/x", {"core.sshCommand": "EVIL", "protocol.allow": "always"}),
    "program of the remote": (".", {"remote.origin.uploadpack": "EVIL"}),
    "shell": ("ext::EVIL", {"protocol.ext.allow": "always"}),
}
PARTIAL_CLONE = {
    "core.repositoryformatversion": "1",
    "extensions.partialClone": "origin",
    "remote.origin.promisor": "true",
}


@pytest.mark.parametrize("remote", REMOTES)
def test_nothing_is_fetched_to_recognise_a_submodule(
    remote: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evil, canary, outer = tmp_path / "evil", tmp_path / "canary", tmp_path / "outer"
    evil.write_text(f"#!/bin/sh\ntouch '{canary}'\nexit 1\n")
    evil.chmod(0o755)
    for path in ("a/f", "c/inner/x/f"):
        (outer / path).parent.mkdir(parents=True)
        (outer / path).write_text(path)
    git(outer, "init", "-q")
    git(outer, "add", "-A")
    git(outer, "commit", "-qm", "first")
    git(outer, "sparse-checkout", "init", "--cone", "--sparse-index")
    git(outer, "sparse-checkout", "set", "a")
    missing = git(outer, "rev-parse", "HEAD:c")
    (outer / ".git" / "objects" / missing[:2] / missing[2:]).unlink()
    url, settings = REMOTES[remote]
    for key, value in {**PARTIAL_CLONE, "remote.origin.url": url, **settings}.items():
        git(outer, "config", key, value.replace("EVIL", str(evil)))
    inner = outer / "c" / "inner"
    inner.mkdir(parents=True, exist_ok=True)
    git(inner, "init", "-q")
    monkeypatch.chdir(inner)
    put_skill("small", where=inner / ".claude" / "skills")

    for words in (["doctor"], ["list"]):
        checked(*words)

    assert not canary.exists()
