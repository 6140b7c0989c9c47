"""The codes of findings: the severity, when a finding is reported, and what to do.

`flow explain CODE` and the reference print these rows. A code never changes its meaning.
"""

from __future__ import annotations

from dataclasses import dataclass

from flowrail.outcome import LISTED, Outcome


@dataclass(frozen=True)
class FindingCode:
    """What a code of a finding means."""

    severity: str
    """`error`, which prevents a workflow from starting, or `warning`."""
    when: str
    do: str
    """What to do, for findings that do not say it more precisely."""


_TABLE = (
    """\
FR100 | error | The file cannot be read as a workflow. A file can only be checked if it can be read. | Fix the quotes, the brackets or the indentation in that line.
FR101 | error | The entry step does not exist. A session would have no first step. | Name one of the steps in `entry`.
FR102 | error | A transition leads to a step that does not exist. A session that takes this transition would stop with an error. Usually a step was renamed. | Use the id of a step; `null` ends the session.
FR103 | error | No step ends the workflow. Every session would run forever. | End the session at the last step: `next: {ok: null}`.
FR104 | error | A step cannot be reached. Its instructions are never shown, although its author expects them to be. | Add a transition to it from another step, or remove the step.
FR105 | error | A handler needs a value that nothing provides. The handler would raise an error in the middle of a session. | Declare it with `Arg`, as a parameter of the workflow, or as a fact of the step.
FR106 | error | Two steps have the same id. Transitions to this id would always lead to the first of the two. | Give one of them another id.
FR107 | error | An id or a name is invalid. Ids and names become parts of commands, files and expressions. | Use lower-case words with hyphens for a workflow, letters, digits, `_` and `-` for a step, a lower-case word for a value.
FR108 | error | A step cannot reach an end. A session that reaches this step can only be abandoned. | Add a transition that leads out of its loop.
FR109 | error | A loop has no limit and no exit. Every report would lead to another attempt. | Add a `limit` to a step with an `ok` transition that leads out, or a rule whose outcome leads out.
FR110 | error | A step can decide on an outcome without a transition. The step would decide, and the session could not continue. | Add the outcome to `next`, or decide on an outcome that `next` contains.
FR111 | error | The default transition is never taken. All outcomes already have a transition, so the default suggests a case that cannot occur. | Remove `_default`, or another transition.
FR112 | error | A step has no transition. Nothing could be reported at this step. An end must be declared with `null`. | Say where it leads, `next: {ok: STEP}`, or that it ends the run, `next: {ok: null}`.
"""
    f"""\
FR113 | error | A transition has an unknown outcome. The keys of `next` are the outcomes {LISTED}, and `{Outcome.DEFAULT}` for any other. | Use one of {LISTED}, or `{Outcome.DEFAULT}` for all others.
"""
    """\
FR114 | error | The workflow has no steps. There is nothing to run. | Add at least one step.
FR115 | error | A step has no title or no instructions. An agent without instructions invents some. | Add a title of a few words, or instructions.
FR116 | error | A conditional step has no transition to take if it does not apply. If the step does not apply, the session must continue elsewhere. | Start with a step that always applies, or add a `skip` transition.
FR117 | error | A limit cannot work. After the last attempt a session must continue, and at least one attempt must be allowed. | Add `ok` to `next`; the last attempt takes it.
FR118 | error | A rule is never tried, or possibly no rule matches. The first matching rule decides. Without a final rule for all other cases, a report could be refused. | Put the rule without `if` at the end.
FR119 | error | An expression is invalid. Expressions consist of `and`, `or`, `not`, comparisons, `in`, parentheses, literals and names. | Compare names and literals, such as `mode == 'full' and visit > 1`.
FR120 | error | An expression uses an undeclared name. The expression would be always true or never true. Usually a name is misspelt. | Declare the name in `params` or in the `reports` of a step.
FR121 | error | A text uses an undeclared placeholder. The agent would read the placeholder itself, or a gap. | Declare the name in `params` or in the `reports` of a step; write `$$` for a dollar sign.
FR122 | error | A parameter or fact is declared so that no value is valid. No value could be given. | Change the default, the example, the choices or the bounds.
FR123 | error | An expression is never true. It compares with a value that can never occur, so the transition that depends on it is never taken. | Compare with a value that the parameter or fact can have.
FR124 | error | The outcome is decided in two ways. The two could disagree. | Keep one of them.
FR125 | error | The instructions of a step are missing. The instructions of a step are in `steps/ID.md`, in the file that `text` names, or in `actions`. | Write the file, or `actions`.
FR127 | error | A text quotes a missing resource. The agent would read a name instead of the text that it needs. | Write the resource, or fix the name.
FR128 | error | A function cannot be called by a step. The step could never be decided, or its text never be printed. | Make the context the first parameter, as in `def decide(ctx)`, do not write `async` or `yield`, and return an outcome.
FR130 | error | A key is unknown, or its value has the wrong type. An unknown key has no effect, although its author expects one. | Use a key from the [reference](workflow-yaml.md), with a value of the right type.
FR131 | error | A mapping contains a key twice. Python keeps the last value without a message. | Remove one of them.
FR140 | error | The `over` of a dispatch is not a list. There would be nothing to dispatch, or one dispatch for each letter of a text. | Name a fact of `type: list`, or write a list.
FR141 | error | A variable of a dispatch cannot be filled. The sub-agent's workflow would start without this value. | Declare the variable; `$item` needs `over`.
FR142 | error | A join can never be met. The step would refuse every `ok`. | Write `all`, `any`, or `at least N` with N up to the number of items.
FR143 | error | The workflow of a dispatch is missing. The sub-agent could not start. | Use the address of a workflow of this or another skill.
FR144 | error | A dispatch has no instructions. All sub-agents would do the same, or nothing. | Name a file with `$item` in it as `prompt`, or a `workflow`.
FR146 | error | A question is invalid. Hosts take at most 3 questions of 2 or 3 options with a header of at most 12 characters. | Ask at most 3 questions, with 2 or 3 options and a header of at most 12 characters.
FR147 | error | An answer leads nowhere. The user would answer, and the session could not continue. | Add the outcome to `next`, or use an outcome that `next` contains.
FR148 | error | A gate has no review, or lacks a transition. A gate decides from the findings of its review. Without a review it would always pass. | Name the step that reviews, and add `ok` and `fail` to `next`.
FR149 | error | A gate does not lead back to its review. Work that failed would never be reviewed again. | Let `fail` lead to the step that fixes the findings, and that step to the review.
FR151 | error | The workflow in `then` is missing. At its end, a session would print a command that is refused. | Use the address of an installed workflow; `flow list` shows them.
FR152 | error | A `flow:` fence cannot become a block. The agent would read the fence instead of the block. | Fix it, or write it without `flow:`.
FR153 | error | An order rule is invalid, impossible or always kept, or about something that never happens. It would protect nothing, although its author expects it to. | Correct the rule as the message says.
FR154 | error | A step declares its dispatches twice. It would be unclear which of the two declarations applies. | Keep one of them.
FR155 | error | A dispatch does not fit the workflow that it runs. The sub-agent could not start its workflow. | Give the workflow the parameters that it takes.
FR156 | error | A rule in `forbids` is invalid. Hosts identify a tool by its name, or by its name and a pattern in parentheses. | Name a tool, or a tool and its arguments: `Edit`, `Bash(git push*)`.
FR157 | error | A check of `evidence` is invalid. A check that cannot be evaluated would refuse every report of the step. A value may be out of range, or a path may lead out of the project. | Correct the check as the message says.
FR158 | error | A guard is invalid or without effect. A guard denies tool calls, except at the steps that it names. A misspelt pattern or step would deny nothing, or everything. | Write a pattern of tool calls, and the steps that allow them: `"Bash(git push*)": [publish]`.
FR159 | error | A command of a step, or a fact that comes from one, is invalid. The command could not be run, or the fact would never have a value. | Correct the command as the message says.
FR187 | error | An order rule is broken on a path of the workflow. The message shows the shortest one, as steps with their outcomes. | Change a transition so that the path does not exist, or change the rule.
FR163 | warning | A loop has no limit. An agent that is never satisfied repeats the loop until a person intervenes. | Add a `limit` to a step that leads back by `iterate` or `fail`.
FR168 | warning | SKILL.md departs from the open skill specification. Other hosts read the same `SKILL.md`, according to the open specification. | Follow the [specification](https://agentskills.io/specification): a name, a description, and no other keys at the top.
FR169 | warning | The commands in SKILL.md are not those of the workflow. The agent's first command would be refused. | Use the commands of the workflow.
FR174 | warning | A workflow file is never read. Its author may be editing the wrong file. | Rename the file, or delete it.
FR176 | warning | A step with dispatches has no transition for success. Only failure could be reported. | Add `ok` to `next`.
FR178 | warning | A session can reach a gate without its review. A gate decides from the findings of the review. Without one, it refuses to decide. | Let the transition lead to the review.
FR181 | warning | A text asks for a fact that the step does not accept. The agent would report the fact, and be refused. | Ask for a fact that is in `reports`.
FR182 | warning | Agents cannot discover the skill. Hosts look into `.claude/skills` and find a skill by its `SKILL.md`. | Write a `SKILL.md` with `name`, `description` and `flow step SKILL`.
FR183 | warning | The handoff block in SKILL.md does not match the handoff schema. flowrail accepts it, but other programs that read the schema may not. | Declare `categories: [research]` and `handoff: {accepts_from: ["*"], schema_version: "3.0"}`, with the keys of the page [Discovery and registry](discovery.md).
FR184 | warning | A check of `evidence` proves little. An agent that has not done the work passes the check, and the record says that the work was checked. | Ask for something that only the finished work has.
FR185 | warning | An answer that refuses leads to the same step as one that agrees. The user's "No" would have no effect. | Let its outcome lead elsewhere, or decide `ok`.
FR186 | warning | Evidence requires a change to a file that the step forbids to change. No report could be accepted. | Forbid less, or require a file in `$work`.
FR188 | warning | An agent may answer a question that leads to a guarded call or to a command that runs once. It could agree in the user's name. | Add `person: true` to the question.
"""
)
FINDING_CODES = {
    code: FindingCode(*row) for code, *row in (line.split(" | ") for line in _TABLE.splitlines())
}
