"""Workers run sessions with Claude Code and Codex themselves, each with a scripted model. `nox -s hosts` installs both."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from support import fleets
from support.sandbox import put_skill, told
from support.scripted_model import bash, say, served
from support.skills import git


def claude_code(address: str) -> Mapping[str, str]:
    """Return the environment in which Claude Code asks the model at *address*."""
    return {
        "ANTHROPIC_API_KEY": "unused",
        "ANTHROPIC_BASE_URL": address,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


def codex(address: str) -> Mapping[str, str]:
    """Write the settings with which Codex asks the model at *address*, and return its environment."""
    home = Path(os.environ["HOME"])
    settings = home / ".codex" / "config.toml"
    settings.parent.mkdir()
    provider = (
        f'name = "scripted"\nbase_url = "{address}/v1"\nwire_api = "responses"\nenv_key = "SCRIPTED_KEY"\n'
    )
    settings.write_text(
        f'model_provider = "scripted"\n[model_providers.scripted]\n{provider}', encoding="utf-8"
    )
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    (home / ".profile").write_text(f"PATH='{path}'\n", encoding="utf-8")  # its shells are login shells
    return {"SCRIPTED_KEY": "unused"}


@pytest.mark.parametrize(("program", "configured"), [("claude", claude_code), ("codex", codex)])
def test_a_worker_lets_the_host_finish_a_session(
    program: str, configured: Callable[[str], Mapping[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed: nox -s hosts")
    if program == "codex" and str(Path.cwd()).startswith("/dev/"):
        pytest.skip("Codex's sandbox has a /dev of its own: set PYTEST_DEBUG_TEMPROOT to another folder")
    monkeypatch.setattr(fleets, "PROGRAMS", Path(found).parent)
    git(Path(), "init")  # Codex runs only in a real repository
    put_skill("small")
    fleets.approve_folder()
    session = fleets.run_session("small", program=program)
    report = bash(f"flow step ok --session {session} --format text")

    with served({session: [report, report, say("Done.")]}) as model:
        for name, value in configured(model.address).items():
            monkeypatch.setenv(name, value)
        with fleets.worker(program=program):
            fleets.until(fleets.ended(session))

    logs = [path.read_text(encoding="utf-8") for path in Path(".flow/fleet/logs").glob("*.log")]
    assert told("sessions", session)["status"] == "completed", "\n".join(logs)
