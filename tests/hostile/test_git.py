"""git starts no program that a repository configures, even if an object is missing."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from support.skills import git, repository

from flowrail.git import GitFailedError, output_of

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
SHOW = ("show", "HEAD:README")


@pytest.mark.parametrize("remote", REMOTES)
def test_git_does_not_fetch_a_missing_object(remote: str, tmp_path: Path) -> None:
    evil, canary, clone = tmp_path / "evil", tmp_path / "canary", tmp_path / "clone"
    evil.write_text(f"#!/bin/sh\ntouch '{canary}'\nexit 1\n")
    evil.chmod(0o755)
    repository(clone)
    missing = git(clone, "rev-parse", "HEAD:README")
    (clone / ".git" / "objects" / missing[:2] / missing[2:]).unlink()
    url, settings = REMOTES[remote]
    for key, value in {**PARTIAL_CLONE, "remote.origin.url": url, **settings}.items():
        git(clone, "config", key, value.replace("EVIL", str(evil)))

    with pytest.raises(GitFailedError):
        output_of(str(clone), SHOW, os.environ)
    assert not canary.exists()

    with pytest.raises(subprocess.CalledProcessError):
        git(clone, *SHOW)
    assert canary.exists(), "without the settings of `output_of`, git starts the program"
