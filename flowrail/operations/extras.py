"""Commands that need an optional dependency say which extra to install."""

from __future__ import annotations

from flowrail.errors import UsageError


class ExtraMissingError(UsageError):
    """The command needs an extra of flowrail that is not installed."""

    code = "EXTRA_MISSING"


def require_extra(extra: str, *packages: str) -> None:
    """Refuse the command if a package of *extra* is not installed."""
    from importlib.util import find_spec  # 0.5 ms, which `flow step` does not need

    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise ExtraMissingError(
            f"this command needs the package `{missing[0]}`, which is not installed",
            hint=f"pip install 'flowrail[{extra}]'",
            extra=extra,
        )
