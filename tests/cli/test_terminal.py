"""What people see: commands in a real terminal of 80 and 200 columns, with and without colour."""

from __future__ import annotations

import pytest
from support.sandbox import ASKING, flow, put_skill, told
from support.terminal import plain, shown

TOPIC = "a slow login on old mobile phones, after the second attempt"


@pytest.fixture
def session() -> str:
    put_skill("asking", ASKING)
    return str(told("step", "asking", "--new", "-p", f"topic={TOPIC}")["session"])


@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize(
    "words",
    [["sessions"], ["list"], ["show", "asking"], ["sessions", "ID"], ["audit"], ["doctor"], ["discover"]],
    ids=" ".join,
)
def test_output_fits_the_terminal(words: list[str], columns: int, session: str) -> None:
    out = plain(shown(*(session if word == "ID" else word for word in words), columns=columns))

    assert max(map(len, out.splitlines())) <= columns
    assert out.strip()


@pytest.mark.parametrize(
    ("options", "env", "is_coloured"),
    [
        ([], {}, True),
        ([], {"NO_COLOR": "1"}, False),
        ([], {"TERM": "dumb"}, False),
        (["--color", "never"], {}, False),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
    ],
)
def test_colour_can_be_turned_off(
    options: list[str], env: dict[str, str], is_coloured: bool, session: str
) -> None:
    out = shown("sessions", *options, env=env)

    assert ("\x1b[36mRunning" in out) is is_coloured
    assert ("\x1b" in out) is is_coloured


def test_times_are_relative_in_a_terminal_and_exact_in_a_pipe(session: str) -> None:
    exact = str(told("sessions", session)["history"][0]["at"])

    assert "just now" in shown("sessions", session)
    assert exact in flow("sessions", session).out
    assert exact in flow("sessions").out


PROSE = """\
name: NAME
steps:
  - id: look
    title: Look
    actions:
      - |
        Look at everything that the user named, and at what is beside it, until you can say what it is for.

        - Write each place down as you go, with the file and the line, so that a reader can check it later.

        ```
        grep --recursive --line-number --include '*.py' 'a_long_name_to_look_for' src tests docs examples
        ```
    next: {ok: null}
"""


def test_a_step_wraps_prose_and_leaves_code_and_commands_whole() -> None:
    put_skill("prose", PROSE)
    command = told("step", "prose", "--new")["next"][0]["command"]

    out = plain(shown("resume", "--color", "always")).splitlines()

    assert "Look at everything that the user named, and at what is beside it, until you can" in out
    at = out.index("- Write each place down as you go, with the file and the line, so that a")
    assert out[at + 1] == "  reader can check it later."
    assert f"      {command}" in out
    assert any(line.startswith("grep ") and line.endswith(" examples") for line in out)
    assert flow("resume", "--format", "text").out.count("until you can say what it is for.") == 1
