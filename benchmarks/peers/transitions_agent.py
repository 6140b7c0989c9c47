"""transitions: a machine in memory. The program stores its state in a JSON file."""

import json
import sys
from pathlib import Path

from transitions import Machine

CHECK = "verify" if "--edited" in sys.argv else "check"  # the step `check` was renamed


class Procedure:
    """The model."""

    rounds = 0

    def count(self) -> None:
        """Count an attempt."""
        self.rounds += 1

    def may_go_round(self) -> bool:
        """Return whether another attempt is allowed."""
        return self.rounds < 2


def main(path: str, verb: str, outcome: str = "") -> None:
    """Handle one call."""
    file, model = Path(path), Procedure()
    stored = json.loads(file.read_text()) if verb != "start" else {"state": "write", "rounds": 0}
    model.rounds = stored["rounds"]
    machine = Machine(
        model, states=["write", CHECK, "tell", "end"], initial=stored["state"], auto_transitions=False
    )
    machine.add_transition("ok", "write", CHECK)
    machine.add_transition("iterate", CHECK, CHECK, conditions="may_go_round", after="count")
    machine.add_transition("iterate", CHECK, "tell")
    machine.add_transition("ok", CHECK, "tell")
    machine.add_transition("ok", "tell", "end")
    if verb == "report":
        model.trigger(outcome)
    if verb != "where":
        file.write_text(json.dumps({"state": model.state, "rounds": model.rounds}))
    print(model.state, model.rounds + 1)


main(*[word for word in sys.argv[1:] if not word.startswith("--")])
