"""Handoffs as text, from plain data; what skills and payloads say becomes one visible line each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flowrail.formatters.guidance.content import Show
from flowrail.text.phrases import count, joined, section
from flowrail.text.safe_text import shortened, visible
from flowrail.text.table import table


def render(item: Mapping[str, Any], show: Show = str) -> str:
    """Return where one handoff stands: what was checked, what is wrong, and the line that goes on."""
    head = f"{item['handoff']} · {shortened(item['source'])} → {shortened(item['target'])} · {item['phase']}"
    marks = [name for name in ("replayed", "expired", "foreign") if item[name]]
    lines = [" · ".join([head, *marks])]
    lines += [f"  {shortened(note)}" for note in item["notes"]]
    lines += [f"chain    {shortened(' → '.join(item['chain']))}  (hop {item['hops']})"]
    if item["reason"]:
        lines.append(f"reason   {shortened(item['reason'])}")
    if item["payload"]:
        size = f"{item['size']} bytes" + (f", {item['token_count']} tokens" if item["token_count"] else "")
        lines += [
            f"payload  {shortened(item['payload'])}  ({shortened(item['schema'])}, {shortened(size)})",
            f"sha256   {shortened(item['sha256'] or '')}",
        ]
    if item["expires_at"]:
        lines.append(f"expires  {shortened(item['expires_at'])}")
    if item["claim"]:
        claim = item["claim"]
        session = f", session {shortened(claim['session'])}" if claim.get("session") else ""
        lines.append(f"received {shortened(claim['at'])} by {shortened(claim['by'])}{session}")
    lines += [*_checks(item["checks"]), *_problem(item["problem"], item["phase"])]
    return "\n".join([*lines, *_ways(item, show)])


def render_list(items: Sequence[Mapping[str, Any]]) -> str:
    """Return handoffs as a table."""
    if not items:
        return "no handoff here; `flow handoff targets` shows who could take over"
    rows = [
        [
            each["handoff"],
            each["phase"] + "".join(f" ({mark})" for mark in ("expired", "foreign") if each[mark]),
            each["source"],
            each["target"],
            each["started_at"],
        ]
        for each in items
    ]
    return table(["handoff", "phase", "from", "to", "started"], rows)


def render_findings(findings: Iterable[Mapping[str, Any]], source: str, told: Mapping[str, Any]) -> str:
    """Return everything that is wrong with a payload, a line each."""
    lines = [
        f"{shortened(source)}{_number(each['line'])}: {each['severity']} {each['kind']}: "
        f"`{shortened(each['field'])}` {shortened(each['message'], 400)}"
        for each in findings
    ]
    if told["ignored"]:
        lines.append(f"passed over, since {told['version']} does not know it: {joined(told['ignored'])}")
    if told["tokens"]:
        tiers = ", ".join(f"{tier} {number}" for tier, number in told["tokens"].items() if number)
        lines.append(f"tokens: {tiers}, {sum(told['tokens'].values())} in all")
    version = f"a payload of version {told['version']}" if told["version"] else "no payload"
    verdict = count(told["errors"], "mistake") if told["errors"] else "fit to be handed over"
    lines.append(f"{version}, {verdict}")
    return "\n".join(lines)


def render_targets(menu: str, offers: Sequence[Mapping[str, Any]]) -> str:
    """Return a menu, and under it the command that hands over to each of those shown."""
    lines = [
        line_
        for each in offers
        for line_ in (
            *(
                [f"  {shortened(each['skill'], 80)} had this work before: {shortened(each['loop'])}"]
                if each["loop"]
                else []
            ),
            f"  {visible(each['command'])}",
        )
    ]
    return "\n\n".join(filter(None, [menu, section("Hand over, with `--reason WHY`", lines)]))


def _number(number: int) -> str:
    return f":{number}" if number else ""


def _checks(checks: Sequence[Mapping[str, Any]]) -> list[str]:
    wrong = [each for each in checks if not each["holds"]]
    if not checks:
        return []
    lines = [f"checks   {len(checks) - len(wrong)} of {len(checks)} hold"]
    return lines + [f"  {shortened(each['name'])}: {shortened(each['told'], 400)}" for each in wrong]


def _problem(problem: Mapping[str, Any] | None, phase: str) -> list[str]:
    if not problem:
        return []
    kept = problem.get("payload_preserved")
    lines = [f"failed   {shortened(problem['code'])}: {shortened(problem['message'], 400)}"]
    lines += [f"  the payload is kept in {shortened(kept)}"] if kept else []
    return lines + ([f"  {visible(problem['hint'])}"] if problem.get("hint") and phase == "failed" else [])


def _ways(item: Mapping[str, Any], show: Show) -> list[str]:
    if item["receive_command"]:
        lines = [""]
        receive = show(item["receive_command"])
        if not item["ours"]:
            lines += ["The skill that takes over confirms it with:", f"  {visible(receive)}"]
        line_to_give = receive if item["ours"] else item["invocation"]
        if line_to_give:
            lines += ["Give this line to the agent that takes over:", f"  {visible(line_to_give)}"]
        return lines
    has_hint = bool((item["problem"] or {}).get("hint"))  # it names the retry with what that needs
    return [
        f"  {visible(show(entry['command']))}"
        for entry in item["next"]
        if not (has_hint and entry["does"] == "retry")
    ]
