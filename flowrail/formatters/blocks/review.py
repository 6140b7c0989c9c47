"""Blocks of review loops: the reviewer's instructions and answer, and the decision of the gate.

Three things keep an agent from arguing its way past a review, and `format_gate_step` has all of them: the state
banner (the round), the stop condition (no fixes in this step, one next command) and the re-verify mode (the command
carries the round, so that fixes are reviewed).
"""

from __future__ import annotations

from flowrail.formatters.blocks.plain_text import format_invoke_command
from flowrail.formatters.blocks.review_loop import loop_pieces
from flowrail.formatters.blocks.script_step import format_step_output
from flowrail.machines.dispatch import AgentRole
from flowrail.machines.gate_config import GateConfig
from flowrail.machines.guidance.review_loop import ASK_USER, FAILED, PASSED, REVIEW, ReviewLoop
from flowrail.machines.script_steps import (
    BranchCommand,
    FlatCommand,
    LoopState,
    NextCommand,
    QRState,
    QRStatus,
)
from flowrail.machines.severities import DEFAULT_POLICY, Severity, blocking_severities
from flowrail.text.safe_text import Markup, Verbatim, block, element, xml_text

LIMIT = 5
"""The number of rounds after which the user is asked."""


def format_qr_banner(qr: QRState, qr_name: str, *, fresh_review: bool = False) -> Markup:
    """Return the first line of a review: its subject, the round, and the result of the last round.

    The line never lists findings: a reviewer who knows them confirms that they are fixed and finds nothing else.
    Chain of verification, Dhuliawala et al. 2023.
    """
    name = xml_text(qr_name.upper())
    if qr.state is LoopState.INITIAL:
        return Markup(f"{name}: Review the work for issues.")
    fresh = ", fresh review" if fresh_review else ""
    result = "The review passed." if qr.passed else "Previous review found issues."
    return Markup(f"{name} (Iteration {qr.iteration}{fresh}): {result}")


def format_post_qr_routing(*, self_fix: bool = False, fix_target: AgentRole | str | None = None) -> Markup:
    """Return what to do with the reviewer's result: run the next command, and nothing else.

    An agent that waits for a reviewer does not read this again afterwards, so the reviewer's own answer repeats it:
    `format_qr_file_output`.
    """
    fixer = "you, in the step that if_fail prints" if self_fix else _agent_text(fix_target)
    lines = (
        element("case", "run if_pass", result="PASS, without findings"),
        element("case", "run if_fail", result="anything else"),
        f"The gate decides whether a finding blocks, not you. Findings are fixed by {fixer}, not here.",
    )
    return block("post_qr_routing", lines)


def format_qr_file_output(passed: bool, report_path: str | None = None, gate_command: str = "") -> Markup:
    """Return the whole answer of a reviewer that wrote its report to a file.

    An orchestrator acts on a sub-agent's answer and does not look at its earlier instructions again. The answer
    therefore contains the next command, and the findings stay in the file.
    """
    next_action = f"run the gate now: {gate_command}" if gate_command else "run the gate step now."
    lines: list[str] = [Verbatim(f"Stop here and {next_action}")]
    if not passed:
        lines.append("Do not open the report, and fix nothing yet. Pass on its path as the gate says.")
    status = QRStatus.PASS if passed else QRStatus.FAIL
    return block("qr_result", [block("orchestrator_action", lines)], status=status, report=report_path)


def _gate_actions(
    qr: QRState, gate: GateConfig, *, limit: int = LIMIT, policy: str = DEFAULT_POLICY
) -> list[str]:
    """Return the actions of a gate: the state of the loop, the blocking findings, who fixes them, what is forbidden."""
    severities = blocking_severities(qr.iteration, policy)
    is_last = qr.iteration >= limit
    mode = REVIEW if qr.status is None else PASSED if qr.passed else ASK_USER if is_last else FAILED
    loop = ReviewLoop(
        gate=gate.name,
        name=gate.name,
        round=qr.iteration,
        limit=limit,
        mode=mode,
        severities=tuple(severity for severity in Severity if severity in severities),
        fixed_in=f"step {gate.work_step}",
    )
    before, after = loop_pieces(loop)
    more: list[str] = [gate.pass_message] if mode == PASSED and gate.pass_message else []
    if mode == ASK_USER:
        more = [_limit_question(qr, gate)]
    elif mode == FAILED:
        fixer = "You fix them" if gate.self_fix else f"{_agent_text(gate.fix_target).capitalize()} fixes them"
        pass_on = (
            "" if gate.self_fix else " Pass on the findings, or the path of their report, word for word."
        )
        more = [f"{fixer}.{pass_on}", "Do not show the reviewer the earlier findings."]
    return [*before, *more, *after]


def format_gate_step(
    script: str,
    step: int,
    total: int,
    title: str,
    qr: QRState,
    gate: GateConfig,
    phase: str | None = None,
    *,
    limit: int = LIMIT,
    policy: str = DEFAULT_POLICY,
) -> Markup:
    """Return a whole gate step: it fixes nothing and prints the one next command.

    After a failed review, that command leads to the work step in the next round; at *limit* the user is asked first.
    Without a verdict, the commands run the gate again with each verdict.
    """
    return format_step_output(
        script,
        step,
        total,
        title,
        _gate_actions(qr, gate, limit=limit, policy=policy),
        _next_command(script, step, total, qr, gate, limit),
        phase,
        gate_result=_result(qr, gate, limit),
    )


def _next_command(
    script: str, step: int, total: int, qr: QRState, gate: GateConfig, limit: int
) -> NextCommand:
    if qr.status is None:
        verdicts = [
            format_invoke_command(script, step, total, qr=QRState(qr.iteration, qr.failed, status))
            for status in QRStatus
        ]
        return BranchCommand(*verdicts)
    pass_command = None if gate.pass_step is None else format_invoke_command(script, gate.pass_step, total)
    if qr.passed:
        return FlatCommand(pass_command) if pass_command else None
    work_command = format_invoke_command(
        script, gate.work_step, total, qr=QRState(qr.iteration + 1, failed=True)
    )
    return (
        BranchCommand(pass_command, work_command)
        if pass_command and qr.iteration >= limit
        else FlatCommand(work_command)
    )


def _result(qr: QRState, gate: GateConfig, limit: int) -> tuple[str, str]:
    rounds = f"round {qr.iteration} of {limit}"
    if qr.status is None:
        return "open", f"{gate.name} has no verdict yet ({rounds})"
    return str(qr.status), f"{gate.name} {'passed' if qr.passed else 'failed'} ({rounds})"


def _agent_text(role: AgentRole | str | None) -> str:
    return f"a sub-agent of kind {role or AgentRole.DEVELOPER}"


def _limit_question(qr: QRState, gate: GateConfig) -> Markup:
    if_accepted = "run if_pass" if gate.pass_step is not None else "the workflow ends here; run nothing"
    if_repeated = "run if_fail" if gate.pass_step is not None else "run the command below"
    choices = {
        "another-round": f"fix and review all blocking findings: {if_repeated}",
        "accept-the-risk": f"open findings stay, with the reason recorded: {if_accepted}",
        "stop": "the workflow ends as failed: run nothing",
    }
    lines = [
        f"{gate.name} has failed {qr.iteration} times. Tell the user which findings still block, and ask how to continue.",
        "The user decides; record the answer.",
        *(element("option", description, label=label) for label, description in choices.items()),
    ]
    return block("limit_question", lines)
