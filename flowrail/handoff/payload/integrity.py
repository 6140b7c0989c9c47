"""Whether a payload is the one that was sent, still good, and not too much: hash, size, expiry, tokens.

The hash is SHA-256 over canonical JSON: keys in order of their code points, no white space, text as
UTF-8, whole numbers without a fraction whatever they were written as. In 2.0 it covers the handoff
but `meta.payload_hash` and `meta.payload_size_bytes`; in 3.0 it covers `payload` alone. What it does
not cover is covered by the digest of the file, which travels beside the document.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from flowrail.handoff.payload.document import get, text_at
from flowrail.handoff.payload.versions.v3 import MOST_TOKENS

SKEW = timedelta(minutes=5)
"""How far two clocks may be apart."""

LIFETIME = {"2.0": timedelta(hours=1)}
"""How long a payload is good for where it does not say; versions without an entry: for ever."""

TIERS = ("working", "session", "references")
_OWN = ("payload_hash", "payload_size_bytes")
_EXACT = 2**53


def canonical(value: Any) -> bytes:
    """Return plain data as the bytes that are hashed."""
    text = json.dumps(
        _normal(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode("utf-8", "surrogatepass")


def covered(version: str, handoff: Mapping[str, Any]) -> bytes:
    """Return the bytes that the hash of a payload covers."""
    if version == "3.0":
        return canonical(handoff.get("payload"))
    meta = handoff.get("meta")
    bare = {key: value for key, value in handoff.items() if key != "meta"}
    if isinstance(meta, Mapping):
        bare["meta"] = {key: value for key, value in meta.items() if key not in _OWN}
    return canonical(bare)


def fingerprint(version: str, handoff: Mapping[str, Any]) -> tuple[str, int]:
    """Return the hash and the size that belong into `meta`."""
    data = covered(version, handoff)
    return f"sha256:{sha256(data).hexdigest()}", len(data)


def sealed(version: str, handoff: Mapping[str, Any]) -> dict[str, Any]:
    """Return *handoff* with its hash and size in `meta`; 1.0 has no place for them."""
    if version == "1.0":
        return dict(handoff)
    digest, size = fingerprint(version, handoff)
    meta = handoff.get("meta")
    own = {"payload_hash": digest, "payload_size_bytes": size}
    return {**handoff, "meta": {**(meta if isinstance(meta, Mapping) else {}), **own}}


def moment(text: str) -> datetime | None:
    """Return the moment that *text* names, in UTC; one without an offset is taken as UTC."""
    try:
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def stamp(when: datetime) -> str:
    """Return a moment as it is written: to the millisecond, in UTC, with Z."""
    return when.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def expiry(version: str, handoff: Mapping[str, Any]) -> datetime | None:
    """Return when a payload ceases to be good, `None` for never."""
    said = moment(text_at(handoff, "expires_at"))
    if said is not None:
        return said
    made, life = moment(text_at(handoff, "timestamp")), LIFETIME.get(version)
    if made is None or life is None:
        return None
    latest = datetime.max.replace(tzinfo=UTC)
    return made + life if made < latest - life else latest


def has_expired(when: datetime | None, now: datetime) -> bool:
    """Whether that moment has passed on everybody's clock."""
    return when is not None and now - SKEW > when


def is_early(when: datetime | None, now: datetime) -> bool:
    """Whether that moment has not come yet on anybody's clock."""
    return when is not None and when > now + SKEW


def tokens(value: Any) -> int:
    """Return how many tokens a piece of a payload is counted as: a quarter of its compact JSON."""
    if value is None:
        return 0
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return -(-len(text) // 4)


def tiers(handoff: Mapping[str, Any]) -> dict[str, int]:
    """Return the tokens of each tier of a 3.0 payload."""
    return {tier: tokens(get(handoff, f"payload.{tier}")) for tier in TIERS}


def too_much(handoff: Mapping[str, Any]) -> str:
    """Say what to move to a file where a 3.0 payload is too large, or nothing where it is not."""
    counted = tiers(handoff)
    total = sum(counted.values())
    parts = heaviest(handoff)
    if not parts:
        return ""
    named = ", ".join(f"`{part}` ({number})" for part, number in parts.items())
    by_tier = ", ".join(f"{tier} {number}" for tier, number in counted.items() if number)
    return f"has {total} tokens ({by_tier}), {MOST_TOKENS} are the most; move to a file: {named}"


def heaviest(handoff: Mapping[str, Any]) -> dict[str, int]:
    """Return the tokens of the largest parts of a 3.0 payload that is too large, nothing where it is not."""
    total = sum(tiers(handoff).values())
    if total <= MOST_TOKENS:
        return {}
    parts = {
        f"payload.{tier}.{key}": tokens(value)
        for tier in TIERS
        for key, value in _items(get(handoff, f"payload.{tier}"))
        if (tier, key) != ("working", "facts")
    }
    facts = _items(get(handoff, "payload.working.facts"))
    parts |= {f"payload.working.facts.{key}": tokens(value) for key, value in facts}
    largest = sorted(parts, key=lambda part: (-parts[part], part))[:3]
    return {part: parts[part] for part in largest if part == largest[0] or parts[part] * 100 >= total}


def _items(value: Any) -> list[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, Mapping) else []


def _normal(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _normal(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_normal(item) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT:
        return int(value)
    return value
