"""Generate the content of the marked blocks in documents from skills and workflows, without running their code.

    diagram     the workflow as Mermaid, in a fence
    steps       its steps with their transitions
    skills      the project's skills; with the word `bundled`, the bundled skills

The marker names the workflow. Without a name, it is that of the SKILL.md itself, or the caller's default.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from flowrail.command import Command, Hint
from flowrail.diagrams.embedded import EmbeddedBlock, blocks, with_line_endings
from flowrail.diagrams.extract import picture
from flowrail.diagrams.renderers import mermaid
from flowrail.diagrams.renderers.markdown import skills_table, steps_table
from flowrail.discovery.locations import BUNDLED, Root, Scope, find_project_root
from flowrail.errors import DocumentError, FlowError
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.loading import workflow_source
from flowrail.machines.loading.skill_folder import entry_file
from flowrail.machines.loading.workflow_source import ReadFile
from flowrail.operations.skills.draw import drawable
from flowrail.skills.summary import definition_of, items
from flowrail.storage import files as storage_files
from flowrail.text.safe_text import decode

LARGEST_PAGE = 4_000_000
PAGES = (".md", ".markdown")
_ELSEWHERE = frozenset({"node_modules", "venv", "__pycache__", "site-packages", "dist", "build"})
_SKILLS_OF = frozenset({".claude", ".agents", ".github"})


class UnknownBlockError(DocumentError):
    """A marker misspells the name of a block."""

    code = "UNKNOWN_BLOCK"


class NoWorkflowError(DocumentError):
    """A marker does not say which workflow it means."""

    code = "BLOCK_WITHOUT_WORKFLOW"


class PageElsewhereError(DocumentError):
    """A page is a link out of the project, so it is not rewritten."""

    code = "PAGE_ELSEWHERE"


class PageTooLargeError(DocumentError):
    """A page would grow past the size limit for reading it."""

    code = "PAGE_TOO_LARGE"


class GeneratedBlock(NamedTuple):
    """A block of a page, and whether it is up to date."""

    page: str
    name: str
    subject: str
    line: int
    fresh: bool


class Page(NamedTuple):
    """A page with its blocks generated again."""

    path: str
    before: str
    after: str
    made: tuple[GeneratedBlock, ...]

    @property
    def fresh(self) -> bool:
        """Whether all blocks are up to date."""
        return all(block.fresh for block in self.made)


OF_A_WORKFLOW: Mapping[str, Callable[[Workflow], str]] = {
    "diagram": lambda workflow: f"```mermaid\n{mermaid.render(picture(workflow))}\n```",
    "steps": steps_table,
}
NAMES = (*OF_A_WORKFLOW, "skills")


def pages_below(path: str) -> Iterator[str]:
    """Yield *path* itself, or every Markdown page in a folder; hidden and foreign folders are left out."""
    if not os.path.isdir(path):
        yield path
        return
    for folder, folders, files in os.walk(path):
        folders[:] = sorted(
            name
            for name in folders
            if name not in _ELSEWHERE and (not name.startswith((".", "_")) or name in _SKILLS_OF)
        )
        yield from (os.path.join(folder, name) for name in sorted(files) if name.lower().endswith(PAGES))


def page(
    path: str, roots: Sequence[Root], *, default: str | None = None, read: ReadFile = workflow_source.read
) -> Page:
    """Return the page at *path* with its blocks generated again; nothing is written."""
    _refuse_elsewhere(path)
    data = storage_files.read_bounded(path, limit=LARGEST_PAGE, what="the page", follow=True)
    if b"<!-- flow:" not in data:
        return Page(path, "", "", ())
    before = decode(data, source=path)
    made: list[GeneratedBlock] = []
    pieces: list[str] = []
    position = size = 0
    known: dict[tuple[str, ...], tuple[str, str]] = {}
    for block in blocks(before, source=path):
        if block.name not in NAMES:
            _check_name(path, block)
            continue
        key = (block.name, *block.words)
        if key not in known:
            known[key] = _generated(path, block, roots, default, read)
        subject, content = known[key]
        fresh = block.of(before) == content
        made.append(GeneratedBlock(path, block.name, subject, block.line, fresh))
        if not fresh:
            pieces += [before[position : block.start], with_line_endings(before, block, content)]
            size += block.start - position + len(content)
            position = block.end
            if size > LARGEST_PAGE:
                raise PageTooLargeError(
                    f"with its blocks, the page would have more than {LARGEST_PAGE} characters",
                    hint="remove some of its markers",
                    place=f"{path}:{block.line}",
                )
    return Page(path, before, "".join((*pieces, before[position:])), tuple(made))


def write(changed: Page) -> None:
    """Write a page if it is out of date."""
    if changed.after != changed.before:
        mode = os.stat(changed.path).st_mode & 0o777
        storage_files.write_atomic(
            os.path.realpath(changed.path), changed.after.encode(), mode=mode, durable=False
        )


def skills(
    roots: Sequence[Root], folder: str, *, bundled: bool, read: ReadFile = workflow_source.read
) -> str:
    """Return the table of the project's skills, or of the bundled ones, with links relative to *folder*."""
    listed = [
        item
        for item in items(() if bundled else roots, read)
        if bundled or item["source"] not in {BUNDLED, str(Scope.GLOBAL.value)}
    ]
    above = {os.path.relpath(os.path.dirname(item["path"]), folder).replace(os.sep, "/") for item in listed}
    is_near = len(above) == 1 and next(iter(above)).count("..") < 4  # noqa: PLR2004 - a skill farther away gets no link
    return skills_table(listed, folder=next(iter(above)) if is_near else "")


def _refuse_elsewhere(path: str) -> None:
    """Refuse a page that is a link to a file outside its project."""
    project, real = find_project_root(os.path.dirname(path) or os.curdir), os.path.realpath(path)
    if os.path.islink(path) and os.path.commonpath([project, real]) != project:
        raise PageElsewhereError(
            f"the page is a link to {real}, outside the project",
            hint="remove the link, or name the page itself",
            place=path,
        )


def _generated(
    path: str, block: EmbeddedBlock, roots: Sequence[Root], default: str | None, read: ReadFile
) -> tuple[str, str]:
    """Return the subject of a block, and its content."""
    folder = os.path.dirname(os.path.abspath(path))
    if block.name == "skills":
        bundled = BUNDLED in block.words
        return BUNDLED if bundled else "", skills(roots, folder, bundled=bundled, read=read)
    own = os.path.basename(folder)
    is_card = os.path.basename(path).lower() == "skill.md" and entry_file(folder, own) is not None
    address = next(iter(block.words), own if is_card else default)
    location = f"{path}:{block.line}"
    if address is None:
        raise NoWorkflowError(
            f"the block `{block.name}` names no workflow",
            hint=Hint(
                f"write <!-- flow:{block.name} SKILL -->, or run ", Command("diagram", "SKILL", inject=path)
            ),
            place=location,
        )
    own_root = [Root(os.path.dirname(folder), Scope.EXTRA, "the page's own")] if is_card else []
    try:
        workflow, _ = drawable(*definition_of(address, [*own_root, *roots], read))
    except DocumentError:
        raise  # its message names the place
    except FlowError as error:
        error.message = f"{location}: {error.message}"
        error.details.setdefault("place", location)
        raise
    return address, OF_A_WORKFLOW[block.name](workflow)


def _check_name(path: str, block: EmbeddedBlock) -> None:
    close = get_close_matches(block.name, NAMES, n=1, cutoff=0.75)
    if close:
        raise UnknownBlockError(
            f"unknown block `{block.name}`", hint=f"did you mean `{close[0]}`?", place=f"{path}:{block.line}"
        )
