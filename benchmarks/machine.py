"""Measure one `advance`, compared with one `send` of a machine written by hand, and a tool call under order rules.

Run: python benchmarks/machine.py
"""

from __future__ import annotations

from functools import partial

from size import steps_of
from statemachine import State, StateChart
from timing import best_of, report

from flowrail.machines.order_watch import called
from flowrail.machines.session import Report, Session
from flowrail.machines.transition import advance, start
from flowrail.machines.workflow import Workflow
from flowrail.rules.tools import ToolUse

MOST_MICROSECONDS = 10
ORDER = (
    's0 before "Bash(git push*)"',
    '"Bash(pytest*)" before each "Bash(git commit*)"',
    'never "Edit(migrations/**)" after s5 until s8',
    'at most 2 "Bash(tools/book*)" per attempt of s3',
    "s2 before s7",
)
"""One rule of each form, and one without tool calls."""
LINES = {
    "one that no rule is about": "cd src && git status --short",
    "one that a rule counts": "pytest -q tests",
    "one that a rule denies": "git add -A && git commit -m 'a fix'",
}


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
    _print_calls()


def _print_calls() -> None:
    """Print what five order rules cost at each tool call of an agent."""
    workflow = Workflow("line", *steps_of(20), order=ORDER)
    session = start(workflow)

    def call(line: str) -> Session:
        use = ToolUse("Bash", {"command": line}, "/p", "/p", "/home/me")
        return called(workflow, session, use)[0]

    best = best_of(
        {name: partial(call, line) for name, line in LINES.items()}
        | {
            "an edit": lambda: called(
                workflow, session, ToolUse("Edit", {"file_path": "src/a.py"}, "/p", "/p", "/home/me")
            )
        },
        rounds=50,
        calls=200,
    )
    print(f"\nA tool call, followed by {len(ORDER)} order rules (aim: at most {MOST_MICROSECONDS} µs)")
    for name, seconds in best.items():
        print(f"  {name:<30} {seconds * 1e6:6.1f} µs")


if __name__ == "__main__":
    main()
