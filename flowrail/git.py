"""Ask git what changed in a repository.

git runs with a time limit. It does not fetch, and it does not start programs that a repository configures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from flowrail import processes
from flowrail.errors import UsageError

#: The time limit of git and of the processes that it starts, in seconds. A large repository may be slow.
TIME_LIMIT = 10.0
LARGEST_OUTPUT = 64 * 1024 * 1024
_HINT = "run git in a repository that it can read"
_COMMAND = ("git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")


class GitFailedError(UsageError):
    """git failed, or the folder is not in a git repository."""

    code = "GIT_FAILED"


def output_of(
    folder: str, words: Iterable[str], environ: Mapping[str, str], *, seconds: float = TIME_LIMIT
) -> bytes:
    """Return the output of git for *words* in *folder*; `GitFailedError` if it fails or takes longer."""
    process = ended(folder, words, environ, seconds=seconds)
    if process.status:
        complaint = process.errors.decode("utf-8", "replace").strip()[:200]
        raise GitFailedError(f"git failed: {complaint}", hint=_HINT)
    return process.output


def ended(
    folder: str,
    words: Iterable[str],
    environ: Mapping[str, str],
    *,
    seconds: float = TIME_LIMIT,
    settings: Mapping[str, str] | None = None,
) -> processes.EndedProcess:
    """Run git with *words* in *folder* until it ends; `GitFailedError` if it cannot be started or takes longer.

    *settings* are environment variables for git.
    """
    try:
        process = processes.run(
            [*_COMMAND, *words],
            folder=folder,
            environ={**_environment(environ), **(settings or {})},
            seconds=seconds,
            most_output=LARGEST_OUTPUT,
            errors_apart=True,
        )
    except OSError as error:
        raise GitFailedError(f"git could not be started: {error.strerror}", hint=_HINT) from None
    if process.status is None:  # it took too long, or printed too much
        raise GitFailedError(f"git did not answer within {seconds:g} seconds", hint=_HINT)
    return process


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for git in a repository of another author.

    In a partial clone, git would otherwise fetch a missing object with a program that the repository names.
    """
    inherited = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    offline = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "", "GIT_TERMINAL_PROMPT": "0"}
    return {**inherited, **offline, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_LITERAL_PATHSPECS": "1"}
