"""Text as XML. This is the only module that turns text into markup."""

from __future__ import annotations

from typing import Self

from flowrail.text.safe_text import visible


class Markup(str):
    """XML content that is already escaped.

    Only the type says so. A slice or concatenation of it is plain text again and is escaped like any
    other text, so a mistake is visible and harmless.
    """

    __slots__ = ()

    def __str__(self) -> Self:
        return self


def xml_text(text: str) -> str:
    """Return *text* as the content of an element."""
    return visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


class Verbatim(str):
    """Text that its reader copies as it is, such as a command: in XML it has no entities."""

    __slots__ = ()


def xml_verbatim(text: str) -> str:
    """Return *text* as the content of an element without entities: as CDATA if it has special characters."""
    shown = visible(text)
    if not any(sign in shown for sign in "&<>"):
        return shown
    return f"<![CDATA[{shown.replace(']]>', ']]]]><![CDATA[>')}]]>"


def xml_attribute(text: str) -> str:
    """Return *text* as the value of an attribute in double quotes."""
    escaped = xml_text(text).replace('"', "&quot;")
    return escaped.replace("\n", "&#10;").replace("\t", "&#9;")


def attributes(**values: object) -> str:
    """Return attributes, each with a space before it, without those that are `None`."""
    return "".join(
        f' {name.rstrip("_")}="{xml_attribute(_as_text(value))}"'
        for name, value in values.items()
        if value is not None
    )


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
