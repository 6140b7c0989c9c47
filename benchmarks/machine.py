"""Measure one `advance`, compared with one `send` of a machine written by hand.

Run: python benchmarks/machine.py
"""

from __future__ import annotations

from size import steps_of
from statemachine import State, StateChart
from timing import best_of, report

from flowrail.machines.session import Report
from flowrail.machines.transition import advance, start
from flowrail.machines.workflow import Workflow


class ByHand(StateChart):
    """A machine with four states in a circle."""

    allow_event_without_transition = False
    catch_errors_as_events = False
    atomic_configuration_update = True

    one = State(initial=True)
    two = State()
    three = State()
    four = State()
    end = State(final=True)
    go = one.to(two) | two.to(three) | three.to(four) | four.to(one)
    stop = four.to(end)


def main() -> None:
    """Print the ratios."""
    machine = ByHand()
    workflow = Workflow("line", *steps_of(20))
    session = start(workflow)
    ok = Report("ok")
    best = best_of(
        {"a bare send()": lambda: machine.send("go"), "advance()": lambda: advance(workflow, session, ok)},
        rounds=20,
        calls=1_000,
    )
    report(
        "One step, compared with a send() of a machine written by hand",
        best,
        "a bare send()",
        {"advance()": 1.5},
    )


if __name__ == "__main__":
    main()
