"""The chain of records: each has the number and the hash of the one before it, and reading checks both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, Protocol, TypeVar

from flowrail.storage.journal import DamagedError


class Chained(Protocol):
    """A record, a dataclass. The first of a chain has ``seq`` 0 and an empty ``prev``."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def seq(self) -> int:
        """The number of the record, counted from 0."""

    @property
    def prev(self) -> str:
        """The hash of the record before it."""

    @property
    def hash(self) -> str:
        """The hash of its line; empty until it is written."""


T = TypeVar("T", bound=Chained)


def forwards(lines: Iterable[bytes], decode: Callable[[bytes, int], T], place: str) -> Iterator[T]:
    """Yield the records in *lines*, oldest first, each checked against the one before it. *place* is for the error."""
    before = ""
    for number, text in enumerate(lines, start=1):
        record = decode(text, number)
        if record.prev != before or record.seq != number - 1:
            raise _broken(place, number)
        before = record.hash
        yield record


def backwards(
    newest: T, older: Iterable[bytes], decode: Callable[[bytes, int], T], place: str
) -> Iterator[T]:
    """Yield *newest* and the records in the lines before it, each checked against the one after it."""
    yield newest
    after = newest
    for text in older:
        record = decode(text, after.seq)
        if (record.seq, record.hash) != (after.seq - 1, after.prev):
            raise _broken(place, after.seq + 1)
        yield record
        after = record


def _broken(place: str, number: int) -> DamagedError:
    return DamagedError(place, number, "the record does not follow the one before it")
