"""Burr: an action for each step, transitions by the reported outcome, and SQLitePersister to store the state."""

import sys

from burr.core import ApplicationBuilder, State, action, when
from burr.core.persistence import SQLitePersister

CHECK = "verify" if "--edited" in sys.argv else "check"  # the step `check` was renamed


@action(reads=[], writes=["outcome", "rounds"])
def write(state: State, outcome: str) -> State:
    """Take the report."""
    return state.update(outcome=outcome, rounds=0)


@action(reads=["rounds"], writes=["outcome", "rounds", "again"])
def check(state: State, outcome: str) -> State:
    """Take the report and count the attempt."""
    rounds = state["rounds"] + 1
    return state.update(outcome=outcome, rounds=rounds, again=outcome == "iterate" and rounds < 3)


@action(reads=[], writes=["outcome"])
def tell(state: State, outcome: str) -> State:
    """Take the report."""
    return state.update(outcome=outcome)


@action(reads=[], writes=[])
def end(state: State) -> State:
    """End."""
    return state


def main(path: str, verb: str, outcome: str = "") -> None:
    """Handle one call."""
    persister = SQLitePersister(db_path=path, table_name="burr")
    persister.initialize()
    app = (
        ApplicationBuilder()
        .with_actions(write=write, tell=tell, end=end, **{CHECK: check})
        .with_transitions(
            ("write", CHECK),
            (CHECK, CHECK, when(again=True)),
            (CHECK, "tell", when(again=False)),
            ("tell", "end"),
        )
        .initialize_from(
            persister, resume_at_next_action=True, default_state={"rounds": 0}, default_entrypoint="write"
        )
        .with_state_persister(persister)
        .with_identifiers(app_id="1", partition_key="1")
        .build()
    )
    if verb == "report":
        app.step(inputs={"outcome": outcome})
    following = app.get_next_action()
    print(following.name if following else "end", app.state.get("rounds", 0) + 1)


main(*[word for word in sys.argv[1:] if not word.startswith("--")])
