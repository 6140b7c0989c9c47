"""The command that draws workflows and sessions."""

from __future__ import annotations

import os
import tempfile
import webbrowser
from collections.abc import Iterator, Sequence
from urllib.parse import quote

import click

from flowrail.cli import options, output, pictures
from flowrail.cli.environment import SessionCall
from flowrail.cli.workflow_reading import reader
from flowrail.command import Command, Hint
from flowrail.diagrams.extract import picture
from flowrail.diagrams.session_trace import with_trace
from flowrail.errors import FlowError, UsageError
from flowrail.machines.loading.workflow_source import ReadFile
from flowrail.operations.environment import Environment
from flowrail.operations.skills import draw, embedded_diagrams
from flowrail.storage.files import MissingFileError, NotRegularFileError
from flowrail.text.phrases import count


class StaleError(FlowError):
    """The blocks of a page differ from what the skills generate."""

    code = "BLOCKS_STALE"


@SessionCall.command(
    "diagram",
    "flow diagram problem-analysis",
    "flow diagram problem-analysis -o picture.svg",
    "flow diagram problem-analysis --open",
    "flow diagram problem-analysis --session problem-analysis-k3x9q2 --format svg",
    "flow diagram --inject README.md --check",
)
@click.argument("skill", required=False, shell_complete=options.complete("skills"))
@pictures.form
@pictures.session
@pictures.into
@click.option(
    "--open",
    "opens",
    is_flag=True,
    help="Open the picture: the file of --output, or an SVG in the browser.",
)
@click.option(
    "--inject",
    "pages",
    multiple=True,
    metavar="PATH",
    help="Rewrite the marked blocks of this page, or of all pages in this folder. May be repeated.",
)
@click.option(
    "--check", is_flag=True, help="With --inject: list the blocks that differ, write nothing, exit 1 if any."
)
@options.run
@options.root
@options.store
def diagram_command(
    call: SessionCall,
    skill: str | None,
    session_id: str | None,
    into: str | None,
    opens: bool,
    pages: tuple[str, ...],
    check: bool,
    run_code: bool,
) -> int:
    """Draw a workflow, or a session on it

    With --session: the current step, the path so far with counts and times, and the steps left. png needs
    `pip install 'flowrail[png]'`. With --inject: the blocks diagram, steps and skills of Markdown pages, between
    comments such as <!-- flow:steps SKILL --> and <!-- /flow:steps -->. Runs no
    code of the skill without --run.
    """
    if pages:
        others = {"--session": session_id, "--output": into, "--open": opens}
        refused_options = [name for name, value in others.items() if value]
        if call.form not in {None, "mermaid", "json"}:
            refused_options.append(f"--format {call.form}")
        if refused_options:
            raise UsageError(
                f"{refused_options[0]} applies to a single picture, and --inject to the blocks of pages",
                hint="leave one of them out; the name of a block decides its content",
            )
        return _inject(call, skill, pages, run_code=run_code, check=check)
    if check:
        raise UsageError("--check needs --inject", hint=Command("diagram", inject="PATH", check=True))
    if skill is None and session_id is None:
        raise UsageError("a skill or a session is needed", hint=Hint("see the skills: ", Command("list")))
    if opens and into is None:
        into = _temporary_file(skill or session_id or "", call.form or "svg")
    call.form = pictures.format_of(call.form, into)
    environment = call.environment
    read = reader(call.roots, run_code=run_code)
    if session_id is not None:
        subject = draw.of_session(session_id, skill, environment.store)
    else:
        subject = draw.of_skill(skill or "", environment.roots, read)
    output.notes(_missing_parts(subject))
    pictures.put(with_trace(picture(subject.workflow), subject.records), call.form, into=into)
    if opens:
        webbrowser.open(f"file://{quote(os.path.abspath(str(into)))}")
    return 0


def _missing_parts(subject: draw.Subject) -> Iterator[str]:
    """Yield what is left out of a drawing, and why."""
    if subject.computed:
        yield "parts of the workflow are only known when its Python runs, and are left out: add --run"
    if subject.errors:
        errors = count(subject.errors, "error")
        line = Command("check", subject.address)
        yield f"`{subject.address}` has {errors} and is drawn as far as it goes: {line}"


def _temporary_file(name: str, extension: str) -> str:
    """Return a file in a new folder, for a picture that is opened and not kept."""
    return os.path.join(tempfile.mkdtemp(prefix="flow-"), f"{name.replace('/', '-')}.{extension}")


def _inject(
    call: SessionCall, skill: str | None, paths: Sequence[str], *, run_code: bool, check: bool
) -> int:
    """Write the blocks of pages again, or only check them; return the exit status."""
    generated = list(_pages(skill, paths, call.environment, reader(call.roots, run_code=run_code)))
    stale = [block for page in generated for block in page.made if not block.fresh]
    if not check:
        for page in generated:
            embedded_diagrams.write(page)
    if call.as_json:
        output.data({"blocks": [block._asdict() for page in generated for block in page.made]})
        return 1 if check and stale else 0
    if check and stale:
        raise StaleError(
            f"{len(stale)} {'block is' if len(stale) == 1 else 'blocks are'} out of date: "
            + ", ".join(f"{block.page}:{block.line} {block.name}" for block in stale[:20]),
            hint=Command(
                "diagram",
                *([skill] if skill else []),
                inject=tuple(paths),
                run=run_code,
                root=tuple(call.roots),
            ),
            blocks=[block._asdict() for block in stale],
        )
    blocks = count(sum(len(page.made) for page in generated), "block")
    pages = count(sum(bool(page.made) for page in generated), "page")
    lines = [f"{block.page}:{block.line} {block.name} {block.subject}".rstrip() for block in stale]
    output.text("\n".join([*lines, f"{blocks} in {pages}, {len(stale)} rewritten"]))
    return 0


def _pages(
    skill: str | None, paths: Sequence[str], environment: Environment, read: ReadFile
) -> Iterator[embedded_diagrams.Page]:
    """Yield each page with its blocks generated again. Files in a folder that are not pages are ignored."""
    if not all(paths):
        raise UsageError("--inject is empty", hint="name a page, or a folder of pages")
    for named in map(_normal, paths):
        for path in embedded_diagrams.pages_below(named):
            try:
                yield embedded_diagrams.page(path, environment.roots, default=skill, read=read)
            except (MissingFileError, NotRegularFileError, embedded_diagrams.PageElsewhereError) as error:
                if path == named:
                    raise
                output.notes([f"{error.message}; left alone"])


def _normal(path: str) -> str:
    """Return a path without `.` and `..`, unless that is another file because of a link."""
    normal = os.path.normpath(path)
    return normal if os.path.realpath(normal) == os.path.realpath(path) else path
