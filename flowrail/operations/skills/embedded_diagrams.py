"""Generate the content of the marked blocks in documents from skills and workflows, without running their code.

    diagram     the workflow as Mermaid, in a fence
    svg         the workflow as a picture in a file beside the page
    steps       its steps with their transitions
    skills      the project's skills; with the word `bundled`, the bundled skills

The workflow is the one that the marker names, or that of the SKILL.md itself, or the one that the caller names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from flowrail.command import Command, Hint
from flowrail.diagrams.embedded import EmbeddedBlock, blocks, with_line_endings
from flowrail.diagrams.extract import picture
from flowrail.diagrams.renderers import mermaid, svg
from flowrail.diagrams.renderers.markdown import skills_table, steps_table
from flowrail.discovery.locations import Root, Scope, find_project_root
from flowrail.errors import DocumentError, FlowError
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.loading import workflow_source
from flowrail.machines.loading.skill_folder import entry_file
from flowrail.machines.loading.workflow_source import ReadFile
from flowrail.operations.skills.draw import drawable
from flowrail.skills.catalog import BUNDLED
from flowrail.skills.summary import definition_of, items
from flowrail.storage import files as storage_files
from flowrail.text.safe_text import decode

LARGEST_PAGE = 4_000_000
LARGEST_PICTURES = 20_000_000
"""Of the pictures beside one page together."""
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


class PictureElsewhereError(DocumentError):
    """A marker names a picture outside the page's project."""

    code = "PICTURE_ELSEWHERE"


class GeneratedBlock(NamedTuple):
    """A block of a page, and whether it is up to date; ``beside`` is the picture file that belongs to it."""

    page: str
    name: str
    subject: str
    line: int
    fresh: bool
    beside: str = ""


class Page(NamedTuple):
    """A page with its blocks generated again; ``files`` are the pictures beside it."""

    path: str
    before: str
    after: str
    made: tuple[GeneratedBlock, ...]
    files: Mapping[str, str]

    @property
    def fresh(self) -> bool:
        """Whether all blocks are up to date."""
        return all(each.fresh for each in self.made)


Maker = Callable[[Workflow], str]
OF_A_WORKFLOW: Mapping[str, Maker] = {
    "diagram": lambda workflow: f"```mermaid\n{mermaid.render(picture(workflow))}\n```",
    "steps": steps_table,
}
NAMES = (*OF_A_WORKFLOW, "svg", "skills")


def pages_below(path: str) -> Iterator[str]:
    """Yield *path* itself, or every Markdown page in a folder; hidden and foreign folders are left out."""
    if not os.path.isdir(path):
        yield path
        return
    for folder, folders, files in os.walk(path):
        folders[:] = sorted(
            each
            for each in folders
            if each not in _ELSEWHERE and (not each.startswith((".", "_")) or each in _SKILLS_OF)
        )
        yield from (os.path.join(folder, each) for each in sorted(files) if each.lower().endswith(PAGES))


def page(
    path: str, roots: Sequence[Root], *, default: str | None = None, read: ReadFile = workflow_source.read
) -> Page:
    """Return the page at *path* with its blocks generated again; nothing is written."""
    _refuse_elsewhere(path)
    data = storage_files.read_bounded(path, limit=LARGEST_PAGE, what="the page", follow=True)
    if b"<!-- flow:" not in data:
        return Page(path, "", "", (), {})
    before = decode(data, source=path)
    made: list[GeneratedBlock] = []
    beside: dict[str, str] = {}
    of = _Contents(path, roots, default, read)
    pieces: list[str] = []
    at, room = 0, LARGEST_PAGE - len(before)
    for block in blocks(before, source=path):
        if block.name not in NAMES:
            _check_name(path, block)
            continue
        subject, content, picture_text = of.block(block)
        stands = block.of(before)
        fresh = stands == content
        file = ""
        if block.name == "svg":
            file = _picture_file(path, block, of.name(block))
            of.take(0 if file in beside else len(picture_text), LARGEST_PICTURES, "its pictures", block)
            beside[file] = picture_text
            fresh = fresh and _text_of(file) == picture_text
        made.append(GeneratedBlock(path, block.name, subject, block.line, fresh, file))
        if stands != content:
            room -= len(content) - (block.end - block.start)
            if room < 0:
                raise _too_large("the page", LARGEST_PAGE, f"{path}:{block.line}")
            pieces += [before[at : block.start], with_line_endings(before, block, content)]
            at = block.end
    return Page(path, before, "".join((*pieces, before[at:])), tuple(made), beside)


class _Contents:
    """The contents of the blocks of one page, generated once for each workflow."""

    def __init__(self, path: str, roots: Sequence[Root], default: str | None, read: ReadFile) -> None:
        self.path, self.roots, self.default, self.read = path, roots, default, read
        self._made: dict[tuple[str, str | None], tuple[str, str, str]] = {}
        self._taken = 0

    def block(self, block: EmbeddedBlock) -> tuple[str, str, str]:
        """Return the subject of a block, its content, and the picture beside the page."""
        subject, made, name = self._of(block)
        if block.name == "svg":
            return subject, f"![The steps of {subject}]({_picture_name(block, name)})", made
        return subject, made, ""

    def name(self, block: EmbeddedBlock) -> str:
        """Return the name of the block's workflow."""
        return self._of(block)[2]

    def take(self, size: int, most: int, what: str, block: EmbeddedBlock) -> None:
        """Add to the size of the files beside the page, and refuse too much."""
        self._taken += size
        if self._taken > most:
            raise _too_large(what, most, f"{self.path}:{block.line}")

    def _of(self, block: EmbeddedBlock) -> tuple[str, str, str]:
        named = next((word for word in block.words if not word.endswith(".svg")), None)
        key = (block.name, str(BUNDLED in block.words) if block.name == "skills" else named)
        if key not in self._made:
            self._made[key] = self._make(block)
        return self._made[key]

    def _make(self, block: EmbeddedBlock) -> tuple[str, str, str]:
        if block.name == "skills":
            bundled = BUNDLED in block.words
            folder = os.path.dirname(os.path.abspath(self.path))
            return BUNDLED if bundled else "", skills(self.roots, folder, bundled=bundled, read=self.read), ""
        workflow, subject = _workflow(self.path, block, self.roots, self.default, self.read)
        if block.name == "svg":
            return subject, svg.render(picture(workflow)) + "\n", workflow.name
        return subject, content(block.name, workflow), workflow.name


def _too_large(what: str, most: int, place: str) -> DocumentError:
    return PageTooLargeError(
        f"with its blocks, {what} would have more than {most} characters",
        hint="remove some of its markers",
        place=place,
    )


def write(changed: Page) -> None:
    """Write a page and the pictures beside it if they are out of date."""
    for file, content in changed.files.items():
        if _text_of(file) != content:
            storage_files.make_dir(os.path.dirname(file))
            storage_files.write_atomic(file, content.encode(), mode=0o644, durable=False)
    if changed.after != changed.before:
        mode = os.stat(changed.path).st_mode & 0o777
        storage_files.write_atomic(
            os.path.realpath(changed.path), changed.after.encode(), mode=mode, durable=False
        )


def content(name: str, workflow: Workflow) -> str:
    """Return the block *name* of a workflow, in Markdown."""
    return OF_A_WORKFLOW[name](workflow)


def skills(
    roots: Sequence[Root], folder: str, *, bundled: bool, read: ReadFile = workflow_source.read
) -> str:
    """Return the table of the project's skills, or of the bundled ones, with links relative to *folder*."""
    found = [
        each
        for each in items(() if bundled else roots, read)
        if bundled or each["source"] not in {BUNDLED, str(Scope.GLOBAL.value)}
    ]
    above = {os.path.relpath(os.path.dirname(each["path"]), folder).replace(os.sep, "/") for each in found}
    near = len(above) == 1 and next(iter(above)).count("..") < 4  # noqa: PLR2004 - a skill farther away gets no link
    return skills_table(found, folder=next(iter(above)) if near else "")


def _picture_name(block: EmbeddedBlock, workflow: str) -> str:
    """Return the path of a block's picture relative to its page: the given one, or the workflow's name."""
    given = next((word for word in block.words if word.endswith(".svg")), None)
    return given or f"{workflow.replace('/', '-')}.svg"


def _picture_file(path: str, block: EmbeddedBlock, workflow: str) -> str:
    """Return the path of a block's picture, which must be in the project of its page."""
    folder, name = os.path.dirname(path), _picture_name(block, workflow)
    file = os.path.join(folder, name)
    project = _project_of(path)
    into = os.path.realpath(os.path.dirname(file))  # with links resolved
    if os.path.commonpath([project, into]) != project:
        raise PictureElsewhereError(
            f"the picture `{name[:80]}` would be outside the project",
            hint=f"name a file below {project}, relative to the page",
            place=f"{path}:{block.line}",
        )
    return os.path.join(into, os.path.basename(file))


def _refuse_elsewhere(path: str) -> None:
    """Refuse a page that is a link to a file outside its project."""
    if not os.path.islink(path):
        return
    project, real = _project_of(path), os.path.realpath(path)
    if os.path.commonpath([project, real]) != project:
        raise PageElsewhereError(
            f"the page is a link to {real}, outside the project",
            hint="remove the link, or name the page itself",
            place=path,
        )


def _project_of(path: str) -> str:
    return find_project_root(os.path.dirname(path) or os.curdir)


def _workflow(
    path: str, block: EmbeddedBlock, roots: Sequence[Root], default: str | None, read: ReadFile
) -> tuple[Workflow, str]:
    named = next((word for word in block.words if not word.endswith(".svg")), None)
    folder = os.path.dirname(os.path.abspath(path))
    own = os.path.basename(folder)
    is_card = os.path.basename(path).lower() == "skill.md" and entry_file(folder, own) is not None
    address = named or (own if is_card else default)
    if address is None:
        raise NoWorkflowError(
            f"the block `{block.name}` names no workflow",
            hint=Hint(
                f"write <!-- flow:{block.name} SKILL -->, or run ", Command("diagram", "SKILL", inject=path)
            ),
            place=f"{path}:{block.line}",
        )
    near = [Root(os.path.dirname(folder), Scope.EXTRA, "the page's own")] if is_card else []
    try:
        return drawable(*definition_of(address, [*near, *roots], read))[0], address
    except DocumentError:
        raise  # its message names the place
    except FlowError as error:
        place = f"{path}:{block.line}"
        error.message = f"{place}: {error.message}"
        error.details.setdefault("place", place)
        raise


def _check_name(path: str, block: EmbeddedBlock) -> None:
    close = get_close_matches(block.name, NAMES, n=1, cutoff=0.75)
    if close:
        raise UnknownBlockError(
            f"unknown block `{block.name}`", hint=f"did you mean `{close[0]}`?", place=f"{path}:{block.line}"
        )


def _text_of(file: str) -> str | None:
    try:
        data = storage_files.read_bounded(file, limit=LARGEST_PAGE, what="the picture", follow=True)
        return decode(data, source=file)
    except DocumentError:
        return None
