"""Bundled skills, each broken in one way: what an author might do to them by a slip of the hand."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from flowrail.discovery.locations import bundled_folder

Data = dict[str, Any]


class Mutant(NamedTuple):
    """One way of breaking one workflow of a skill: ``spoil`` changes its data, ``text`` a file beside it."""

    skill: str
    file: str
    kind: str
    what: str
    spoil: Callable[[Data], None] | None = None
    text: Callable[[Path], None] | None = None

    @property
    def id(self) -> str:
        """A name for it."""
        return f"{self.kind}: {self.skill}/{self.file} {self.what}"

    def write(self, root: Path) -> Path:
        """Write the broken skill below *root* and return its folder."""
        folder = root / self.skill
        shutil.copytree(Path(bundled_folder()) / self.skill, folder)
        path = folder / self.file
        if self.spoil is not None:
            data = yaml.safe_load(path.read_text(encoding="utf-8"))
            self.spoil(data)
            path.write_text(
                yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100), encoding="utf-8"
            )
        if self.text is not None:
            self.text(folder)
        return folder


def mutants() -> Iterator[Mutant]:
    """Yield every mutant of every bundled skill, in a fixed order."""
    root = Path(bundled_folder())
    for path in sorted([*root.glob("*/workflow.yaml"), *root.glob("*/workflows/*.yaml")]):
        skill, _, file = path.relative_to(root).as_posix().partition("/")
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        for kind, make in KINDS.items():
            for what, change in make(data):
                if kind in OF_TEXTS:
                    yield Mutant(skill, file, kind, what, text=change)
                else:
                    yield Mutant(skill, file, kind, what, spoil=change)


def _at(index: int, change: Callable[[Data], object]) -> Callable[[Data], None]:
    return lambda data: (change(data["steps"][index]), None)[1]


def _retarget(outcome: str, step: Data) -> None:
    step["next"][outcome] += "x"


def _close(outcome: str, step: Data) -> None:
    del step["next"][outcome]


def _rename_fact(name: str, step: Data) -> None:
    step["reports"][f"{name}x"] = step["reports"].pop(name)


def _rule_says(place: int, outcome: str, step: Data) -> None:
    step["rules"][place]["outcome"] = outcome


def _answer_says(place: int, outcome: str, step: Data) -> None:
    step["questions"][place]["options"][0]["outcome"] = outcome


def _misdirect(key: str, step: Data) -> None:
    step["dispatch"][key] += "s"


def _review_itself(step: Data) -> None:
    step["gate"]["review"] = step["id"]


def _targets_gone(data: Data) -> Iterator[tuple[str, Any]]:
    for index, step in enumerate(data["steps"]):
        for outcome, target in step["next"].items():
            if target is not None:
                yield f"{step['id']}.{outcome}", _at(index, partial(_retarget, outcome))


def _ways_removed(data: Data) -> Iterator[tuple[str, Any]]:
    for index, step in enumerate(data["steps"]):
        for outcome in step["next"]:
            yield f"{step['id']}.{outcome}", _at(index, partial(_close, outcome))


def _limits_removed(data: Data) -> Iterator[tuple[str, Any]]:
    for index, step in enumerate(data["steps"]):
        if "limit" in step:
            yield step["id"], _at(index, lambda s: s.pop("limit"))


def _unreachable(data: Data) -> Iterator[tuple[str, Any]]:
    for step in data["steps"][1:]:
        after = next((to for to in step["next"].values() if to != step["id"]), None)

        def around(whole: Data, gone: str = step["id"], to: str | None = after) -> None:
            for each in whole["steps"]:
                if each["id"] != gone:
                    each["next"] = {o: to if t == gone else t for o, t in each["next"].items()}

        yield step["id"], around


def _ids_renamed(data: Data) -> Iterator[tuple[str, Any]]:
    for index, step in enumerate(data["steps"]):
        yield step["id"], _at(index, lambda s: s.update(id=f"{s['id']}_new"))


def _facts_renamed(data: Data) -> Iterator[tuple[str, Any]]:
    text = yaml.safe_dump([{**each, "reports": None} for each in data["steps"]])
    for index, step in enumerate(data["steps"]):
        for name in step.get("reports", {}):
            if re.search(rf"\b{name}\b", text):
                yield f"{step['id']}.{name}", _at(index, partial(_rename_fact, name))


def _outcomes_changed(data: Data) -> Iterator[tuple[str, Any]]:
    for index, step in enumerate(data["steps"]):
        for place in range(len(step.get("rules", []))):
            closed = next(each for each in ("skip", "fail") if each not in step["next"])
            yield f"{step['id']} rule {place}", _at(index, partial(_rule_says, place, closed))
        for place, question in enumerate(step.get("questions", [])):
            other = next((each for each in ("skip", "iterate", "fail") if each not in step["next"]), None)
            if other and question["options"][0].get("outcome"):
                yield f"{step['id']} answer {place}", _at(index, partial(_answer_says, place, other))


def _work_misdirected(data: Data) -> Iterator[tuple[str, Any]]:
    for index, step in enumerate(data["steps"]):
        work = step.get("dispatch") or {}
        for key in ("run", "over"):
            if isinstance(work.get(key), str):
                yield f"{step['id']}.{key}", _at(index, partial(_misdirect, key))
        if "gate" in step:
            yield f"{step['id']}.review", _at(index, _review_itself)


def _texts_of(data: Data) -> str:
    name = str(data["name"])
    return f"steps/{name.partition('/')[2]}/" if "/" in name else "steps/"


def _texts_renamed(data: Data) -> Iterator[tuple[str, Any]]:
    folder = _texts_of(data)
    for step in data["steps"]:
        path = f"{folder}{step['id']}.md"

        def rename(root: Path, path: str = path) -> None:
            (root / path).rename((root / path).with_suffix(".old.md"))

        if "actions" not in step and "text" not in step:
            yield path, rename


def _placeholders_renamed(data: Data) -> Iterator[tuple[str, Any]]:
    folder = _texts_of(data)
    for step in data["steps"]:
        path = Path(bundled_folder()) / str(data["name"]).partition("/")[0] / f"{folder}{step['id']}.md"
        if not path.exists():
            continue
        for name in sorted(set(re.findall(r"(?<!\$)\$([a-z][a-z0-9_]*)", path.read_text(encoding="utf-8")))):

            def rename(root: Path, path: str = f"{folder}{step['id']}.md", name: str = name) -> None:
                text = (root / path).read_text(encoding="utf-8")
                (root / path).write_text(re.sub(rf"\${name}\b", f"${name}x", text), encoding="utf-8")

            yield f"{step['id']} ${name}", rename


KINDS: dict[str, Callable[[Data], Iterator[tuple[str, Any]]]] = {
    "target gone": _targets_gone,
    "way removed": _ways_removed,
    "limit removed": _limits_removed,
    "step unreachable": _unreachable,
    "step renamed": _ids_renamed,
    "fact renamed": _facts_renamed,
    "outcome changed": _outcomes_changed,
    "work misdirected": _work_misdirected,
    "text renamed": _texts_renamed,
    "placeholder renamed": _placeholders_renamed,
}
OF_TEXTS = {"text renamed", "placeholder renamed"}
