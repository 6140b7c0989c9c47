"""The script of completion for bash: printed without starting bash, as everything that only looks.

click starts the first `bash` of PATH to ask for its version; one older than 4.4 says itself what it lacks.
"""

from __future__ import annotations

from click.shell_completion import BashComplete, add_completion_class


class _Bash(BashComplete):
    def source(self) -> str:
        """Return the script."""
        return self.source_template % self.source_vars()


def register() -> None:
    """Have click take ours for bash."""
    add_completion_class(_Bash)
