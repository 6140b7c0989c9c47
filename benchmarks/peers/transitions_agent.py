"""transitions: a machine in memory; what is kept, and how, is the program's own affair: here a JSON file."""

import json
import sys
from pathlib import Path

from transitions import Machine

CHECK = "verify" if "--edited" in sys.argv else "check"  # the step `check` was renamed


class Procedure:
    """The model."""

    rounds = 0

    def count(self) -> None:
        """Count a round."""
        self.rounds += 1

    def may_go_round(self) -> bool:
        """Tell whether there is a round left."""
        return self.rounds < 2


def main(path: str, verb: str, outcome: str = "") -> None:
    """Do one call."""
    file, model = Path(path), Procedure()
    kept = json.loads(file.read_text()) if verb != "start" else {"state": "write", "rounds": 0}
    model.rounds = kept["rounds"]
    machine = Machine(
        model, states=["write", CHECK, "tell", "end"], initial=kept["state"], auto_transitions=False
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
