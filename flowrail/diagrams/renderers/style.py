"""Colours and lines of a drawing, light and dark; contrast is at least 4.5 to 1 for text, 3 to 1 for lines."""

from __future__ import annotations

from flowrail.outcome import STYLES

LIGHT = (
    "--ground:#ffffff;--band:#f4f6fa;--rim:#dde3ec;--ink:#1b2430;--soft:#566173;--line:#76839a;--pill:#ffffff;"
    "--step:#f3f6fb;--step-line:#7b8aa3;--decide:#fff5dc;--decide-line:#b98112;--ask:#f3ecff;--ask-line:#8257c9;"
    "--gate:#ffeae5;--gate-line:#c9573b;--agent:#e2f4f2;--agent-line:#22857c;--good:#1b8046;--good-soft:#d9f2e2;"
    "--bad:#c0392b;--bad-soft:#fbdedb;--warning:#9a6a00;--here:#1f64e0;--here-soft:#dbe8ff"
)
DARK = (
    "--ground:#12161d;--band:#191f29;--rim:#2a3342;--ink:#e8edf5;--soft:#a3afc0;--line:#76839a;--pill:#1a212c;"
    "--step:#202938;--step-line:#7f90ac;--decide:#332b17;--decide-line:#d3a13c;--ask:#2b2440;--ask-line:#a98be0;"
    "--gate:#3a231e;--gate-line:#e58a70;--agent:#173230;--agent-line:#4fb3a8;--good:#4cc282;--good-soft:#17352a;"
    "--bad:#f08578;--bad-soft:#40201d;--warning:#e0b45a;--here:#6ea3ff;--here-soft:#1c2f52"
)
_RULES = """\
ROOT{font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,"DejaVu Sans",sans-serif}
ROOT text{fill:var(--ink);text-anchor:middle}
ROOT .ground{fill:var(--ground)}
ROOT .band rect{fill:var(--band);stroke:var(--line)}
ROOT .band text{text-anchor:start;font-size:11.5px;font-weight:600;letter-spacing:.03em;fill:var(--soft)}
ROOT .lines path{fill:none;stroke:var(--line);stroke-width:1.5}
ROOT .lines .skip{stroke-dasharray:5 4}
ROOT .lines .taken{stroke-width:3.5}
ROOT .lines .never{stroke-dasharray:2 4}
ROOT .tip{fill:var(--line)}
ROOT .labels rect{fill:var(--pill);stroke:var(--line)}
ROOT .labels text{font-size:11.5px;fill:var(--soft)}
ROOT .labels .taken rect{stroke-width:2}
ROOT .node .shape{fill:var(--step);stroke:var(--step-line);stroke-width:1.5;stroke-linejoin:round}
ROOT .decide .shape{fill:var(--decide);stroke:var(--decide-line)}
ROOT .ask .shape{fill:var(--ask);stroke:var(--ask-line)}
ROOT .gate .shape{fill:var(--gate);stroke:var(--gate-line)}
ROOT .agent .shape,ROOT .agents .shape{fill:var(--agent);stroke:var(--agent-line)}
ROOT .start .shape{fill:var(--soft);stroke:none}
ROOT .completed .shape{fill:var(--good-soft);stroke:var(--good)}
ROOT .failed .shape{fill:var(--bad-soft);stroke:var(--bad)}
ROOT .completed .core{fill:var(--good)}
ROOT .failed .core{fill:var(--bad)}
ROOT .maybe .shape{stroke-dasharray:6 4}
ROOT .title{font-size:14px;font-weight:600}
ROOT .note,ROOT .end{font-size:11.5px;fill:var(--soft)}
ROOT .end{text-anchor:start}
ROOT .done .shape{stroke:var(--good);stroke-width:2.5}
ROOT .failed.done .shape{stroke:var(--bad)}
ROOT .here .shape{fill:var(--here-soft);stroke:var(--here);stroke-width:4}
ROOT .off .shape{fill:var(--ground);stroke:var(--line)}
ROOT .off .core{fill:var(--line)}
ROOT .off text{fill:var(--soft)}"""

_OUTCOMES = "".join(
    f"\nROOT .lines .{outcome},ROOT .labels .{outcome} rect{{stroke:var(--{colour})}}"
    f"\nROOT .tip.{outcome},ROOT .labels .{outcome} text{{fill:var(--{colour})}}"
    for outcome, colour in STYLES.items()
)


def page_colours() -> str:
    """Return the colours for a page, as CSS variables that follow the reader's system, and those of outcomes."""
    outcomes = "".join(f"\nb.{outcome}{{color:var(--{colour})}}" for outcome, colour in STYLES.items())
    return f":root{{color-scheme:light dark;{LIGHT}}}\n@media(prefers-color-scheme:dark){{:root{{{DARK}}}}}{outcomes}"


def style(root: str, *, own_colours: bool = True) -> str:
    """Return the style of the elements below the selector *root*.

    Its colours follow the reader's system, and the ``data-theme`` of the page. Without *own_colours*, they are those of
    the page.
    """
    rules = f"{_RULES}{_OUTCOMES}".replace("ROOT", root)
    if not own_colours:
        return f"\n{rules}\n"
    scheme = (
        f"{root}{{color-scheme:light dark;{LIGHT}}}\n@media(prefers-color-scheme:dark){{{root}{{{DARK}}}}}"
    )
    themes = f'[data-theme="light"] {root}{{{LIGHT}}}\n[data-theme="dark"] {root}{{{DARK}}}'
    return f"\n{scheme}\n{themes}\n{rules}\n"
