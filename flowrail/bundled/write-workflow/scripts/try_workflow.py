"""Check and test one skill with flow, as a step of the skill write-workflow demands it.

    try_workflow.py -- NAME     run `flow check NAME --strict` and `flow test NAME`

Exit status: 0 if both are clean, and the last line is then `NAME is clean`; otherwise 1. The workflow's own commands are
not run. Needs Python 3.9 or later.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys


def main() -> int:
    """Run both commands and print what they say."""
    name = sys.argv[-1]
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,59}", name):
        print(
            f"`{name[:80]}` is not the name of a skill: use lower-case letters, digits and hyphens",
            file=sys.stderr,
        )
        return 1
    program = shutil.which("flow")
    flow = [program] if program else [sys.executable, "-m", "flowrail"]
    for words in (["check", name, "--strict"], ["test", name]):
        print(f"$ flow {' '.join(words)}", flush=True)
        ran = subprocess.run([*flow, *words], check=False)
        if ran.returncode != 0:
            return 1
    print(f"{name} is clean")
    return 0


if __name__ == "__main__":
    sys.exit(main())
