"""What a command prints: the answer to standard output, everything else to standard error, questions to the terminal.

Output of an author's code, or of a program that it starts, goes to standard error. A reader that closed the pipe is not
an error. An answer that cannot be written (a full disk, a closed stream) is an error; the work is stored by then, and
the next command shows it.

Piped input cannot answer a question to the person, and without a terminal the question is refused.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from typing import TYPE_CHECKING, Any, TextIO

import click

from flowrail.command import Command, Hint
from flowrail.errors import ONLY_A_PERSON, FlowError, NotConfirmedError, StorageError, TrustError
from flowrail.text.safe_text import bounded, error_data, json_visible, one_line, visible

if TYPE_CHECKING:
    from flowrail.cli.console import Terminal
    from flowrail.operations.environment import Confirmation
    from flowrail.text.report import Report


def usual_form() -> str:
    """Return the default output format."""
    return "text" if is_for_people() else "xml"


def text(message: str) -> None:
    """Print one answer, with control characters made visible."""
    put(f"{visible(message)}\n")


def lines(texts: Iterable[str]) -> None:
    """Print one answer of several lines, or of none."""
    put("".join(f"{visible(shown)}\n" for shown in texts))


def report(content: Report) -> None:
    """Print a report: as the terminal shows it, or as plain text in a pipe."""
    together()
    if is_for_people():
        put(terminal().rendered(content))
    else:
        lines(
            shown for part in content for shown in ((part,) if isinstance(part, str) else part.plain_lines())
        )


def terminal() -> Terminal:
    """Return the terminal that standard output is, with what the options of the command say about it."""
    from flowrail.cli.console import Terminal  # imports rich

    return Terminal(width(), has_color=has_color())


def data(value: object) -> None:
    """Print plain data as one JSON document."""
    put(f"{document(value)}\n")


def document(value: object) -> str:
    """Return plain data as one JSON document, as it is printed."""
    import json  # 0.9 ms, which help does without

    return json_visible(json.dumps(value, ensure_ascii=False, indent=1, default=_plain))


def _plain(value: Any) -> object:
    return str(value) if isinstance(value, (Command, Hint)) else list(value)


def notes(lines: Iterable[str]) -> None:
    """Print notes for the user on standard error."""
    for line in lines:
        tell(f"flow: {bounded(one_line(line))}\n")


def refuse(error: FlowError, *, as_json: bool) -> int:
    """Print an error and return its exit status."""
    if as_json:
        import json  # 0.9 ms, which help does without

        try:
            body = {"error": error_data(error)}
            put(f"{json.dumps(body, ensure_ascii=True, indent=1, default=str)}\n")
        except AnswerLostError:
            as_json = False
    if not as_json:
        # text quoted in a message or a hint cannot look like another message: further lines are indented
        message = "\n    ".join(map(str.strip, visible(bounded(error.message)).split("\n")))
        hint = visible(bounded(str(error.hint))).strip().replace("\n", "\n    ")
        tell(f"flow: {message} [{error.code}]\n  {hint}\n")
    return error.exit_status


_commands: list[ExitStack] = []


class AnswerLostError(StorageError):
    """The answer could not be written; the work was stored."""

    code = "ANSWER_LOST"


@contextmanager
def answering() -> Iterator[None]:
    """Prepare the streams for one command, and flush them at its end."""
    _fill_gaps()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # characters that UTF-8 cannot encode are escaped as in JSON
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    _commands.append(ExitStack())
    try:
        yield
    finally:
        _commands.pop().close()
        put("")


def keep_apart() -> None:
    """Send all further output to standard error, until the next answer."""
    if not _commands:
        return  # no command runs: standard output is not ours
    together()
    sys.stdout.flush()
    with suppress(OSError):  # the descriptor is closed
        descriptor = os.dup(1)
        os.dup2(2, 1)
        _commands[-1].callback(os.close, descriptor)
        _commands[-1].callback(os.dup2, descriptor, 1)
    _commands[-1].enter_context(redirect_stdout(sys.stderr))


def together() -> None:
    """Use standard output for the answer again."""
    if _commands:
        _commands[-1].close()


def put(part: str) -> None:
    """Write and flush a part of the answer."""
    together()
    with _answer_or_refusal():
        sys.stdout.write(part)
        sys.stdout.flush()


def streaming() -> Callable[[bytes], None]:
    """Return a function that prints the output of a command while it runs, with invisible characters shown."""
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    return lambda data: put(visible(decode(data)))


@contextmanager
def _answer_or_refusal() -> Iterator[None]:
    """Stop writing to standard output if it fails; that is an error unless the reader closed the pipe."""
    try:
        yield
    except BrokenPipeError:
        _give_up(sys.stdout)
    except OSError as error:
        _give_up(sys.stdout)
        raise AnswerLostError(
            f"the answer could not be written ({error.strerror})",
            hint=Hint("what was done is kept; see the current step: ", Command("resume")),
        ) from None


def tell(message: str) -> None:
    """Write to standard error; a failure is ignored."""
    try:
        sys.stderr.write(message)
        sys.stderr.flush()
    except OSError:
        _give_up(sys.stderr)


def _give_up(stream: TextIO) -> None:
    """Discard the rest of a stream; otherwise Python fails on it again at exit."""
    null_device = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null_device, stream.fileno())
    os.close(null_device)


def _fill_gaps() -> None:
    """Replace closed standard streams, so that no journal gets their descriptor.

    Input is empty, notes are discarded, and writing an answer fails.
    """
    for number, how in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, how)  # the lowest free number, which is this one
    if not os.get_blocking(1):
        os.set_blocking(1, True)  # another process may have made it non-blocking, which would cut the answer
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            stream = open(number, "w" if number else "r", encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)


COLORS = ("auto", "always", "never")
_COLOR = "flowrail.color"


def keep_color(context: click.Context, _param: click.Parameter, value: str | None) -> None:
    """Keep the value of `--color` for the command that runs."""
    if value is not None:
        context.meta[_COLOR] = value


def is_for_people() -> bool:
    """Return whether output adapts to a terminal: it is one, or `--color always` asks for it."""
    return sys.stdout.isatty() or _color() == "always"


def width() -> int:
    """Return the columns of the terminal."""
    import shutil  # 1.5 ms with its compressors, which only output for a terminal needs

    return max(20, shutil.get_terminal_size().columns)


def has_color() -> bool:
    """Return whether a terminal is coloured: not with `--color never`, `NO_COLOR` or a terminal without colours."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return _color() == "always" or (_color() == "auto" and not plain)


def _color() -> str:
    context = click.get_current_context(silent=True)
    return str(context.meta.get(_COLOR, "auto")) if context is not None else "auto"


def is_shown_to_person() -> bool:
    """Return whether standard output is the terminal that `ask` uses; another terminal may belong to another user."""
    try:
        return sys.stdout.isatty() and os.tcgetpgrp(sys.stdout.fileno()) == os.getpgrp()
    except OSError:
        return False


def indented(texts: Iterable[str]) -> str:
    """Return texts as one line each. Those that begin with a blank are indented."""
    return "\n".join(f"{'  ' * text.startswith(' ')}{one_line(text)}" for text in texts)


def confirm(asked: Confirmation) -> None:
    """Show what a person decides about, and ask at the terminal."""
    shown = indented(asked.lines)
    together()  # what a person decides about is part of the answer
    is_seen = is_shown_to_person()
    if is_seen:
        text(shown)
    ask(asked.question, shown="" if is_seen else shown, hint=asked.hint, digest=asked.digest)
    keep_apart()


def ask(question: str, *, shown: str, hint: str | Hint, **details: Any) -> None:
    """Ask a question that only `yes` answers; raise `TrustError` with *hint* for any other answer.

    What the question is about is *shown* on the terminal first, unless that is empty.
    """
    try:
        with open("/dev/tty", "r+b", buffering=0) as terminal:
            terminal.write(f"{shown}\n".encode() if shown else b"")
            terminal.write(f"{question} Type yes: ".encode())
            answer = terminal.readline(64).strip().lower()
    except OSError:
        raise TrustError(ONLY_A_PERSON, hint=hint, **details) from None
    if answer != b"yes":
        typed = one_line(answer.decode(errors="replace"))
        raise NotConfirmedError(
            f"nothing was recorded: only `yes` confirms, and the answer was `{typed}`",
            hint="run the command again to decide",
            **details,
        )
