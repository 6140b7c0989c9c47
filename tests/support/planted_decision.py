"""Open the page of a planted decision: a migration whose rollback script is empty.

    cd tests && python -m support.planted_decision FOLDER [options of flow ui]

FOLDER, which must not exist, gets a home and a project. A reader opens the printed address, then the session that needs
them, and answers from the page alone. "Not yet" is right: the migration drops a column, and nothing can undo it.
The command ends with Ctrl+C, and then prints how the reader decided and after how many seconds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from support.web import migration

FLOW = (sys.executable, "-m", "flowrail")


def run(folder: str, options: Sequence[str]) -> str:
    """Set up the decision in *folder*, serve its page, and return how the reader decided."""
    project = Path(folder).absolute() / "shop"
    project.mkdir(parents=True)
    os.environ["HOME"] = str(project.parent)
    os.chdir(project)
    session = migration()
    opened = time.time()
    with suppress(KeyboardInterrupt):
        subprocess.run([*FLOW, "ui", *options], check=False)
    shown = subprocess.run([*FLOW, "sessions", session, "--json"], capture_output=True, check=True)
    for record in json.loads(shown.stdout)["history"]:
        if record["kind"] == "answer":
            seconds = datetime.fromisoformat(record["at"]).timestamp() - opened
            return f"{record['note']['answers']['run'][0]} after {seconds:.0f} s"
    return "no answer"


if __name__ == "__main__":
    sys.stdout.write(f"{run(sys.argv[1], sys.argv[2:])}\n")
