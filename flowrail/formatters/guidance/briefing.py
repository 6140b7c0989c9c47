"""The first paragraph for an agent that continues a session and may not remember it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flowrail.machines.guidance.agent_work import AgentCount
from flowrail.machines.guidance.guide import Briefing, DoneStep, Guidance
from flowrail.machines.session import WorkingFile
from flowrail.session_status import OPEN
from flowrail.text.phrases import ago, count, duration, in_words, size
from flowrail.text.safe_text import one_line, shortened

LONGEST_PARAM, LONGEST_NOTE = 600, 300


def briefing_text(guidance: Guidance, briefing: Briefing) -> str:
    """Return the text that an agent reads first when it continues a session: one paragraph, without commands."""
    started, moved = (one_line(ago(at, briefing.now)) for at in (guidance.started_at, guidance.moved_at))
    earlier = count(briefing.earlier, "earlier report") if briefing.earlier else ""
    done = ", then ".join(filter(None, [earlier, ", ".join(map(_done_text, briefing.done))]))
    noted = "; ".join(shortened(text, LONGEST_NOTE).rstrip(".") for text in briefing.noted)
    agents = [(dispatch.status, dispatch.moved_at) for dispatch in guidance.dispatches]
    sentences = [
        "You are continuing.",
        _sentence("Parameters: ", params_text(guidance.params)),
        _sentence("Started ", f"{started}{f', last report {moved}' if briefing.done else ''}"),
        _sentence("Done so far: ", done or "nothing yet"),
        _sentence("Also noted: ", noted),
        _sentence("In this step you already ran: ", ", ".join(briefing.already_ran)),
        _sentence("Notes: ", _file_text(briefing.notes) if briefing.notes else ""),
        _sentence("", agents_progress(agents, briefing.now)),
    ]
    return " ".join(filter(None, sentences))


def params_text(params: Mapping[str, object]) -> str:
    """Return parameters in words, without those that are empty; JSON has them in full."""
    return ", ".join(
        f"{one_line(name)}={shortened(in_words(value), LONGEST_PARAM)}"
        for name, value in params.items()
        if value not in (None, "", (), [])
    )


def _sentence(beginning: str, text: str) -> str:
    return f"{beginning}{text}{'' if text.endswith(('.', '!', '?')) else '.'}" if text else ""


def _file_text(file: WorkingFile) -> str:
    return f"{one_line(file.path)} ({size(file.bytes)}, changed {duration(file.seconds)} ago)"


def _done_text(step: DoneStep) -> str:
    note = f"; {shortened(step.note, LONGEST_NOTE)}" if step.note else ""
    return f"{step.step} ({step.outcome}{note})"


def agents_progress(agents: Sequence[tuple[str, str]], now: str) -> str:
    """Return how far the sub-agents of a step are, with the oldest of their last reports.

    *agents* has the status of each, and when it last moved.
    """
    text = AgentCount.of(status for status, _ in agents).text
    at_work = [moved_at for status, moved_at in agents if status in OPEN]
    return f"{text} (last report {ago(min(at_work), now)})" if at_work else text
