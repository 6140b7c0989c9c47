"""A report as one HTML page without scripts or external resources. All text is escaped."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from string import Template

from flowrail.text.report import FilePath, Line, Moment, Part, Report, Span, Style, Table, plain_part
from flowrail.text.safe_text import visible


def render(report: Report, *, title: str, about: str, colours: str) -> str:
    """Return the page of *report*. *colours* are CSS variables."""
    folder = files("flowrail.formatters.reports")
    return Template(folder.joinpath("page.html").read_text(encoding="utf-8")).substitute(
        title=_text(title),
        style=f"{colours}\n{folder.joinpath('page.css').read_text(encoding='utf-8')}",
        about=_text(about),
        body="\n".join(map(_element, report)),
    )


def _element(item: str | Line | Table) -> str:
    if isinstance(item, Table):
        return _table(item)
    parts = item.parts if isinstance(item, Line) else (item,)
    shown = "".join(map(_part, parts))
    is_title = isinstance(parts[0], Span) and parts[0].style is Style.TITLE
    return f"<h2>{shown}</h2>" if is_title else f"<p>{shown}</p>" if shown else ""


def _table(table: Table) -> str:
    titles = [_text(column.title) for column in table.columns]
    heads = "".join(f"<th>{title}</th>" for title in titles)
    rows = "\n".join(f"<tr>{''.join(map(_cell, titles, row))}</tr>" for row in table.rows)
    shown = f"<table><thead><tr>{heads}</tr></thead><tbody>\n{rows}</tbody></table>"
    return f'<div class="wide" tabindex="0" role="group" aria-label="Table, scrollable">{shown}</div>'


def _cell(title: str, part: Part) -> str:
    return f'<td data-label="{title}">{_part(part)}</td>'


def _part(part: Part) -> str:
    text = _text(plain_part(part))
    if isinstance(part, Span):
        return f'<span class="{part.style}">{text}</span>'
    tag = {Moment: "time", FilePath: "code"}.get(type(part))
    return f"<{tag}>{text}</{tag}>" if tag else text


def _text(text: str) -> str:
    return escape(visible(text))
