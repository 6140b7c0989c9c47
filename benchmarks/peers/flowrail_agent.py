"""flowrail: the workflow as a file, and the command itself."""

import os
import sys
from pathlib import Path

WORKFLOW = """\
name: procedure
steps:
  - {id: write, title: Write, actions: [Write.], next: {ok: CHECK}}
  - {id: CHECK, title: Check, actions: [Check.], limit: 3, next: {ok: tell, iterate: CHECK}}
  - {id: tell, title: Tell, actions: [Tell.], next: {ok: null}}
"""


def main(path: str, verb: str, outcome: str = "") -> None:
    """Handle one call with the command that was printed before."""
    root = Path(path)
    skill = root / "skills" / "procedure"
    skill.mkdir(parents=True, exist_ok=True)
    check = "verify" if "--edited" in sys.argv else "check"
    (skill / "workflow.yaml").write_text(WORKFLOW.replace("CHECK", check))
    (skill / "SKILL.md").write_text("---\nname: procedure\ndescription: The procedure.\n---\n")
    places = ["--root", str(root / "skills"), "--store", str(root / "store")]
    flow = [str(Path(sys.executable).parent / "flow")]
    command = {
        "start": [*flow, "start", "procedure", *places],
        "report": [*flow, "step", "procedure", outcome, *os.environ.get("FLOW_EXPECT", "").split(), *places],
        "where": [*flow, "step", "procedure", *places],
    }[verb]
    os.execv(command[0], [*command, "--format", "text"])  # noqa: S606


main(*[word for word in sys.argv[1:] if not word.startswith("--")])
