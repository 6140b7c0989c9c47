"""The skills that a piece of work came through, and when the chain must end.

A skill never hands off to itself. A skill that had the work before needs consent and a reason. A chain of
more than five skills needs the user's approval. An agent can claim consent and approval, so hops are also
counted from our own records, and nothing lifts the limit of eight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flowrail.handoff.handoff import Handoff
from flowrail.machines.sessions.session import Session
from flowrail.text.safe_text import visible

LONG_CHAIN = 5
MAX_HOPS = 8
LOOP = "LOOP"
"""The code of the verdict if the target had the work before."""

_MAX_SHOWN, _MAX_NAME = 16, 80
_LOOP_HINT = "add `--yes` and `--reason WHY` if the user wants this"


@dataclass(frozen=True)
class ChainVerdict:
    """Whether the chain may grow. An empty code means yes."""

    code: str = ""
    message: str = ""
    hint: str = ""
    fixable: bool = False

    @property
    def allowed(self) -> bool:
        """Whether the work may go to the target."""
        return not self.code


def extend_chain(chain: Sequence[str], source: str) -> tuple[str, ...]:
    """Return the chain with *source* at its end."""
    return tuple(chain) if chain and chain[-1] == source else (*chain, source)


def chain_of(session: Session) -> tuple[str, ...]:
    """Return the skills that a session's work came through, its own skill last."""
    return extend_chain(session.received.chain if session.received else (), session.skill)


def format_chain(chain: Sequence[str], target: str) -> str:
    """Return the chain as text, the target last. Only the end of a very long chain is shown."""
    names = [*chain, target]
    shortened_names = [
        name if len(name) <= _MAX_NAME else f"{name[:_MAX_NAME]}…" for name in names[-_MAX_SHOWN:]
    ]
    return " → ".join([*(["…"] if len(names) > _MAX_SHOWN else []), *shortened_names])


def loop_warning(chain: Sequence[str], target: str) -> str:
    """Return the warning about a target that had the work before, in the words of the handoff documents."""
    names = " -> ".join(visible(name)[:_MAX_NAME] for name in [*chain, target][-_MAX_SHOWN:])
    return (
        f"{visible(target)[:_MAX_NAME]} already appears in the handoff chain for this session.\n"
        f"Continuing may create a circular workflow.\nChain: {names}"
    )


def judge_handoff(handoff: Handoff) -> ChainVerdict:
    """Return whether the chain of *handoff* may grow by its target."""
    chain, target = handoff.chain, handoff.target
    new_chain = "" if handoff.session else "; add `--new` if this is new work"
    chain_text, hops = format_chain(chain, target), max(handoff.hops, len(chain))
    if target == chain[-1]:
        return ChainVerdict("SELF", f"`{target}` would hand off to itself", "choose another target")
    if hops > MAX_HOPS:
        message = (
            f"this would be handoff {hops} of the same work, and at most {MAX_HOPS} are allowed: {chain_text}"
        )
        hint = f"finish the work here, or ask the user to start a new session{new_chain}"
        return ChainVerdict("TOO_MANY_HOPS", message, hint)
    if target in chain and not (handoff.request.yes and handoff.request.reason.strip()):
        return ChainVerdict(LOOP, loop_warning(chain, target), _LOOP_HINT + new_chain, True)
    if len(chain) > LONG_CHAIN and not handoff.request.approved:
        message = (
            f"the work came through {len(chain)} skills; more than {LONG_CHAIN} need approval: {chain_text}"
        )
        return ChainVerdict("NOT_APPROVED", message, "ask the user, then add `--approved`", True)
    return ChainVerdict()
