"""Turn the text of a skill into a workflow draft: its headings become steps, in their order.

The draft is linear and runs as it is. Passages about repetitions, decisions, questions and results are not converted.
Each becomes a finding, and the author adds the keys.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from flowrail.discovery.scan.frontmatter import read_frontmatter
from flowrail.errors import DocumentError
from flowrail.storage.files import read_bounded
from flowrail.text import limits
from flowrail.text import yaml as yaml_text
from flowrail.text.phrases import listed
from flowrail.text.placeholders import PLACEHOLDER, fences, in_fences
from flowrail.text.safe_text import blanked, decode, shortened

_FRONTMATTER = re.compile(r"\A\ufeff?\s*---[ \t]*\n.*?\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*)")
_NUMBERED = re.compile(
    r"(?:(?:step|phase|stage|part)\s+\d+(?:\.\d+)*\s*[.:)\u2013\u2014-]*|\d+(?:\.\d+)+[.:)]?(?=\s)|\d+\s*[.:)\u2013\u2014-]+(?!\d))\s*(.*)",
    re.IGNORECASE,
)
_NOT_STEPS = re.compile(
    r"(?:overview|introduction|about|background|purpose|goals?|when (?:not )?to use.*|usage|start|prerequisites"
    r"|requirements|inputs?|outputs?|notes?|tips|rules|principles|references?|resources|examples?|see also|faq"
    r"|troubleshooting|limitations|license|changelog)\W*",
    re.IGNORECASE,
)
_FEWEST_STEPS = 2
_LONGEST_ID = 40
_LONGEST_INSTRUCTIONS = 6_000
_SHELLS = frozenset({"bash", "sh", "shell", "console", "zsh"})
_FIELDS = ("license", "allowed-tools", "compatibility", "metadata")
"""Fields of the frontmatter that the new SKILL.md keeps."""


class NoStepsError(DocumentError):
    """A text has no headings that could be steps."""

    code = "NO_STEPS"


class DraftFinding(NamedTuple):
    """Something that a draft lacks: the step, if any, the fact about the text, and a hint."""

    step: str | None
    fact: str
    hint: str


class DraftStep(NamedTuple):
    """A step of a draft: a heading, and the text below it as instructions."""

    id: str
    title: str
    text: str


class Draft(NamedTuple):
    """The steps of a skill text, and its other parts."""

    fields: Mapping[str, object]
    about: str
    steps: tuple[DraftStep, ...]
    findings: tuple[DraftFinding, ...]


class _Section(NamedTuple):
    """A heading with the text up to the next heading."""

    level: int
    title: str
    text: str


def read(path: str) -> Draft:
    """Read the text of a skill. Raises `NoStepsError` if fewer than two headings can be steps."""
    data = read_bounded(path, limit=limits.TEXT_BYTES, what="the skill text", follow=True)
    text = decode(data, source=path).replace("\r\n", "\n")
    front = read_frontmatter(data, path)
    sections = list(_sections(_FRONTMATTER.sub("", text, count=1)))
    titles = _step_titles(sections)
    if len(titles) < _FEWEST_STEPS:
        raise NoStepsError(
            "fewer than two headings could be steps",
            hint="give each step a heading, such as `## 1. Collect the changes`, and run the command again",
            place=path,
        )
    about, texts = _parts(sections, titles)
    steps = tuple(_steps(texts, titles))
    findings = (*_findings(front.values, steps), *_files_beside(path))
    return Draft(front.values, about, steps, findings)


def contents(name: str, draft: Draft) -> Mapping[str, str]:
    """Return the files of the new skill by path."""
    texts = {f"steps/{step.id}.md": f"{step.text or step.title}\n" for step in draft.steps}
    return {"workflow.yaml": _workflow(name, draft), **texts, "SKILL.md": _skill_text(name, draft)}


# --- reading


def _sections(text: str) -> Iterator[_Section]:
    """Yield the text above the first heading as a section of level 0, then each heading; fences hide headings."""
    level, title, lines = 0, "", list[str]()
    fenced = in_fences(text)
    for number, line in enumerate(text.split("\n")):
        heading = None if number in fenced else _HEADING.fullmatch(line)
        if heading is None:
            lines.append(line)
            continue
        yield _Section(level, title, "\n".join(lines).strip())
        level, title, lines = len(heading[1]), heading[2].rstrip().rstrip("#").rstrip(), []
    yield _Section(level, title, "\n".join(lines).strip())


def _step_titles(sections: list[_Section]) -> Mapping[int, str]:
    """Return the titles of the sections that are steps, by position.

    These are the numbered headings of the highest level that has two. Without any, they are the headings of the
    highest level below the title that has two, except those whose names announce something else, such as "Examples".
    """
    matches = {at: _NUMBERED.fullmatch(section.title) for at, section in enumerate(sections)}
    numbered = {at: match[1] or sections[at].title for at, match in matches.items() if match}
    others = {
        at: section.title
        for at, section in enumerate(sections)
        if section.level > 1 and not _NOT_STEPS.fullmatch(section.title)
    }
    for titles in (numbered, others):
        levels = Counter(sections[at].level for at in titles)
        level = min((level for level, number in levels.items() if number >= _FEWEST_STEPS), default=0)
        if level:
            return {at: title for at, title in titles.items() if sections[at].level == level}
    return {}


def _parts(sections: list[_Section], titles: Mapping[int, str]) -> tuple[str, dict[int, str]]:
    """Return the text outside of steps, without the page title, and the text of each step with its subsections."""
    level = sections[next(iter(titles))].level
    rest: list[str] = []
    steps: dict[int, list[str]] = {}
    part = rest
    for at, section in enumerate(sections):
        if at in titles:
            part = steps[at] = [section.text]
            continue
        if section.level <= level:
            part = rest
        if section.level > 1 and (section.text or part is not rest):
            part.append(f"{'#' * section.level} {section.title}")
        part.append(section.text)
    texts = {at: "\n\n".join(filter(None, paragraphs)) for at, paragraphs in steps.items()}
    return "\n\n".join(filter(None, rest)), texts


def _steps(texts: Mapping[int, str], titles: Mapping[int, str]) -> Iterator[DraftStep]:
    used: Counter[str] = Counter()
    for at, title in titles.items():
        plain = shortened(blanked(re.sub(r"[`*_]", "", title)), 120)
        slug = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")
        slug = slug if len(slug) <= _LONGEST_ID else slug[:_LONGEST_ID].rpartition("-")[0]
        stem = slug if slug[:1].isalpha() else f"step-{slug}".strip("-")
        used[stem] += 1
        step_id = stem if used[stem] == 1 else f"{stem}-{used[stem]}"
        yield DraftStep(step_id, plain, _escaped(texts[at]))


def _escaped(text: str) -> str:
    """Return a text with its placeholders escaped."""
    return PLACEHOLDER.sub(lambda match: "$$" + ("$$" if match[1] == "$" else match[1]), text)


# --- findings

_QUESTIONS = "add `questions`"
_PASSAGES = (
    (
        r"\b(?:repeat|until|go back|return to step|retry|iterate|try again)\b",
        "the step runs once",
        "if it can be repeated, add `limit: 3`, and `iterate: {id}` to `next`",
    ),
    (
        r"\b(?:otherwise|unless|if [^.\n]{0,60}\b(?:fails?|failed|failing|missing|wrong|not))\b",
        "only `ok` leads on",
        "add the other outcome to `next`, such as `fail: null`, and say in the text when to report it",
    ),
    (
        r"\b(?:ask|confirm with|check with|wait for) (?:the |your )?(?:user|human|person|approval|confirmation)\b",
        "the step does not wait for an answer",
        _QUESTIONS,
    ),
    (
        r"\b(?:sub-?agents?|in parallel|task tool)\b",
        "the step gives no work to sub-agents",
        "add `dispatch`",
    ),
    (
        r"\b(?:do not|don't|never|must not) (?:push|publish|deploy|delete|commit|edit|change|modify|write|run)\b",
        "nothing prevents it",
        'add `forbids`, such as `forbids: ["Bash(git push*)"]`',
    ),
)
_RUN = re.compile(r"\b(?:run|execute)\b[^`\n]{0,40}`([^`\n]+)`", re.IGNORECASE)
_WRITE = re.compile(
    r"\b(?:write|create|save|update|generate|list|record|document)\b[^`\n]{0,60}`([\w./-]+\.\w+)`",
    re.IGNORECASE,
)


def _findings(fields: Mapping[str, object], steps: tuple[DraftStep, ...]) -> Iterator[DraftFinding]:
    if not str(fields.get("description") or "").strip():
        yield DraftFinding(
            None, "the text has no description", "say in SKILL.md what the skill does and when to use it"
        )
    for step in steps:
        yield from _step_findings(step)


def _step_findings(step: DraftStep) -> Iterator[DraftFinding]:
    if not step.text:
        yield DraftFinding(
            step.id, "the heading has no text", f"write the instructions to steps/{step.id}.md"
        )
        return
    if len(step.text) > _LONGEST_INSTRUCTIONS:
        fact = f"the text has {len(step.text)} characters"
        yield DraftFinding(step.id, fact, "split the step: agents stop following long texts")
    hints = []
    for pattern, fact, hint in _PASSAGES:
        passage = re.search(pattern, step.text, re.IGNORECASE)
        if passage:
            hints.append(hint)
            passage_fact = f"the text says \u201c{' '.join(passage[0].split())}\u201d, but {fact}"
            yield DraftFinding(step.id, passage_fact, hint.replace("{id}", step.id))
    if _QUESTIONS not in hints:
        yield _evidence_finding(step)


def _files_beside(path: str) -> Iterator[DraftFinding]:
    """Yield a finding if the folder of a SKILL.md contains other files, such as scripts that the steps run."""
    folder, name = os.path.split(os.path.abspath(path))
    if name != "SKILL.md":
        return
    others = sorted(entry for entry in os.listdir(folder) if entry != name and not entry.startswith("."))
    if others:
        names = listed(shortened(blanked(entry), 40) for entry in others)
        fact = f"the folder of the text also contains {names}"
        yield DraftFinding(None, fact, "copy what the steps use into the new skill")


def _evidence_finding(step: DraftStep) -> DraftFinding:
    """Return a finding with the evidence that the text suggests. Without it, nothing proves that a step was done."""
    command, file = _command(step.text), _WRITE.search(step.text)
    if command:
        run = json.dumps(command.split())
        check = f"{{id: command, run: {run}}}"
    elif file:
        check = f"{{id: file, file: {json.dumps(file[1])}, changed: true}}"
    else:
        check = "{id: result, file: FILE, changed: true}"
    return DraftFinding(
        step.id, "nothing proves that the step was done", f"add `evidence: {{ok: [{check}]}}`"
    )


def _command(text: str) -> str:
    """Return the first command that a text shows, without a shell's syntax; empty if it shows none."""
    shown = [fence.body(text) for fence in fences(text) if fence.language in _SHELLS]
    lines = [line for body in shown for line in body.split("\n")]
    commands = [line.strip().removeprefix("$ ") for line in lines] + _RUN.findall(text)
    return next((line for line in commands if line and not re.search(r"[|&;<>$(){}\\\"'#*]| / ", line)), "")


# --- writing


def _workflow(name: str, draft: Draft) -> str:
    description = _first_sentence(str(draft.fields.get("description") or ""))
    lines = [
        f"# The workflow of {name}, drafted from the headings of its text. The instructions are in steps/STEP.md.",
        f"# Comments name what the text demands and the draft does not enforce. Check the workflow: `flow check {name}`",
        f"name: {name}",
        *([f"description: {json.dumps(description, ensure_ascii=False)}"] if description else []),
        "steps:",
    ]
    for step, following in zip(draft.steps, [*draft.steps[1:], None], strict=True):
        lines += [f"  - id: {step.id}", f"    title: {json.dumps(_escaped(step.title), ensure_ascii=False)}"]
        lines += [
            f"    # {finding.fact}: {finding.hint}" for finding in draft.findings if finding.step == step.id
        ]
        lines.append(f"    next: {{ok: {following.id if following else 'null'}}}")
    return "\n".join(lines) + "\n"


def _skill_text(name: str, draft: Draft) -> str:
    fields = {key: draft.fields[key] for key in _FIELDS if draft.fields.get(key)}
    description = str(draft.fields.get("description") or f"Says what {name} does, and when to use it.")
    front = yaml_text.dump({"name": name, "description": description, **fields})
    about = f"{draft.about}\n\n" if draft.about else ""
    return f"""---
{front}---

# {name}

{about}## Start

```
flow step {name}
```

Each answer shows one step and a command for each possible outcome. Do the step, then run one of these commands exactly
as printed. If you lost context or were interrupted, `flow step {name}` shows the current step again.
"""


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.!?])\s", " ".join(text.split()), maxsplit=1)[0]
