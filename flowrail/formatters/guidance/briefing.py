"""What an agent that lost its context reads first: where the work is, and what its sub-agents are doing."""

from __future__ import annotations

from collections.abc import Sequence

from flowrail.machines.engine.questions import moment_after
from flowrail.machines.guidance.views import Briefing, DoneStep
from flowrail.machines.sessions.session import CANCELLED, CLAIMED, PENDING, Dispatched
from flowrail.text.phrases import ago, duration, in_words, size
from flowrail.text.safe_text import one_line, shortened

LONGEST_REQUEST, LONGEST_PARAM, LONGEST_FOUND = 600, 100, 300


def briefing_text(briefing: Briefing) -> str:
    """Return what an agent reads first when it continues a session: one paragraph, without commands."""
    sentences = ["You are continuing."]
    beginning = briefing.topic.removesuffix("…")
    texts = {name: one_line(value) for name, value in briefing.asked.items() if isinstance(value, str)}
    topic = next((name for name, text in texts.items() if beginning and text.startswith(beginning)), None)
    if topic is not None:
        request = shortened(in_words(briefing.asked[topic]), LONGEST_REQUEST)
        sentences.append(_sentence("Your task" if briefing.for_agent else "The user asked", request))
    others = [
        f"{one_line(name)}={shortened(in_words(value), LONGEST_PARAM)}"
        for name, value in briefing.asked.items()
        if name != topic and value not in (None, "", (), [])
    ]
    sentences += [_sentence("Parameters", ", ".join(others))] if others else []
    started, moved = (one_line(ago(at, briefing.now)) for at in (briefing.started_at, briefing.moved_at))
    sentences.append(f"Started {started}, last report {moved}.")
    earlier = f"{briefing.earlier} earlier reports, then " if briefing.earlier else ""
    done = earlier + ", ".join(map(_done, briefing.done)) if briefing.done else "nothing yet"
    sentences.append(_sentence("Done so far", done))
    if briefing.found:
        sentences.append(_sentence("Also found", _listed(briefing.found)))
    if briefing.notes is not None:
        age = duration(briefing.notes.seconds)
        about = f"{size(briefing.notes.bytes)}, changed {age} ago"
        sentences.append(f"Notes: {one_line(briefing.notes_path)} ({about}).")
    elif briefing.notes_path:
        sentences.append(f"Notes: {one_line(briefing.notes_path)} is missing.")
    progress = agents_progress(briefing.dispatches, briefing.now)
    sentences += [f"{progress}."] if progress else []
    if briefing.remember:
        sentences.append(_sentence("Remember", _listed(briefing.remember)))
    return " ".join(sentences)


def _sentence(label: str, text: str) -> str:
    return f"{label}: {text}{'' if text.endswith(('.', '!', '?')) else '.'}"


def _listed(texts: Sequence[str]) -> str:
    return "; ".join(shortened(text, LONGEST_FOUND).rstrip(".") for text in texts)


def _done(step: DoneStep) -> str:
    found = f"; found: {shortened(step.found, LONGEST_FOUND)}" if step.found else ""
    return f"{step.step} ({step.outcome}{found})"


def agents_progress(dispatches: Sequence[Dispatched], now: str) -> str:
    """Return how far the sub-agents of a step are, such as `2 of 5 agents finished, 3 never started`."""
    if not dispatches:
        return ""
    claimed = [dispatch for dispatch in dispatches if dispatch.status == CLAIMED]
    expired = [dispatch for dispatch in claimed if dispatch.expires_at and dispatch.expires_at <= now]
    running = [dispatch for dispatch in claimed if dispatch not in expired]
    failed = sum(
        dispatch.ended and not dispatch.succeeded and dispatch.status != CANCELLED for dispatch in dispatches
    )
    finished = sum(dispatch.succeeded for dispatch in dispatches)
    counts = [
        f"{finished} of {len(dispatches)} agents finished",
        *([f"{failed} failed"] if failed else []),
        *([f"{len(running)} claimed{_since(running, now)}"] if running else []),
        *([f"{len(expired)} claimed{_since(expired, now)} with an expired lease"] if expired else []),
    ]
    for status, words in ((PENDING, "never started"), (CANCELLED, "cancelled")):
        number = sum(dispatch.status == status for dispatch in dispatches)
        counts += [f"{number} {words}"] if number else []
    return ", ".join(counts)


def _since(claimed: Sequence[Dispatched], now: str) -> str:
    """Return when the oldest of these was claimed or last showed activity."""
    moments = [
        moment
        for dispatch in claimed
        if dispatch.expires_at and (moment := moment_after(dispatch.expires_at, -dispatch.lease))
    ]
    return f" {ago(min(moments), now)}" if moments else ""
