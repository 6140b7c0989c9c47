"""Our hooks in the settings of hosts, as `flow doctor` looks at them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from flowrail.errors import FlowError
from flowrail.hosts.setup import Place, alike, look, places, switched_off
from flowrail.machines.definition.findings import Finding
from flowrail.operations.doctor.section import Section, World

MOST_ALIKE, LONGEST_COMMAND = 9, 200


def hooks_section(world: World) -> Section:
    """Return where our hooks stand, and what is wrong with that."""
    seen = [(each, look(each)) for each in places(world.cwd, world.home, world.environ)]
    facts: list[str] = []
    findings: list[Finding] = []
    data: list[dict[str, Any]] = []
    installed: dict[str, list[Place]] = {}
    for where, told in seen:
        if isinstance(told, FlowError):
            findings.append(_unreadable(where, told))
            continue
        hooks = told or {}
        findings += [*_findings(where, hooks), *_alike(where)]
        if any(each is not None for each in hooks.values()):
            installed.setdefault(where.host, []).append(where)
            facts.append(f"{where.host}, {where.to}: {where.path}")
        data.append({**where._asdict(), "events": dict(hooks)})
    findings += [_twice(host, both) for host, both in installed.items() if len(both) > 1]
    none = ["none; `flow hook install` puts them into a host's settings"]
    return Section("hooks", facts or none, findings, {"hooks": data})


def _unreadable(where: Place, told: FlowError) -> Finding:
    place = str(told.details.get("place", where.path))
    message = f"the settings of {where.host} cannot be read: {told.message.removeprefix(f'{place}: ')}"
    if not place.startswith(where.path):  # a link leads there
        message, place = f"{message} ({place})", where.path
    return Finding("SETTINGS_UNREADABLE", "warning", message, told.hint, place)


def _findings(where: Place, hooks: Mapping[str, bool | None]) -> Iterator[Finding]:
    stands = any(each is not None for each in hooks.values())
    if stands and switched_off(where):
        message = (
            f"our hooks stand in the settings of {where.host}, where `disableAllHooks` switches them off"
        )
        yield Finding("HOOKS_OFF", "warning", message, "take `disableAllHooks` out", where.path)
    missing = [event for event, stands in hooks.items() if stands is None]
    old = [event for event, stands in hooks.items() if stands is False]
    again = f"flow hook install --host {where.host} --to {where.to}"
    if missing and len(missing) < len(hooks):
        message = f"of our hooks, {', '.join(missing)} is missing in the settings of {where.host}"
        yield Finding("HOOKS_MISSING", "warning", message, again, where.path)
    if old:
        message = f"our hooks {', '.join(old)} in the settings of {where.host} are those of another version"
        yield Finding("HOOKS_OUTDATED", "warning", message, again, where.path)


def _alike(where: Place) -> Iterator[Finding]:
    for command in alike(where)[:MOST_ALIKE]:
        shown = command if len(command) <= LONGEST_COMMAND else f"{command[:LONGEST_COMMAND]}…"
        message = f"a hook in the settings of {where.host} begins like ours and is none of ours: {shown}"
        yield Finding(
            "HOOKS_ALIKE", "warning", message, "read it, and take it out unless it is yours", where.path
        )


def _twice(host: str, both: list[Place]) -> Finding:
    message = f"our hooks stand twice in the settings of {host}, so an agent may be held twice for one stop"
    return Finding(
        "HOOKS_TWICE", "warning", message, f"flow hook uninstall --host {host} --to project", both[0].path
    )
