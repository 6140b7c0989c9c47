"""The readers of foreign documents, with the properties that each must have for any bytes.

Fuzz one of them: ``python tests/fuzz/targets.py NAME FOLDER SECONDS``. FOLDER receives the first documents, and every
input that covers more code.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))


def frontmatter(data: bytes) -> None:
    """Any file can be read as a SKILL.md; problems are values."""
    from flowrail.discovery.declaration import read_declaration
    from flowrail.discovery.frontmatter import read_frontmatter

    read_declaration(read_frontmatter(data, "SKILL.md"))


def yaml(data: bytes) -> None:
    """A document is refused, or its data is equal after writing and reading it."""
    from flowrail.errors import DocumentError
    from flowrail.text import yaml as yaml_text

    for plain_text in (False, True):
        try:
            value = yaml_text.load(data, source="x", plain_text=plain_text).value
        except DocumentError:
            continue
        try:
            written = yaml_text.dump(value)
        except DocumentError:
            continue  # the written form may exceed the size limit
        assert repr(yaml_text.load(written, source="y").value) == repr(value), written


def workflow(data: bytes) -> None:
    """A workflow has errors, or is equal after it was stored and loaded."""
    from flowrail.machines.loading.skill_folder import WorkflowFile
    from flowrail.machines.loading.workflow_source import read
    from flowrail.machines.plain_form import from_plain, to_plain

    found = read(WorkflowFile("evil", "/skills/evil", "workflow.yaml", "steps"), {"workflow.yaml": data})
    if not any(each.severity == "error" for each in found.findings):
        kept = to_plain(found.definition)
        assert to_plain(from_plain(json.loads(json.dumps(kept)))) == json.loads(json.dumps(kept))


def payload(data: bytes) -> None:
    """A payload is refused, or validated."""
    from datetime import UTC, datetime

    from flowrail.errors import DocumentError
    from flowrail.handoff.payload.check import CheckRules, check_payload
    from flowrail.handoff.payload.document import read

    try:
        found = read(data, source="payload")
    except DocumentError:
        return
    check_payload(found, CheckRules(datetime(2026, 2, 4, tzinfo=UTC)))


def session(data: bytes) -> None:
    """A record with a correct hash is read, or reported as damaged or missing."""
    import tempfile

    from flowrail.errors import StorageError
    from flowrail.machines.session_store import Store, UnknownSessionError
    from flowrail.storage.file_store import FileBackend
    from flowrail.storage.user_mark import Owner

    body = data.removesuffix(b"}")
    digest = sha256(body).hexdigest().encode()
    for line in (body + b',"hash":"' + digest + b'"}\n', data):
        with tempfile.TemporaryDirectory() as folder:
            store = Store(FileBackend(folder, Owner(folder)))
            path = Path(store.folder("a-abcdef"), "journal.jsonl")
            path.parent.mkdir(mode=0o700, parents=True)
            path.write_bytes(line)
            try:
                list(store.records("a-abcdef", foreign=True))
            except (StorageError, UnknownSessionError):
                continue


def definition(data: bytes) -> None:
    """A stored definition is loaded, or refused with one of the expected errors."""
    from flowrail.machines.plain_form import from_plain, to_plain

    try:
        value = json.loads(data)
        kept = from_plain(value)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return
    to_plain(kept)


def instructions(data: bytes) -> None:
    """Instructions become well-formed XML."""
    from flowrail.formatters.blocks.fences import fence_problems, with_blocks
    from flowrail.text.safe_text import content

    text = data.decode("utf-8", "replace")
    list(fence_problems(text))
    ET.fromstring("<a>" + "\n".join(map(content, with_blocks(text, str))) + "</a>")  # noqa: S314 - made here


TARGETS: dict[str, Callable[[bytes], None]] = {
    each.__name__: each
    for each in (
        frontmatter,
        yaml,
        workflow,
        payload,
        session,
        definition,
        instructions,
    )
}


def first_documents(name: str) -> Iterator[bytes]:
    """Yield the first documents: correct ones, and small hostile ones."""
    from support import hostile_documents
    from support.payloads import FILES, PAYLOADS
    from support.sandbox import ASKING, CARD, HANDLER, SMALL

    json_documents, yaml_documents = hostile_documents.json_documents, hostile_documents.yaml_documents
    documents: dict[str, Callable[[], Iterator[tuple[str, bytes]]]] = {
        "frontmatter": hostile_documents.cards, "yaml": yaml_documents, "workflow": yaml_documents,
        "payload": json_documents, "session": json_documents,
        "definition": json_documents, "instructions": hostile_documents.step_texts,
    }  # fmt: skip
    yield from (data for _, data in documents[name]() if len(data) <= LONGEST) if name in documents else ()
    yield from (text.encode() for text in (ASKING, CARD, HANDLER, SMALL))
    yield from ((PAYLOADS / file).read_bytes() for file in FILES.values())
    skills = Path(__file__).parents[2] / "flowrail" / "bundled"
    yield from (path.read_bytes()[:LONGEST] for path in sorted(skills.glob("*/workflow.yaml")))
    yield from (path.read_bytes()[:LONGEST] for path in sorted(skills.glob("*/steps/*.md"))[:40])
    if name in {"session", "definition"}:
        yield from _kept(name)


def _kept(name: str) -> Iterator[bytes]:
    from support.workflows import linear, loop

    from flowrail.machines.plain_form import to_plain
    from flowrail.machines.session_record import Record
    from flowrail.machines.transition import start
    from flowrail.storage.converter import to_plain as plain
    from flowrail.storage.journal import line_of

    for made in (linear("a", "b"), loop()):
        if name == "definition":
            yield json.dumps(to_plain(made)).encode()
        else:
            record = Record(0, "start", "2026-01-01", "me", start(made, session_id="a-abcdef"), {}, "")
            yield line_of(plain(record))[0].rpartition(b',"hash":')[0] + b"}"


LONGEST = 8_192


def main(name: str, folder: str, seconds: str) -> None:
    """Fuzz one target for some seconds, guided by coverage."""
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["flowrail"]):
        TARGETS[name](b"{}")  # imports the modules of the target first, so that they are instrumented
    for number, data in enumerate(first_documents(name)):
        Path(folder, f"begin-{number:04}").write_bytes(data)
    options = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", "-timeout=20", "-rss_limit_mb=1500"]
    atheris.Setup([sys.argv[0], *options, f"-artifact_prefix={folder}/found-", folder], TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
