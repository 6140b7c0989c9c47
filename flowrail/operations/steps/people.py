"""Decisions that only a person makes: who may record one, and how an agent's user learns where.

A person is who types `yes` at a terminal without a host's conversation, or answers on the page of `flow ui`, or in the
question tool of the host, whose result a hook saw.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress

from flowrail.command import Command, Hint
from flowrail.errors import ConflictError, FlowError, NotConfirmedError, TrustError
from flowrail.machines.session import AT_TERMINAL
from flowrail.operations.environment import Confirmation, Environment
from flowrail.storage import files
from flowrail.storage.files import sha256_hex

_LONGEST = 2_000


def require_person(
    environment: Environment,
    what: str,
    question: str,
    lines: Sequence[str],
    typed: Command,
    session_id: str = "",
) -> str:
    """Return the way in which a person at the terminal decides, after a `yes`; refuse anybody else.

    *what* is the decision, *typed* the command with which a person makes it. The person reads the *lines* before the
    *question*. *session_id* is the session that asks for it: then its page and the host's question tool take it, too.
    """
    try:
        environment.confirm(Confirmation(question, lines, Hint("a person runs: ", typed)))
    except NotConfirmedError:
        raise
    except TrustError:
        raise person_needed(environment, what, typed, session_id) from None
    return AT_TERMINAL


def person_needed(environment: Environment, what: str, typed: Command, session_id: str) -> ConflictError:
    """Return the refusal of a decision that does not come from a person; it says how the user decides."""
    page = page_address(environment, session_id) if session_id else ""
    where = f"to decide on the page {page} or" if page else "to type"
    mark = environment.agent_mark if environment.at_terminal else ""
    here = f" (here `{mark}` marks the shell of an agent)" if mark else ""
    elsewhere = ", on the `flow ui` page, or in the host's question tool" if session_id else ""
    return ConflictError(
        f"only a person can {what}: at a terminal without an agent{here}{elsewhere}",
        code="PERSON_NEEDED",
        hint=Hint(
            f"tell the user what the decision is about, and ask them {where} in a terminal of their own: ",
            str(typed),
        ),
        **({"session": session_id} if session_id else {}),
    )


# --- the page of `flow ui` that is open now


def page_address(environment: Environment, session_id: str) -> str:
    """Return the address of a session on the open page that takes answers, without its token; empty if none is open."""
    with suppress(FlowError, OSError, ValueError, KeyError, TypeError):
        data = files.read_bounded(_page_file(environment), limit=_LONGEST, what="the address of the page")
        page = json.loads(data)
        os.kill(int(page["pid"]), 0)  # fails if the server has ended
        return f"{page['address']}/sessions/{session_id}"
    return ""


def announce_page(environment: Environment, address: str) -> str:
    """Record where the page that takes answers is open; return the path of that file, to remove at its end."""
    path = _page_file(environment)
    files.make_private_dir(environment.state)
    text = json.dumps({"address": address, "pid": os.getpid()})
    files.write_atomic(path, text.encode(), mode=0o600, durable=False)
    return path


def _page_file(environment: Environment) -> str:
    return os.path.join(
        environment.state,
        f"page-{sha256_hex((environment.store.address or environment.store.path).encode())[:16]}.json",
    )
