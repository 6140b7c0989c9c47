"""The reference of findings: a page for each code, with examples and the output of `flow check`."""

from __future__ import annotations

import difflib
import tempfile
from collections.abc import Mapping
from pathlib import Path

from support.mistakes import CARD, EXAMPLES, Example, write

from flowrail.formatters.blocks.fences import fence_problems
from flowrail.machines.definition.findings import CODES, Finding
from flowrail.operations.skills.check import check

MADE = "<!-- made by tests/operations/skills/test_findings_page.py: FLOWRAIL_GOLDEN=write -->"
INDEX = """\
# Findings of `flow check`

{made}

This page lists what `flow check` can find. A code never changes its meaning. An error prevents a workflow from
starting. FR126 and the codes from FR160 on are warnings; with `--strict` they fail the check too. Warnings about steps
are shown only if the steps have no errors. To suppress a warning, add its code and a reason to the file:

```yaml
ignore:
  - {{code: FR163, step: look, reason: the agent ends the loop by its own judgement}}
```

In Python, write a comment: `# flow: ignore FR163 of look: the agent ends the loop`.

The page of each code shows a correct example, a change that breaks it, and the output of `flow check`. The files are
in a folder `demo`. If a page shows no `SKILL.md`, it is this one:

{card}

| Code | Meaning |
| --- | --- |
{rows}

```{{toctree}}
:hidden:
:glob:

findings/*
```
"""
PAGE = """\
# {code}: {what}

{made}

{kind}. {why}

{right}

Wrong:

{change}

`flow check` prints:

```text
{told}
```

[All findings](../findings.md)
"""
LANGUAGES = {".py": "python", ".yaml": "yaml", ".md": "markdown"}


def index() -> str:
    """Return the page that lists every code."""
    rows = "\n".join(
        f"| [{code}](findings/{code}.md) | {what[0].upper()}{what[1:]} |" for code, what in CODES.items()
    )
    return INDEX.format(made=MADE, rows=rows, card=_fenced("markdown", CARD))


def page(code: str) -> str:
    """Return the page of one code."""
    example = EXAMPLES[code]
    found = findings_of(code)
    files = example.files(wrong=False)
    first = next(iter(files)) if not files.get(example.file) else example.file
    shown = {first: files[first], **{path: text for path, text in files.items() if text != CARD}}
    if files.get("SKILL.md") != CARD and first != "SKILL.md":
        shown.setdefault("SKILL.md", files.get("SKILL.md", ""))
    return PAGE.format(
        code=code,
        what=CODES[code],
        made=MADE,
        kind="A warning" if all(each.severity == "warning" for each in found) else "An error",
        why=WHY[code],
        right="\n\n".join(
            f"{'With' if at else 'Correct'}, `{path}`:\n\n{_fenced(LANGUAGES[Path(path).suffix], text)}"
            for at, (path, text) in enumerate(shown.items())
        ),
        change=_fenced("diff", _change(example)),
        told="\n".join(_told(each) for each in found),
    )


def _fenced(language: str, text: str) -> str:
    """Return *text* in a fence that is longer than any in it."""
    fence = "```" if "```" not in text else "````"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def findings_of(code: str) -> list[Finding]:
    """Return what is found in the example of a code where it is wrong."""
    files = EXAMPLES[code].files(wrong=True)
    with tempfile.TemporaryDirectory() as folder:
        return found_in(files, Path(folder))


def found_in(files: Mapping[str, str], folder: Path) -> list[Finding]:
    """Return what `flow check` finds in the entry workflow of a skill of these files."""
    (first, *_) = check(
        [str(write(folder / "skills" / "demo", files))], (), str(folder), problems=fence_problems
    )
    return list(first.findings)


def _told(finding: Finding) -> str:
    what = f"demo/{finding.place}: {finding.severity} {finding.code}: {finding.message}"
    return f"{what}\n    {finding.remedy}"


def _change(example: Example) -> str:
    before, after = example.files(wrong=False), example.files(wrong=True)
    lines: list[str] = []
    for path in after:
        if before.get(path) == after[path]:
            continue
        one, other = before.get(path, "").splitlines(), after[path].splitlines()
        old = path if path in before else "/dev/null"
        lines += difflib.unified_diff(one, other, old, path, lineterm="", n=1)
    gone = [f"--- {path}\n+++ /dev/null" for path in before if path not in after]
    return "\n".join([*(line.rstrip() for line in lines if not line.startswith("@@")), *gone])


WHY: Mapping[str, str] = {
    "FR100": "A file can only be checked if it can be read.",
    "FR101": "A session would have no first step.",
    "FR102": "A session that takes this transition would stop with an error. Usually a step was renamed.",
    "FR103": "Every session would run forever.",
    "FR104": "Its instructions are never shown, although its author expects that they are.",
    "FR105": "The handler would raise an error in the middle of a session.",
    "FR106": "Transitions to this id would always lead to the first of the two.",
    "FR107": "Ids and names become parts of commands, files and expressions.",
    "FR108": "A session that reaches this step can only be abandoned.",
    "FR109": "Each attempt would lead to the next, for every report.",
    "FR110": "The step would decide, and the session could not continue.",
    "FR111": "All outcomes already have a transition, so the default suggests a case that cannot occur.",
    "FR112": "Nothing could be reported at this step. An end must be declared with `null`.",
    "FR113": "The keys of `next` are the outcomes `ok`, `fail`, `skip` and `iterate`, and `_default` for any other.",
    "FR114": "There is nothing to run.",
    "FR115": "An agent without instructions invents some.",
    "FR116": "If the step does not apply, the session must continue elsewhere.",
    "FR117": "After the last attempt a session must continue, and at least one attempt must be allowed.",
    "FR118": "The first matching rule decides. Without a final rule for all other cases, a report could be refused.",
    "FR119": "Expressions consist of `and or not`, comparisons, `in`, parentheses, literals and names.",
    "FR120": "The expression would be always true or never true. Usually a name is misspelt.",
    "FR121": "The agent would read the placeholder itself, or a gap.",
    "FR122": "No value could be given.",
    "FR123": "The value can never occur, so the transition behind it is never taken.",
    "FR124": "The two could decide differently.",
    "FR125": "The instructions of a step are in `steps/ID.md`, in the file that `text` names, or in `actions`.",
    "FR126": "Before it is reported the fact has no value: the text has a gap, and the condition is false.",
    "FR127": "The agent would read a name where it needs the text.",
    "FR128": "The step could never be decided, or its text never be printed.",
    "FR130": "An unknown key has no effect, although its author expects one.",
    "FR131": "Python keeps the last value without a message.",
    "FR140": "There would be nothing to dispatch, or one dispatch per letter of a text.",
    "FR141": "The sub-agent's workflow would start without this value.",
    "FR142": "The step could never be reported.",
    "FR143": "The sub-agent could not start.",
    "FR144": "The sub-agents would all do the same, or nothing.",
    "FR145": "Every host knows the five roles. Any other name must be an agent of the host.",
    "FR146": "Hosts take at most 3 questions of 2 or 3 options with a header of at most 12 characters.",
    "FR147": "The user would answer, and the session could not continue.",
    "FR148": "A gate decides from the findings of its review. Without a review it would always pass.",
    "FR149": "Work that failed would never be reviewed again.",
    "FR150": "A policy has a name and says which severities block in which round.",
    "FR151": "The last answer of a session would print a command that is refused.",
    "FR152": "The agent would read the fence instead of the block.",
    "FR153": "A dispatch that is reserved for too long is lost together with its agent.",
    "FR154": "It would be unclear which of the two applies.",
    "FR155": "The sub-agent could not start its workflow.",
    "FR156": "Hosts identify a tool by its name, or by its name and a pattern in parentheses.",
    "FR157": "A check that cannot be evaluated would refuse every report of the step.",
    "FR158": "Each session needs a folder of its own, inside the project.",
    "FR160": "On such a path the step dispatches nothing, and the join can never be met.",
    "FR161": "On that path the agent reads a gap where a value should be.",
    "FR162": "The transition suggests a case that cannot occur.",
    "FR163": "An agent that is never satisfied repeats the loop until a person looks.",
    "FR164": "Usually the transition back was forgotten.",
    "FR165": "Agents that read much text at once skip parts of it.",
    "FR166": "Usually the step was renamed and the text was not.",
    "FR167": "The agent would report an outcome that is refused.",
    "FR168": "Other hosts read the same `SKILL.md`, according to the open specification.",
    "FR169": "The agent's first command would be refused.",
    "FR170": "Readers of `SKILL.md` expect other steps than they get.",
    "FR171": "Usually it is the text of a step that was renamed.",
    "FR172": "It would hide a later finding.",
    "FR173": "Only the limit ends such a loop. Nothing that is done in it has an effect.",
    "FR174": "Its author may be editing the file that is not read.",
    "FR176": "Only failure could be reported.",
    "FR177": "Rules are tried in order. A rule that never comes first is never used.",
    "FR178": "A gate decides from the findings of its round. Without a review it refuses to decide.",
    "FR179": "Each sub-agent must know which item is its own.",
    "FR180": "Parameters have defaults. A fact is what was really reported.",
    "FR181": "The agent would report the fact, and be refused.",
    "FR182": "Hosts look into `.claude/skills` and find a skill by its `SKILL.md`.",
    "FR183": "Discovery is lenient. Other readers of the schema are not.",
    "FR184": "An agent that has not done the work passes the check, and the record says that it was checked.",
    "FR190": "Checking runs no code. A computed value is checked when the workflow is loaded.",
}
