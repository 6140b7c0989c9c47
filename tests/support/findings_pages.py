"""The reference of findings: a page for each code, made of its examples and of what `flow check` says of them."""

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

Every code has one meaning and keeps it. Errors are mistakes: the workflow does not start. FR126 and the codes
from FR160 on are advice, told as warnings; `--strict` fails on them too. What is advice about the steps is told
only where they are without mistakes. A warning is let pass in the file, with its reason:

```yaml
ignore:
  - {{code: FR163, step: look, reason: the agent ends the loop by its own judgement}}
```

In Python a comment does: `# flow: ignore FR163 of look: the agent ends the loop`. The page of a code has an
example in order, a change that makes it wrong, and what `flow check` says then. The files stand in a folder
`demo` with this `SKILL.md`, where the page shows no other:

{card}

| Code | What it says |
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

`flow check` says:

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
        kind="Advice" if all(each.severity == "warning" for each in found) else "An error",
        why=WHY[code],
        right="\n\n".join(
            f"{'Beside it' if at else 'In order'}, `{path}`:\n\n{_fenced(LANGUAGES[Path(path).suffix], text)}"
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
    "FR100": "Nothing of it can be judged before it can be read.",
    "FR101": "A run would have nowhere to begin.",
    "FR102": "A run that goes that way would stop in the middle of nowhere; mostly a step was renamed.",
    "FR103": "Every run would go on for ever.",
    "FR104": "What stands there is never told, and its author believes that it is.",
    "FR105": "The handler would raise in the middle of a run.",
    "FR106": "Ways that lead to the id would always find the first of them.",
    "FR107": "Names become parts of commands, files and expressions.",
    "FR108": "Who comes there can only abandon the run.",
    "FR109": "Each round would lead to the next, whatever is reported.",
    "FR110": "The step would decide, and the run could not go on.",
    "FR111": "It says that something is caught which never comes.",
    "FR112": "Nothing could be reported there; an end has to be said.",
    "FR113": "A way on is taken by an outcome: `ok`, `fail`, `skip`, `iterate`, or `_default` for any other.",
    "FR114": "There is nothing to run.",
    "FR115": "An agent that is told nothing makes something up.",
    "FR116": "Where it does not apply a run has to go on somewhere.",
    "FR117": "The last visit has to lead on, and there has to be one.",
    "FR118": "The first rule that holds decides; without a last one for the rest a report could be refused.",
    "FR119": "The grammar knows `and or not`, comparisons, `in`, parentheses, literals and names.",
    "FR120": "It would never hold, or always; mostly a name is misspelt.",
    "FR121": "The agent would read the placeholder itself, or a gap.",
    "FR122": "Nobody could give such a value.",
    "FR123": "The value can never be that, so the way behind it is never taken.",
    "FR124": "Two that decide may decide differently.",
    "FR125": "A step tells what stands in `steps/ID.md`, in the file that `text` names, or in `actions`.",
    "FR126": "Until it is reported, it stands for nothing: the text has a gap, the condition does not hold.",
    "FR127": "The agent would be told a name where it needs the text.",
    "FR130": "A key that nobody reads looks as if it worked.",
    "FR131": "Python keeps the last and says nothing.",
    "FR140": "There would be nothing to hand out, or a text letter by letter.",
    "FR141": "The agent's workflow would start without it.",
    "FR142": "The step could never be reported.",
    "FR143": "The agent would be sent to a workflow that nobody finds.",
    "FR144": "Every agent would do the same, or nothing.",
    "FR145": "Every host knows the five roles. Any other name must be an agent of the host.",
    "FR146": "Hosts take at most 3 questions of 2 or 3 options with a header of at most 12 characters.",
    "FR147": "The user would answer, and the run could not go on.",
    "FR148": "It decides from what that review recorded; without one it would always pass.",
    "FR149": "What failed would never be reviewed again.",
    "FR150": "Policies say which severities block in which round; they have names.",
    "FR151": "The last answer of a run would print a command that is refused.",
    "FR152": "The agent would read the fence instead of the block.",
    "FR153": "Work that is held too long is lost with its holder.",
    "FR154": "It would not be known which of the two is meant.",
    "FR155": "The agent could not start what it was sent to.",
    "FR156": "Hosts know a tool by its name, or by its name with a pattern in brackets.",
    "FR160": "A run that comes without it hands out nothing, and the join is met by nobody.",
    "FR161": "On that path the agent reads a gap where a value should be.",
    "FR162": "It looks as if there were a way, and there is none.",
    "FR163": "An agent that is never satisfied goes round until somebody looks.",
    "FR164": "Mostly the way back was forgotten.",
    "FR165": "Agents that are told much at once skip parts of it.",
    "FR166": "Mostly the step was renamed and the text was not.",
    "FR167": "The agent would report a word that is refused.",
    "FR168": "Other hosts read the same card, by the open specification.",
    "FR169": "The first thing that an agent does would be refused.",
    "FR170": "Who reads the card expects other steps than are told.",
    "FR171": "Mostly it is the text of a step under an old name.",
    "FR172": "It would hide the finding that comes there one day.",
    "FR173": "Only the limit ends such a loop; nothing that is done in it counts.",
    "FR174": "Its author may well be editing the one that is not read.",
    "FR175": "A way into such a chain may come out at any step of it, so the machine grows with the square of its length.",
    "FR176": "All that could be reported is that it went wrong.",
    "FR177": "Rules are tried in order; what can never be first is never told or taken.",
    "FR178": "A gate decides from the findings of its round; without a review there is none, and it says so.",
    "FR179": "Each agent of a list has to know which part is its own.",
    "FR180": "Parameters have defaults; a fact is what was really reported.",
    "FR181": "The agent would report it, and be refused.",
    "FR182": "Hosts look into `.claude/skills` and find a skill by its card; without it nobody is told that there is one.",
    "FR183": "Discovery forgives what it can; other readers of the schema do not.",
    "FR190": "Checking runs nothing; what a file computes is judged when it is loaded.",
}
