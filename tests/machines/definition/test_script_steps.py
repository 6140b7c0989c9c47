"""Steps of scripts: the QR loop and the text skill run as the seed writes them, imports aside."""

from __future__ import annotations

import argparse
from xml.etree import ElementTree as ET

import pytest

from flowrail.formatters.blocks.plain_text import format_text_output
from flowrail.formatters.blocks.review import format_gate_step
from flowrail.formatters.blocks.step import format_step_output, next_command
from flowrail.machines.definition.script_steps import (
    BranchCommand,
    BranchRouting,
    FlatCommand,
    LinearRouting,
    QRState,
    Routing,
    Step,
    TerminalRouting,
)
from flowrail.machines.definition.step_parts import AgentRole, GateConfig

STEPS = {
    1: Step(
        title="Implementation",
        actions=["Write code", "Run tests"],
        routing=LinearRouting(),
    ),
    2: Step(
        title="QR: Review Implementation",
        actions=["Check code quality", "Verify tests"],
        routing=BranchRouting(if_pass=4, if_fail=3),
    ),
    # Step 3 is gate (no entry in STEPS dict)
}


def main(*words: str) -> None:
    """The seed's skill with a QR loop."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--step", type=int, required=True)
    parser.add_argument("--total-steps", type=int, required=True)
    parser.add_argument("--qr-iteration", type=int, default=1)
    parser.add_argument("--qr-fail", action="store_true")
    parser.add_argument("--qr-status", type=str, choices=["pass", "fail"])
    args = parser.parse_args(words)

    qr = QRState(
        iteration=args.qr_iteration,
        failed=args.qr_fail,
        status=args.qr_status,
    )

    if args.step == 3:  # Gate step
        gate = GateConfig(
            qr_name="Implementation Review",
            work_step=1,
            pass_step=4,
            pass_message="Implementation verified",
            self_fix=True,
            fix_target=AgentRole.DEVELOPER,
        )
        print(  # noqa: T201 - as the seed writes it
            format_gate_step(
                script="script",
                step=3,
                total=args.total_steps,
                title="Gate: Route Based on QR",
                qr=qr,
                gate=gate,
            )
        )
    else:
        # Regular step
        step_config = STEPS[args.step]
        following = next_command(step_config.routing, script="script", step=args.step, total=args.total_steps)
        print(  # noqa: T201 - as the seed writes it
            format_step_output(
                script="script",
                step=args.step,
                total=args.total_steps,
                title=step_config.title,
                actions=step_config.actions,
                next_command=following,
            )
        )


def text_main(*words: str) -> None:
    """The seed's simple skill."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--step", type=int, required=True)
    parser.add_argument("--total-steps", type=int, required=True)
    args = parser.parse_args(words)

    if args.step == 1:
        print(  # noqa: T201 - as the seed writes it
            format_text_output(
                step=1,
                total=args.total_steps,
                title="Analyze Problem",
                actions=["Read codebase", "Identify issues"],
                brief="Initial analysis",
                next_title="Propose Solution",
            )
        )
    elif args.step == 2:
        print(  # noqa: T201 - as the seed writes it
            format_text_output(
                step=2,
                total=args.total_steps,
                title="Propose Solution",
                actions=["Design fix", "Document approach"],
                brief="Solution design",
                next_title=None,  # Terminal step
            )
        )


def printed(capsys: pytest.CaptureFixture[str], *words: str) -> ET.Element:
    main(*words)
    return ET.fromstring(capsys.readouterr().out)  # noqa: S314 - our own output


def test_the_loop_goes_from_work_through_review_to_the_gate_and_back(
    capsys: pytest.CaptureFixture[str],
) -> None:
    work = printed(capsys, "--step", "1", "--total-steps", "4")
    review = printed(capsys, "--step", "2", "--total-steps", "4")
    failed = printed(capsys, "--step", "3", "--total-steps", "4", "--qr-status", "fail")
    again = ["--step", "3", "--total-steps", "4", "--qr-iteration", "2", "--qr-fail", "--qr-status", "pass"]
    passed = printed(capsys, *again)

    assert work.findtext("invoke_after") == "flow skill preview script --step 2 --total-steps 4"
    assert review.findtext("invoke_after/if_fail") == "flow skill preview script --step 3 --total-steps 4"
    assert (
        failed.findtext("invoke_after")
        == "flow skill preview script --step 1 --total-steps 4 --qr-iteration 2 --qr-fail"
    )
    assert passed.findtext("invoke_after") == "flow skill preview script --step 4 --total-steps 4"
    assert passed.findtext("gate_result") == "Implementation Review passed (round 2 of 5)"


def test_the_text_skill_prints_both_of_its_steps(capsys: pytest.CaptureFixture[str]) -> None:
    text_main("--step", "1", "--total-steps", "2")
    text_main("--step", "2", "--total-steps", "2")

    told = capsys.readouterr().out
    assert "Step 1 of 2: Analyze Problem" in told
    assert "Next step: Propose Solution" in told
    assert told.endswith("Design fix\nDocument approach\n\nThis is the last step.\n")


@pytest.mark.parametrize(
    ("routing", "following"),
    [
        (LinearRouting(), FlatCommand("python3 plan.py --step 3")),
        (BranchRouting(4, 1), BranchCommand("python3 plan.py --step 4", "python3 plan.py --step 1")),
        (TerminalRouting(), None),
    ],
)
def test_a_routing_stands_for_commands(
    routing: Routing, following: FlatCommand | BranchCommand | None
) -> None:
    assert next_command(routing, script="plan.py", step=2) == following
