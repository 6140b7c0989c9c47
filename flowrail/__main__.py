"""Run `flow`, `flowrail` or `python -m flowrail`."""

import sys

_HOOKS = (
    *("session-start", "session-end", "stop", "subagent-stop"),
    *("pre-tool-use", "post-tool-use", "post-tool-use-failure"),
)


def main() -> int:
    """Run the command line and return its exit status."""
    if sys.platform == "win32":
        sys.stderr.write("flow: flowrail runs on Linux and macOS, not on Windows\n  use WSL\n")
        return 2
    words = sys.argv[1:]
    try:
        if words[:1] == ["hook"] and words[1:] in [[event] for event in _HOOKS]:
            from flowrail.hooks.entry import run as run_hook  # a host calls it for every tool: without click

            return run_hook(words[1])
        from flowrail.cli.main import main as run_command  # with click, which a hook does without

        return run_command()
    except KeyboardInterrupt:  # also while modules are imported
        return 130


if __name__ == "__main__":
    if __spec__ is not None and not sys.flags.safe_path:
        del sys.path[0]  # `python -m` puts the current folder there, and its `click.py` would be imported
    sys.exit(main())
