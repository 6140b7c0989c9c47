"""Payload 1.2, an internal one of another skill: as much of it as an adapter reads."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from flowrail.handoff.payload.versions.fields import (
    Filled,
    Moment,
    Open,
    Texts,
)

VERSION = "1.2"


class Session(Open):
    """Where the work was done."""

    session_dir: Filled


class Deliverable(Open):
    """The file that is handed over."""

    location: Filled
    type: str = ""
    checksum: str = ""


class Context(Open):
    """What it is about."""

    task_id: str = ""
    description: Filled
    focus_areas: Texts
    known_gaps: Texts


class Quality(Open):
    """How good its maker thinks it is."""

    status: str = ""
    confidence: str | float = ""
    notes: str = ""


class Handoff(Open):
    """All of it."""

    producer: Filled
    consumer: Filled
    timestamp: Moment
    session: Session
    deliverable: Deliverable
    context: Context
    quality: Annotated[Quality, Field(default_factory=Quality)]


class Document(Open):
    """The whole file."""

    handoff: Handoff
