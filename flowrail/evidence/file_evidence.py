"""Checks of files: they exist, changed since the step was entered, contain texts and items, and cite lines that exist."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from flowrail.evidence import citations, project_files
from flowrail.evidence.context import Context, Found
from flowrail.evidence.markdown_items import is_named, items_in, section_of
from flowrail.evidence.project_files import UnreadableError, relative
from flowrail.machines.demanded_evidence import Evidence, Verdict
from flowrail.storage.files import sha256_hex
from flowrail.text.phrases import count, joined
from flowrail.text.placeholders import fill
from flowrail.text.safe_text import shortened

MOST_SHOWN = 10
"""Wrong files or citations that a result names."""


def files_of(checks: Iterable[Evidence], folder: str, values: Mapping[str, object]) -> dict[str, str]:
    """Return the digests of the files, and parts of files, that must change.

    A pattern is among them, even if no file matches it. Files that cannot be read have no digest; their check says why.
    """
    digests: dict[str, str] = {}
    for check in checks:
        if check.changed:
            try:
                digests.setdefault(_named_path(check, folder, values), "")
                for path in paths_of(check, folder, values):
                    data = project_files.read(folder, path)
                    digests[_part_name(check, path)] = "" if data is None else _digest_of(_part(check, data))
            except UnreadableError:
                continue
    return digests


def _named_path(check: Evidence, folder: str, values: Mapping[str, object]) -> str:
    return relative(str(check.file or check.files), folder, values)


def paths_of(check: Evidence, folder: str, values: Mapping[str, object]) -> list[str]:
    """Return the files that a check looks at; a single file is among them even if it is missing."""
    path = _named_path(check, folder, values)
    return [path] if check.files is None else project_files.matching(folder, path)


def check_file(check: Evidence, context: Context) -> Found:
    """Check the file that is named."""
    path = paths_of(check, context.folder, context.values)[0]
    data = project_files.read(context.folder, path)
    if data is None:
        return Found(Verdict.MISSING, "no such file", f"write {path}")
    for problem in _problems_in(check, path, data, context):
        return Found(Verdict.FAIL, *problem)
    return Found(Verdict.PASS, count(len(data), "byte"))


def _part_name(check: Evidence, path: str) -> str:
    return f"{check.section} in {path}" if check.section else path


def _part(check: Evidence, data: bytes) -> bytes:
    """Return the part of a file that a check looks at."""
    if check.section is None:
        return data
    return section_of(data.decode("utf-8", "replace"), check.section).encode()


def _digest_of(part: bytes) -> str:
    """Return a digest of what a reader sees: of a text without its white space, of anything else as it is."""
    return sha256_hex(part if b"\0" in part else b"".join(part.split()))


def _problems_in(check: Evidence, path: str, data: bytes, context: Context) -> Iterator[tuple[str, str]]:
    """Yield each problem of a file, with its remedy. Later ones are looked for only if there are no earlier ones."""
    named, part = _part_name(check, path), _part(check, data)
    if check.changed:
        before = context.evidence.files
        if _named_path(check, context.folder, context.values) not in before:
            yield f"{path} was not recorded when the step was entered", "ask the user to waive the check"
        if before.get(named, "") == _digest_of(part):
            yield f"{named} unchanged since the step was entered", f"change {named}"
    if not part and check.section:
        yield f"{path} with nothing below {check.section}", f"write {named}"
    if len(part) < check.min_bytes:
        yield f"{named} has {count(len(part), 'byte')}", f"write more in {named}"
    demanded = [text for entry in check.contains for text in _texts_of(entry, context.values)]
    missing = [repr(text) for text in demanded if text.encode() not in part]
    if missing:
        yield f"{named} without {joined(_first(missing))}", f"add it to {named}"
    text = part.decode("utf-8", "replace")
    unnamed = [item for item in _items_to_cover(check, data, context) if not is_named(item, text)]
    if unnamed:
        yield f"{named} does not name {joined(_first(unnamed))}", f"say in {named} what becomes of each"
    if check.items is not None:
        yield from _problems_of_items(check, path, text, context.folder)
    if check.citations:
        yield from _problems_of_citations(check, path, text, context.folder)


def _texts_of(entry: str, values: Mapping[str, object]) -> list[str]:
    """Return the texts that *entry* demands: one for each item, if it is the `$name` of a list."""
    value = values.get(entry[1:]) if entry.startswith("$") else None
    return [str(item) for item in value] if isinstance(value, (list, tuple)) else [fill(entry, values)]


def _items_to_cover(check: Evidence, data: bytes, context: Context) -> Iterable[str]:
    """Return the ids that the checked part must name: those in a section of the file, or in another file."""
    if check.covers is None:
        return ()
    if check.covers.startswith("#"):
        source = section_of(data.decode("utf-8", "replace"), check.covers)
    else:
        other = relative(check.covers, context.folder, context.values)
        source = (project_files.read(context.folder, other) or b"").decode("utf-8", "replace")
    return dict.fromkeys(item.id for item in items_in(source, check.items or ""))


def _problems_of_items(check: Evidence, path: str, text: str, folder: str) -> Iterator[tuple[str, str]]:
    named, letter = _part_name(check, path), check.items or ""
    items = {item.id: item for item in items_in(text, letter)}
    if len(items) < check.at_least:
        wanted = f"{count(check.at_least, 'item')} {letter}1, {letter}2, …"
        yield f"{named} has {count(len(items), 'item')} with {letter} and a number", f"write {wanted} there"
    bare = [item.id for item in items.values() if not any(_proofs_in(item.text, path, folder))]
    if check.citations and bare:
        remedy = f'cite a line for each in {named}, with its words: FILE:LINE "words"'
        yield f"{named} has no citation with quoted words for {joined(_first(bare))}", remedy


def _proofs_in(text: str, path: str, folder: str) -> Iterator[citations.Citation]:
    """Yield the citations in *text* with quoted words, of other files than the citing one."""
    own = os.path.normpath(os.path.join(folder, path))
    for cited in citations.citations_in(text):
        meant = (os.path.join(start, cited.file) for start in (folder, os.path.dirname(own)))
        if cited.words.strip() and own not in map(os.path.normpath, meant):
            yield cited


def _problems_of_citations(check: Evidence, path: str, text: str, folder: str) -> Iterator[tuple[str, str]]:
    proofs = set(_proofs_in(text, path, folder))
    if len(proofs) < check.at_least and check.items is None:
        found = f"{_part_name(check, path)} has {count(len(proofs), 'citation')} with quoted words"
        yield found, f'cite lines in {path}, with their words: FILE:LINE "words"'
    wrong = citations.problems_of(folder, citations.citations_in(text), beside=path)
    if wrong:
        named = ", ".join(map(shortened, _first(wrong)))
        yield f"{path} has wrong citations: {named}", f"correct them in {path}"


def _first(texts: Sequence[str]) -> list[str]:
    """Return the first texts, and how many more there are."""
    more = [f"{len(texts) - MOST_SHOWN} more"] if len(texts) > MOST_SHOWN else []
    return [*texts[:MOST_SHOWN], *more]


def check_files(check: Evidence, context: Context) -> Found:
    """Check each file that matches the pattern; enough of them must hold."""
    paths = paths_of(check, context.folder, context.values)
    if not paths:
        return Found(Verdict.MISSING, "no matching file", "write the files")
    problems: list[tuple[str, str]] = []
    for path in paths:
        data = project_files.read(context.folder, path) or b""
        problems += islice(_problems_in(check, path, data, context), 1)
    good = len(paths) - len(problems)
    least = 1 if check.citations or check.items else check.at_least
    if good >= least and (check.changed or not problems):
        return Found(Verdict.PASS, count(good, "file"))
    if problems:
        return Found(Verdict.FAIL, ", ".join(_first([text for text, _ in problems])), problems[0][1])
    return Found(Verdict.FAIL, count(good, "file"), f"write {count(least - good, 'more file')}")
