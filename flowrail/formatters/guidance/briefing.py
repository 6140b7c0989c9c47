"""The first paragraph for an agent that continues a session and may not remember it."""

from __future__ import annotations

from collections.abc import Sequence

from flowrail.machines.guidance.agent_work import AgentCount
from flowrail.machines.guidance.guide import Briefing, DoneStep, Guidance
from flowrail.machines.session import OPEN
from flowrail.text.phrases import ago, count, duration, in_words, size
from flowrail.text.safe_text import one_line, shortened

LONGEST_REQUEST, LONGEST_ASKED, LONGEST_NOTE = 600, 100, 300
REQUESTS = frozenset({"original_prompt", "prompt", "question", "request", "task"})
"""Parameters that contain the user's request in the user's words. Any other text parameter is the topic."""


def briefing_text(guidance: Guidance, briefing: Briefing) -> str:
    """Return the text that an agent reads first when it continues a session: one paragraph, without commands."""
    sentences = ["You are continuing."]
    beginning = guidance.topic.removesuffix("…")
    texts = {name: one_line(value) for name, value in guidance.params.items() if isinstance(value, str)}
    topic = next((name for name, text in texts.items() if beginning and text.startswith(beginning)), None)
    if topic is not None:
        request = shortened(in_words(guidance.params[topic]), LONGEST_REQUEST)
        is_request = topic in REQUESTS
        label = "Your task" if guidance.parent else "The user asked" if is_request else "Topic"
        sentences.append(_sentence(label, request))
    others = [
        f"{one_line(name)}={shortened(in_words(value), LONGEST_ASKED)}"
        for name, value in guidance.params.items()
        if name != topic and value not in (None, "", (), [])
    ]
    sentences += [_sentence("Parameters", ", ".join(others))] if others else []
    started, moved = (one_line(ago(at, briefing.now)) for at in (guidance.started_at, guidance.moved_at))
    sentences.append(f"Started {started}{f', last report {moved}' if briefing.done else ''}.")
    earlier = [count(briefing.earlier, "earlier report")] if briefing.earlier else []
    done = ", then ".join([*earlier, ", ".join(map(_done_text, briefing.done))] if briefing.done else earlier)
    sentences.append(_sentence("Done so far", done or "nothing yet"))
    if briefing.noted:
        noted = "; ".join(shortened(text, LONGEST_NOTE).rstrip(".") for text in briefing.noted)
        sentences.append(_sentence("Also noted", noted))
    if briefing.already_ran:
        sentences.append(_sentence("In this step you already ran", ", ".join(briefing.already_ran)))
    if briefing.notes is not None:
        age = duration(briefing.notes.seconds)
        about = f"{size(briefing.notes.bytes)}, changed {age} ago"
        sentences.append(f"Notes: {one_line(briefing.notes_path)} ({about}).")
    elif briefing.notes_path:
        sentences.append(f"Notes: {one_line(briefing.notes_path)} is missing.")
    progress = agents_progress(
        [(dispatch.status, dispatch.moved_at) for dispatch in guidance.dispatches], briefing.now
    )
    sentences += [f"{progress}."] if progress else []
    return " ".join(sentences)


def _sentence(label: str, text: str) -> str:
    return f"{label}: {text}{'' if text.endswith(('.', '!', '?')) else '.'}"


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
