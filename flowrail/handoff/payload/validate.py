"""Everything that can be wrong with a payload, found at once: shape, fields together, hash, clock, disk.

A document's version is detected first, and each version has its own shape. What is merely worth
knowing is a warning; on receipt more is forgiven than by the one who sends.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from flowrail.handoff.chain import LONG_CHAIN, drawn
from flowrail.handoff.errors import (
    ERROR,
    EXPIRED,
    INTEGRITY,
    INVALID,
    UNKNOWN,
    WARNING,
    Problem,
    few,
)
from flowrail.handoff.payload import integrity
from flowrail.handoff.payload.document import (
    Payload,
    get,
    text_at,
    texts_at,
)
from flowrail.handoff.payload.versions import (
    v1,
    v1_2,
    v2,
    v3,
)
from flowrail.handoff.payload.versions.fields import problems_of, schema_of
from flowrail.text.safe_text import in_quotes

MODELS = {each.VERSION: each.Document for each in (v1, v1_2, v2, v3)}
SCHEMAS = ("1.0", "2.0", "3.0")
SWARMS = frozenset({"perspective-swarm"})
"""Skills whose sessions hold one file a perspective."""


class Asked(NamedTuple):
    """How strictly to look: *now* is the clock's moment; a sender answers for more than a receiver."""

    now: datetime
    sending: bool = False
    strict_v2: bool = False
    expired_is_fine: bool = False


class Checked(NamedTuple):
    """What was found: everything wrong, and the fields that nobody reads."""

    version: str
    problems: tuple[Problem, ...]
    ignored: tuple[str, ...] = ()

    @property
    def fit(self) -> bool:
        """Whether it can be handed over."""
        return not any(each.severity == ERROR for each in self.problems)


def check(payload: Payload, asked: Asked) -> Checked:
    """Return everything that is wrong with *payload*."""
    if payload.problems:
        return Checked("", payload.problems)
    version, handoff = payload.version, payload.handoff
    found = few(shape(version, handoff, payload.extra))
    if version == "3.0" and (much := _much(handoff)):
        found = [*(each for each in found if each.field != "handoff.meta.token_count"), much]
    elif not found:
        found = [*_together(version, handoff, asked), *_on_disk(version, handoff, asked)]
    found += [*_whole(version, handoff), *_in_time(version, handoff, asked)]
    placed = [each._replace(line=payload.line(each.field)) for each in found]
    return Checked(version, tuple(placed), tuple(_ignored(version, handoff)))


def shape(version: str, handoff: Mapping[str, Any], extra: tuple[str, ...] = ()) -> list[Problem]:
    """Return where *handoff* is no payload of that version."""
    found = problems_of(MODELS[version], {"handoff": handoff})
    if "version" in handoff and not isinstance(handoff["version"], str):
        told = f'is a number; write it as a text, "{version}"'
        found = [each._replace(message=told) if each.field == "handoff.version" else each for each in found]
    if version == "3.0":
        found += [Problem(key[:200], "is not known in this version", UNKNOWN) for key in extra]
    return found


def json_schema(version: str) -> dict[str, Any]:
    """Return the JSON Schema of that version."""
    return schema_of(MODELS[version], f"Handoff payload {version}")


def _together(version: str, handoff: Mapping[str, Any], asked: Asked) -> Iterator[Problem]:
    source, target = text_at(handoff, "source.skill"), text_at(handoff, "target.skill")
    chain = texts_at(handoff, "meta.handoff_chain")
    if source and source == target:
        yield Problem("handoff.target.skill", f"is the source, `{in_quotes(source)}`, itself")
    if chain and chain[-1] != source:
        yield Problem(
            "handoff.meta.handoff_chain",
            f"ends with `{in_quotes(chain[-1])}`, not with the source `{in_quotes(source)}`",
        )
    if target in chain and target != source:
        told = f"has `{in_quotes(target)}` already: {drawn(chain, target)} may go round in circles"
        yield Problem("handoff.meta.handoff_chain", told, severity=WARNING)
    if len(chain) > LONG_CHAIN and get(handoff, "meta.user_approved") is not True:
        severity = ERROR if version == "3.0" else WARNING
        told = f"has {len(chain)} skills; over {LONG_CHAIN} the user approves"
        yield Problem("handoff.meta.handoff_chain", told, severity=severity)
    made, ends = (integrity.moment(text_at(handoff, key)) for key in ("timestamp", "expires_at"))
    if made is not None and ends is not None and ends <= made:
        yield Problem("handoff.expires_at", "is not after the timestamp")
    if version == "2.0" and asked.strict_v2 and source != v2.STRICT_SOURCE:
        yield Problem(
            "handoff.source.skill", f"is `{in_quotes(source)}`, the schema has `{v2.STRICT_SOURCE}`"
        )
    if version == "3.0":
        yield from _tokens(handoff)


def _much(handoff: Mapping[str, Any]) -> Problem | None:
    much = integrity.too_much(handoff) if isinstance(get(handoff, "payload.working"), Mapping) else ""
    return Problem("handoff.payload", much) if much else None


def _tokens(handoff: Mapping[str, Any]) -> Iterator[Problem]:
    counted, said = sum(integrity.tiers(handoff).values()), get(handoff, "meta.token_count")
    if counted != said:
        yield Problem("handoff.meta.token_count", f"is {said}, counted are {counted}", severity=WARNING)


def _on_disk(version: str, handoff: Mapping[str, Any], asked: Asked) -> Iterator[Problem]:
    path = text_at(handoff, "session.session_dir" if version == "1.2" else "source.session_path")
    if not (os.path.isdir(path) and os.access(path, os.R_OK | os.X_OK)):
        field = "handoff.session.session_dir" if version == "1.2" else "handoff.source.session_path"
        told = f"is `{in_quotes(path)}`, which is no folder that can be read here"
        yield Problem(field, told, severity=ERROR if asked.sending else WARNING)
        return
    if (
        version != "1.2" and text_at(handoff, "source.skill") in SWARMS
    ):  # which may have any keys beside its own
        yield from _perspectives(version, handoff, path)


def _perspectives(version: str, handoff: Mapping[str, Any], path: str) -> Iterator[Problem]:
    where = {"1.0": "context", "2.0": "meta", "3.0": "payload.working"}[version]
    said, held = get(handoff, f"{where}.perspectives_completed"), perspective_files(path)
    if isinstance(said, int) and held and said != len(held):
        told = f"is {said}, the session holds {len(held)} files of perspectives"
        yield Problem(f"handoff.{where}.perspectives_completed", told)


def perspective_files(path: str) -> list[str]:
    """Return the files of perspectives in a session's folder: those below `perspectives/`, or named so."""
    inner = os.path.join(path, "perspectives")
    folder, every = (inner, True) if os.path.isdir(inner) else (path, False)
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    wanted = [name for name in names if every or name.startswith("perspective-")]
    return [name for name in wanted if name[:1] != "." and os.path.isfile(os.path.join(folder, name))]


def _whole(version: str, handoff: Mapping[str, Any]) -> Iterator[Problem]:
    if version not in {"2.0", "3.0"}:
        return
    digest, size = integrity.fingerprint(version, handoff)
    said, said_size = get(handoff, "meta.payload_hash"), get(handoff, "meta.payload_size_bytes")
    if said is None:
        told = "is missing, so nothing says that this is what was sent"
        yield Problem("handoff.meta.payload_hash", told, INTEGRITY, WARNING)
    elif isinstance(said, str) and said != digest:
        yield Problem("handoff.meta.payload_hash", f"is not that of the content, {digest}", INTEGRITY)
    if isinstance(said_size, int) and said_size != size:
        yield Problem("handoff.meta.payload_size_bytes", f"is {said_size}, counted are {size}", INTEGRITY)


def _in_time(version: str, handoff: Mapping[str, Any], asked: Asked) -> Iterator[Problem]:
    ends = integrity.expiry(version, handoff)
    if ends is not None and integrity.has_expired(ends, asked.now):
        severity = WARNING if asked.expired_is_fine else ERROR
        yield Problem("handoff.expires_at", f"has passed: {integrity.stamp(ends)}", EXPIRED, severity)
    made = integrity.moment(text_at(handoff, "timestamp"))
    if made is not None and integrity.is_early(made, asked.now):
        yield Problem("handoff.timestamp", f"has not come yet: {integrity.stamp(made)}", INVALID)


def _ignored(version: str, handoff: Mapping[str, Any]) -> Iterator[str]:
    """Yield the fields that the shape of an open version does not have."""
    if version == "3.0":
        return
    schema = MODELS[version].model_json_schema()
    yield from _strangers({"handoff": handoff}, schema, schema.get("$defs", {}), "")


def _strangers(value: Any, schema: Mapping[str, Any], shapes: Mapping[str, Any], path: str) -> Iterator[str]:
    for each in [schema, *schema.get("anyOf", ())]:
        known = shapes[each["$ref"].rpartition("/")[2]] if "$ref" in each else each
        if isinstance(value, Mapping) and "properties" in known:
            for key, item in value.items():
                inner = f"{path}.{key}".removeprefix(".")
                if key not in known["properties"]:
                    yield inner
                else:
                    yield from _strangers(item, known["properties"][key], shapes, inner)
        elif isinstance(value, list) and "items" in known:
            for index, item in enumerate(value):
                yield from _strangers(item, known["items"], shapes, f"{path}.{index}")
