"""Habits of agents: always the first way, always the last, always failing, never done, by chance."""

from __future__ import annotations

import random
from collections.abc import Sequence

from support.team import Asked, Case, Habit, Told, Want, Work


class Last(Habit):
    """Take the last command; work from a prompt fails, and each review finds something small."""

    def way(self, told: Told, cases: Sequence[Case]) -> Case:
        return cases[-1]

    def value(self, told: Told, want: Want) -> str:
        return want.choices[-1] if want.choices else want.example

    def label(self, told: Told, question: Asked) -> str:
        return question.options[-1][0]

    def found(self, told: Told) -> Sequence[str]:
        return ["COULD"]

    def manages(self, work: Work) -> bool:
        return False


class LastAnswer(Habit):
    """Take the first command, and the last answer to each question."""

    def label(self, told: Told, question: Asked) -> str:
        return question.options[-1][0]


class Failing(Habit):
    """Everything fails, reviews find faults; where a limit asks, the user says *at_limit* if possible."""

    def __init__(self, at_limit: str) -> None:
        self.at_limit = at_limit

    def way(self, told: Told, cases: Sequence[Case]) -> Case:
        return next((case for case in cases if case.outcome == "fail"), cases[-1])

    def label(self, told: Told, question: Asked) -> str:
        labels = [label for label, _ in question.options]
        return self.at_limit if self.at_limit in labels else labels[-1]

    def found(self, told: Told) -> Sequence[str]:
        return ["MUST", "SHOULD"]

    def manages(self, work: Work) -> bool:
        return False


class Iterating(Habit):
    """Never finish: take what leads back or to the same step; report numbers above zero."""

    def way(self, told: Told, cases: Sequence[Case]) -> Case:
        back = [case for case in cases if case.outcome == "iterate" or case.to == told.step]
        return (back or cases)[0]

    def value(self, told: Told, want: Want) -> str:
        return "1" if (want.type, want.example) == ("integer", "0") else want.example

    def label(self, told: Told, question: Asked) -> str:
        return question.options[min(1, len(question.options) - 1)][0]

    def found(self, told: Told) -> Sequence[str]:
        return ["SHOULD"]


class NoWriter(Habit):
    """Everything succeeds, except that writers never finish."""

    def manages(self, work: Work) -> bool:
        return work.agent != "technical-writer"


class Sparse(Habit):
    """As little as possible is reported: no items, zeros."""

    def value(self, told: Told, want: Want) -> str:
        return want.example if want.choices else {"list": "[]", "integer": "0"}.get(want.type, want.example)


class Chance(Habit):
    """Anything that is open, by chance, the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)  # noqa: S311 - not for secrets

    def way(self, told: Told, cases: Sequence[Case]) -> Case:
        return self.chance.choice(cases)

    def value(self, told: Told, want: Want) -> str:
        few = {"list": "[]", "integer": "1"}.get(want.type, want.example)
        return self.chance.choice(want.choices or [want.example, few])

    def label(self, told: Told, question: Asked) -> str:
        return self.chance.choice(question.options)[0]

    def found(self, told: Told) -> Sequence[str]:
        return self.chance.choices(["MUST", "SHOULD", "COULD"], k=self.chance.choice([0, 0, 1]))

    def manages(self, work: Work) -> bool:
        return self.chance.random() < 0.6

    def goes_on(self, told: Told) -> bool:
        return self.chance.random() < 0.5


AT_LIMIT = ("Stop", "Accept the risk", "Another round", "MUST only")


def habits() -> dict[str, Habit]:
    """Return habits by their names, fresh; together they take every way that there is."""
    return {
        "first": Habit(),
        "last": Last(),
        "last answer": LastAnswer(),
        "iterating": Iterating(),
        "sparse": Sparse(),
        "no writer": NoWriter(),
        **{f"failing, then {words}": Failing(words) for words in AT_LIMIT[:2]},
        **{f"chance {seed}": Chance(seed) for seed in range(6)},
    }


def more_habits() -> dict[str, Habit]:
    """Return habits whose walks are long and take no way that the others do not."""
    return {
        **{f"failing, then {words}": Failing(words) for words in AT_LIMIT[2:]},
        **{f"chance {seed}": Chance(seed) for seed in range(6, 20)},
    }
