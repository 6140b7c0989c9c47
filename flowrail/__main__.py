"""Run `flow`, `flowrail` or `python -m flowrail`."""

import gc
import sys

from flowrail.cli.lazy_imports import load_command_line

_HOOKS = (
    *("session-start", "session-end", "stop", "subagent-stop"),
    *("pre-tool-use", "post-tool-use", "post-tool-use-failure"),
)


def main() -> int:
    """Run the command line and return its exit status.

    The garbage collector is off: a command runs for milliseconds, and collecting takes a sixth of the time of
    a step.
    """
    gc.disable()
    if sys.platform == "win32":
        sys.stderr.write("flow: flowrail runs on Linux and macOS, not on Windows\n  use WSL\n")
        return 2
    words = sys.argv[1:]
    if words[:1] == ["hook"] and not words[2:] and words[-1] in _HOOKS:
        from flowrail.cli.hook_entry import run as run_hook  # a host calls it for every tool: without click

        return run_hook(words[1])
    status: int = load_command_line().main()
    gc.freeze()
    return status


if __name__ == "__main__":
    if __spec__ is not None and not sys.flags.safe_path:
        del sys.path[0]  # `python -m` puts the current folder there, and its `click.py` would be imported
    sys.exit(main())
