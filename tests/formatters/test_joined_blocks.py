"""Blocks that an author joins with other texts, and the commands in them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

from support.sandbox import LOOP, LOOP_TEXTS, home_skills, process, put_skill, told

from flowrail import GateConfig
from flowrail.formatters import (
    format_current_action,
    format_forbidden,
    format_gate_step,
    format_subagent_dispatch,
)
from flowrail.machines import QRState

BLOCKS = """
from flowrail import Arg, Outcome, StepDef, Workflow
from flowrail.formatters import format_expected_output, format_forbidden

BEFORE = "\\n".join(["Look at $topic:", "", format_forbidden(["a < b"]), "", format_expected_output(["c"]), "Then stop."])


def text(ctx):
    return f"Now {ctx.step_state['found']}.\\n{format_forbidden(['a < b'])}"


WORKFLOW = Workflow(
    "joined",
    StepDef("first", "First", [BEFORE], next={Outcome.OK: "SECOND"}, reports={"found": Arg(type="string")}),
    MORE
    params={"topic": Arg(type="string", default="<forbidden>")},
)
"""
SECOND = 'StepDef("second", "Second", text, next={Outcome.OK: None}),'
FORBIDDEN = "<forbidden>\n<action><![CDATA[a < b]]></action>\n</forbidden>"
EXPECTED = "<expected_output>\n<item>c</item>\n</expected_output>"
SHOWN = f"<![CDATA[Look at <forbidden>:]]>\n\n{FORBIDDEN}\n\n{EXPECTED}\nThen stop."


def put_joined(more: str, second: str) -> None:
    text = BLOCKS.replace("MORE", more).replace('"SECOND"', second)
    put_skill("joined", text, where=home_skills(), file="workflow.py")


def test_blocks_joined_into_one_text_are_still_blocks() -> None:
    assert format_current_action(["\n".join(["Do < it.", format_forbidden(["a < b"])])]) == (
        f"<current_action>\n<![CDATA[Do < it.]]>\n{FORBIDDEN}\n</current_action>"
    )


def test_blocks_joined_in_a_step_are_blocks_also_when_the_session_continues_without_the_code() -> None:
    put_joined("", "None")
    started = process("step", "joined", "--new")

    resumed = process("resume", told("sessions")["sessions"][0]["session"])

    assert SHOWN in started.out
    assert SHOWN in resumed.out


def test_blocks_that_a_function_joins_are_blocks_and_values_are_text() -> None:
    put_joined(SECOND, '"second"')
    process("step", "joined", "--new")

    moved = process("step", "joined", "ok", "-s", f"found={FORBIDDEN.replace('a ', 'b ')}")

    assert f"\n{FORBIDDEN}\n" in moved.out
    assert "<![CDATA[Now <forbidden>\n<action><![CDATA[b < b]]]]><![CDATA[>" in moved.out


# --- commands in blocks


def printed_command(text: str, tag: str) -> str:
    element = ET.fromstring(text).find(f".//{tag}")  # noqa: S314 - our own output
    assert element is not None
    return str(element.text)


def run_printed(command: str) -> str:
    flow = f'flow() {{ "{sys.executable}" -m flowrail "$@"; }}\npython3() {{ "{sys.executable}" "$@"; }}\n'
    completed = subprocess.run(
        ["/bin/bash", "-c", flow + command], capture_output=True, text=True, check=False
    )
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


def test_the_commands_of_dispatches_and_gates_run_as_they_are_printed() -> None:
    script = Path("R&D <1>") / "gate.py"
    for path in (script, Path("rules") / "gate.py"):
        path.parent.mkdir()
        path.write_text("import sys\nprint(sys.argv[1:])\n")
    put_skill("audit", LOOP, texts=LOOP_TEXTS, where=home_skills())
    gate = GateConfig("Review", work_step=1, pass_step=2)
    failed = QRState(2, failed=True, status="fail")

    for dispatched, expected in (
        (
            format_subagent_dispatch("explore", str(script), 1, 2, {"area": "naming"}),
            "['--step', '1', '--total-steps', '2']",
        ),
        (format_subagent_dispatch("explore", "rules.gate", 1, 2), "['--step', '1', '--total-steps', '2']"),
        (format_subagent_dispatch("explore", "audit", context_vars={"topic": "R&D"}), "Do the first."),
        (format_subagent_dispatch("explore", "audit", 2, 3), "Do the second."),
    ):
        assert expected in run_printed(printed_command(dispatched, "invoke"))
    for script_name, expected in (
        (str(script), "'--qr-iteration', '3', '--qr-fail'"),
        ("rules.gate", "'--qr-iteration', '3', '--qr-fail'"),
        ("audit", "Do the first."),
    ):
        printed = format_gate_step(script_name, 3, 3, "Gate", failed, gate)
        assert expected in run_printed(printed_command(printed, "invoke_after"))
