"""The hash, identity, expiry and size of a payload.

The hash is SHA-256 over canonical JSON: sorted keys, no white space, UTF-8, and whole numbers without a fraction. In
2.0 it covers the handoff without `meta.payload_hash` and `meta.payload_size_bytes`; in 3.0 it covers `payload`. The
digest of the file covers the rest and is passed on beside the document.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from flowrail.handoff.payload.document import get, put, text_at
from flowrail.storage.converter import to_plain
from flowrail.storage.files import sha256_hex
from flowrail.text.phrases import moment

CLOCK_SKEW = timedelta(minutes=5)
LIFETIME = {"2.0": timedelta(hours=1)}
"""How long a payload without `expires_at` is valid. The other versions do not expire."""
MAX_TOKENS = 2000
TIERS = ("working", "session", "references")
_SEAL = ("payload_hash", "payload_size_bytes")
_MAX_EXACT = 2**53
_LATEST = datetime.max.replace(tzinfo=UTC)


def canonical(value: object) -> bytes:
    """Return plain data as the bytes that are hashed."""
    text = json.dumps(
        _normal(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode("utf-8", "surrogatepass")


def sealed(version: str, handoff: Mapping[str, object]) -> dict[str, Any]:
    """Return *handoff* with its hash and size, and in 3.0 its token count, in `meta`. 1.0 has no fields for them."""
    if version == "1.0":
        return dict(handoff)
    new = dict(handoff)
    if version == "3.0":
        new = put(new, "meta.token_count", tokens(handoff.get("payload")))
    for name, value in zip(_SEAL, _seal(canonical(_sealed_part(version, handoff))), strict=True):
        new = put(new, f"meta.{name}", value)
    return new


def accepted_seals(version: str, handoff: Mapping[str, object]) -> list[tuple[str, int]]:
    """Return every hash that a receiver accepts, with its size: ours first.

    The others are over the JSON with its keys in the order of the file, as JavaScript's `JSON.stringify` and as Python's
    `json.dumps` write it.
    """
    part = _sealed_part(version, handoff)
    in_order = json.dumps(_normal(part), separators=(",", ":"), ensure_ascii=False)
    texts = (in_order, json.dumps(to_plain(part)))
    return [_seal(data) for data in (canonical(part), *(t.encode("utf-8", "surrogatepass") for t in texts))]


def identity(version: str, handoff: Mapping[str, object]) -> str:
    """Return what identifies a payload: its trace or workflow, its source, its target, and its time.

    The form of the document and everything else in it do not matter.
    """
    work = text_at(handoff, "trace_id" if version == "3.0" else "source.workflow_id")
    time = moment(text_at(handoff, "timestamp"))
    parts = (
        work or text_at(handoff, "source.session_path"),
        text_at(handoff, "source.skill"),
        text_at(handoff, "target.skill"),
        stamp(time) if time else "",
    )
    return sha256_hex(canonical(parts))


def differing_fields(one: object, other: object, path: str = "handoff") -> list[str]:
    """Return the fields in which the contents of two payloads differ."""
    if not (isinstance(one, Mapping) and isinstance(other, Mapping)):
        return [] if canonical(one) == canonical(other) else [path]
    names = dict.fromkeys([*one, *other])
    return [f for n in names for f in differing_fields(one.get(n), other.get(n), f"{path}.{n}")]


def stamp(time: datetime) -> str:
    """Return a time as it is written: in UTC, to the millisecond, with Z."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def expiry(version: str, handoff: Mapping[str, object]) -> datetime | None:
    """Return when a payload expires, or `None` if it never does."""
    created, lifetime = moment(text_at(handoff, "timestamp")), LIFETIME.get(version)
    by_version = min(created, _LATEST - lifetime) + lifetime if created and lifetime else None
    return moment(text_at(handoff, "expires_at")) or by_version


def has_expired(time: datetime | None, now: datetime) -> bool:
    """Whether *time* has passed, clock skew included."""
    return time is not None and now - CLOCK_SKEW > time


def tokens(value: object) -> int:
    """Return the number of tokens that a value counts as: the length of its compact JSON divided by four."""
    if value is None:
        return 0
    return -(-len(json.dumps(value, separators=(",", ":"), ensure_ascii=False)) // 4)


def tiers(handoff: Mapping[str, object]) -> dict[str, int]:
    """Return the tokens of each tier of a 3.0 payload that has any."""
    counted = {tier: tokens(get(handoff, f"payload.{tier}")) for tier in TIERS}
    return {tier: number for tier, number in counted.items() if number}


def largest_parts(handoff: Mapping[str, object]) -> dict[str, int]:
    """Return the tokens of the three largest parts of a 3.0 payload that is too large, else nothing."""
    total = tokens(handoff.get("payload"))
    places = [*(f"payload.{tier}" for tier in TIERS), "payload.working.facts"]
    sizes = {
        f"{place}.{key}": tokens(value)
        for place in places
        if isinstance(part := get(handoff, place), Mapping)
        for key, value in part.items()
    }
    sizes.pop(places[-1], None)
    largest = sorted(sizes, key=lambda part: (-sizes[part], part))[:3] if total > MAX_TOKENS else []
    return {part: sizes[part] for part in largest if part == largest[0] or sizes[part] * 100 >= total}


def _sealed_part(version: str, handoff: Mapping[str, object]) -> object:
    meta = handoff.get("meta")
    if version == "3.0" or not isinstance(meta, Mapping):
        return handoff.get("payload") if version == "3.0" else handoff
    return {**handoff, "meta": {name: value for name, value in meta.items() if name not in _SEAL}}


def _seal(data: bytes) -> tuple[str, int]:
    return f"sha256:{sha256_hex(data)}", len(data)


def _normal(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(key): _normal(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_normal(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < _MAX_EXACT:
        return int(value)
    return value
