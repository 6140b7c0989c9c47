"""The hash, size, expiry and token count of a payload.

The hash is SHA-256 over canonical JSON: sorted keys, no white space, UTF-8, and whole numbers without a fraction. In
2.0 it covers the handoff without `meta.payload_hash` and `meta.payload_size_bytes`; in 3.0 it covers `payload`. The
digest of the file covers the rest and is passed on beside the document. Other senders may hash the JSON with its keys
in the order of the file; `accepted_seals` accepts these forms too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from flowrail.handoff.payload.document import get, text_at
from flowrail.storage.files import sha256_hex
from flowrail.storage.records import to_plain
from flowrail.text.phrases import moment

CLOCK_SKEW = timedelta(minutes=5)

LIFETIME = {"2.0": timedelta(hours=1)}
"""How long a payload without `expires_at` is valid. The other versions do not expire."""

TIERS = ("working", "session", "references")
_SEAL = ("payload_hash", "payload_size_bytes")
MAX_TOKENS = 2000
_WRITTEN_TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})")
_MAX_EXACT = 2**53


def canonical(value: object) -> bytes:
    """Return plain data as the bytes that are hashed."""
    text = json.dumps(
        _normal(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class Seal:
    """The hash and the size of a payload's content."""

    hash: str
    size: int


def seal_of(version: str, handoff: Mapping[str, object]) -> Seal:
    """Return the hash and the size that we write."""
    return _seal(canonical(_sealed_part(version, handoff)))


def accepted_seals(version: str, handoff: Mapping[str, object]) -> tuple[Seal, ...]:
    """Return every seal that a receiver accepts: ours, and those over the JSON with its keys in the order of the file.

    The order is hashed as JavaScript's `JSON.stringify` and as Python's `json.dumps` write it.
    """
    part = _sealed_part(version, handoff)
    written = json.dumps(_normal(part), separators=(",", ":"), ensure_ascii=False)
    texts = (written, json.dumps(to_plain(part)))
    return (seal_of(version, handoff), *(_seal(text.encode("utf-8", "surrogatepass")) for text in texts))


def sealed(version: str, handoff: Mapping[str, object]) -> dict[str, Any]:
    """Return *handoff* with its hash and size in `meta`. 1.0 has no fields for them."""
    if version == "1.0":
        return dict(handoff)
    seal = seal_of(version, handoff)
    return {
        **handoff,
        "meta": {**_mapping(handoff.get("meta")), "payload_hash": seal.hash, "payload_size_bytes": seal.size},
    }


def identity(version: str, handoff: Mapping[str, object]) -> str:
    """Return what identifies a payload: its trace or workflow, its source, its target, and its time.

    The form of the document and everything else in it do not matter.
    """
    work = text_at(handoff, "trace_id") if version == "3.0" else text_at(handoff, "source.workflow_id")
    time = moment(text_at(handoff, "timestamp"))
    return sha256_hex(
        canonical(
            [
                work or text_at(handoff, "source.session_path"),
                text_at(handoff, "source.skill"),
                text_at(handoff, "target.skill"),
                stamp(time) if time is not None else "",
            ]
        )
    )


def differing_fields(one: object, other: object, path: str = "handoff") -> list[str]:
    """Return the fields in which the contents of two payloads differ."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        names = dict.fromkeys([*one, *other])
        return [
            field
            for name in names
            for field in differing_fields(one.get(name), other.get(name), f"{path}.{name}")
        ]
    return [] if canonical(one) == canonical(other) else [path]


def written_time(text: str) -> str:
    """Return a time as our payloads write it. A time that already has this form stays as it is."""
    time = moment(text)
    return text if time is None or _WRITTEN_TIME.fullmatch(text) else stamp(time)


def stamp(time: datetime) -> str:
    """Return a time as it is written: in UTC, to the millisecond, with Z."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def expiry(version: str, handoff: Mapping[str, object]) -> datetime | None:
    """Return when a payload expires, or `None` if it never does."""
    declared = moment(text_at(handoff, "expires_at"))
    if declared is not None:
        return declared
    created, lifetime = moment(text_at(handoff, "timestamp")), LIFETIME.get(version)
    if created is None or lifetime is None:
        return None
    latest = datetime.max.replace(tzinfo=UTC)
    return created + lifetime if created < latest - lifetime else latest


def has_expired(time: datetime | None, now: datetime) -> bool:
    """Whether *time* has passed, clock skew included."""
    return time is not None and now - CLOCK_SKEW > time


def is_in_future(time: datetime | None, now: datetime) -> bool:
    """Whether *time* is still to come, clock skew included."""
    return time is not None and time > now + CLOCK_SKEW


def tokens(value: object) -> int:
    """Return the number of tokens that a value counts as: the length of its compact JSON divided by four."""
    if value is None:
        return 0
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return -(-len(text) // 4)


def token_count(handoff: Mapping[str, object]) -> int:
    """Return the tokens of a 3.0 payload's `payload`, which `meta.token_count` declares."""
    return tokens(handoff.get("payload"))


def tiers(handoff: Mapping[str, object]) -> dict[str, int]:
    """Return the tokens of each tier of a 3.0 payload."""
    return {tier: tokens(get(handoff, f"payload.{tier}")) for tier in TIERS}


def largest_parts(handoff: Mapping[str, object]) -> dict[str, int]:
    """Return the tokens of the three largest parts of a 3.0 payload that is too large, else nothing."""
    total = token_count(handoff)
    places = [*(f"payload.{tier}" for tier in TIERS), "payload.working.facts"]
    sizes = {
        f"{place}.{key}": tokens(value)
        for place in places
        for key, value in _mapping(get(handoff, place)).items()
    }
    sizes.pop("payload.working.facts", None)
    largest = sorted(sizes, key=lambda part: (-sizes[part], part))[:3] if total > MAX_TOKENS else []
    return {part: sizes[part] for part in largest if part == largest[0] or sizes[part] * 100 >= total}


def oversize(handoff: Mapping[str, object]) -> str:
    """Return advice on what to move to a file if a 3.0 payload is too large, or an empty text."""
    parts = largest_parts(handoff)
    named = ", ".join(f"`{part}` ({number})" for part, number in parts.items())
    by_tier = ", ".join(f"{tier} {number}" for tier, number in tiers(handoff).items() if number)
    size = f"has {token_count(handoff)} tokens ({by_tier}); at most {MAX_TOKENS} are allowed"
    return f"{size}; move to a file: {named}" if parts else ""


def _sealed_part(version: str, handoff: Mapping[str, object]) -> object:
    return handoff.get("payload") if version == "3.0" else _without_seal(handoff)


def _seal(data: bytes) -> Seal:
    return Seal(f"sha256:{sha256_hex(data)}", len(data))


def _without_seal(handoff: Mapping[str, object]) -> dict[str, object]:
    return {
        key: {name: item for name, item in value.items() if name not in _SEAL}
        if key == "meta" and isinstance(value, Mapping)
        else value
        for key, value in handoff.items()
    }


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _normal(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _normal(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_normal(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < _MAX_EXACT:
        return int(value)
    return value
