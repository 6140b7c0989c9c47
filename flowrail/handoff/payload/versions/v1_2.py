"""Payload 1.2, an internal format of another skill: the part of it that can be converted."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from flowrail.handoff.payload.versions.fields import Filled, PayloadPart, Texts, Timestamp


class SessionV12(PayloadPart):
    """Where the work was done."""

    session_dir: Filled


class DeliverableV12(PayloadPart):
    """The file that is handed off."""

    location: Filled
    type: str = ""
    checksum: str = ""


class ContextV12(PayloadPart):
    """What the work is about."""

    task_id: str = ""
    description: Filled
    focus_areas: Texts
    known_gaps: Texts


class QualityV12(PayloadPart):
    """How the producer rates the deliverable."""

    status: str = ""
    confidence: str | float = ""
    notes: str = ""


class HandoffV12(PayloadPart):
    """The content of the key `handoff`."""

    producer: Filled
    consumer: Filled
    timestamp: Timestamp
    session: SessionV12
    deliverable: DeliverableV12
    context: ContextV12
    quality: Annotated[QualityV12, Field(default_factory=QualityV12)]


class DocumentV12(PayloadPart):
    """The whole file."""

    handoff: HandoffV12
