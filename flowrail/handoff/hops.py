"""The skills that a piece of work came through, and when the chain must end.

A skill never hands off to itself. A skill that had the work before needs consent and a reason. A chain of
more than five skills needs the user's approval. An agent can claim consent and approval, so hops are also
counted from our own records, and nothing lifts the limit of eight.
"""

from __future__ import annotations

from collections.abc import Sequence

from flowrail.handoff.errors import ValidationFailedError
from flowrail.handoff.handoff import Handoff
from flowrail.machines.session import Session
from flowrail.text.safe_text import visible

LONG_CHAIN = 5
MAX_HOPS = 8
LOOP = "LOOP"
"""The rule that refuses a target that had the work before."""

_MAX_SHOWN, _MAX_NAME = 16, 80


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


def chain_refusal(handoff: Handoff) -> ValidationFailedError | None:
    """Return why the chain of *handoff* must not grow by its target, or `None` if it may."""
    chain, target, request = handoff.chain, handoff.target, handoff.request
    new_chain = "" if handoff.session else "; add `--new` if this is new work"
    text, hops = format_chain(chain, target), max(handoff.hops, len(chain))
    if target == chain[-1]:
        rule, message, hint = "SELF", f"`{target}` would hand off to itself", "choose another target"
    elif hops > MAX_HOPS:
        rule = "TOO_MANY_HOPS"
        message = f"this would be handoff {hops} of the same work, and at most {MAX_HOPS} are allowed: {text}"
        hint = f"finish the work here, or ask the user to start a new session{new_chain}"
    elif target in chain and not (request.yes and request.reason):
        rule, message = LOOP, loop_warning(chain, target)
        hint = f"add `--yes` and `--reason WHY` if the user wants this{new_chain}"
    elif len(chain) > LONG_CHAIN and not request.approved:
        rule, hint = "NOT_APPROVED", "ask the user, then add `--approved`"
        message = f"the work came through {len(chain)} skills; more than {LONG_CHAIN} need approval: {text}"
    else:
        return None
    return ValidationFailedError(
        message,
        hint=hint,
        recoverable=rule in {LOOP, "NOT_APPROVED"},
        rule=rule,
        chain=[*chain, target],
        hops=handoff.hops,
        target_skill=target,
        validation_errors=[message],
    )
