"""Draw categories from the catalogue of smells by chance, the same ones for the same seed.

python3 sample.py list --mode code
python3 sample.py draw 6 --mode code --seed SESSION --with mixed-jobs,call-order --without cyclic-dependency
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

CATALOGUE = Path(__file__).with_name("categories.md")
COLUMNS = {"code": (1,), "design": (2,), "both": (1, 2)}
NOTHING = "\u2013"


def categories(mode: str) -> dict[str, str]:
    """Return the ids of the categories that exist in *mode*, each with what it is there."""
    rows = [
        line.strip("| \n").split(" | ") for line in CATALOGUE.read_text(encoding="utf-8").splitlines()[2:]
    ]
    found = {}
    for row in rows:
        meanings = [row[column] for column in COLUMNS[mode] if row[column] != NOTHING]
        if meanings:
            found[row[0]] = "; in design: ".join(meanings) if len(meanings) > 1 else meanings[0]
    return found


def main() -> int:
    """Print what the command line asks for."""
    parser = argparse.ArgumentParser(description="Draw categories of smells by chance.")
    parser.add_argument("what", choices=["list", "draw"])
    parser.add_argument("number", type=int, nargs="?", default=10)
    parser.add_argument("--mode", choices=COLUMNS, default="both")
    parser.add_argument("--seed", default="")
    parser.add_argument("--with", dest="wanted", default="", help="ids that must be among them")
    parser.add_argument("--without", dest="unwanted", default="", help="ids that must not be among them")
    given = parser.parse_args()
    known = categories(given.mode)
    if given.what == "list":
        print(", ".join(known))
        return 0
    wanted, unwanted = (list(filter(None, text.split(","))) for text in (given.wanted, given.unwanted))
    unknown = [name for name in (*wanted, *unwanted) if name not in known]
    if unknown:
        print(f"not in the catalogue of mode {given.mode}: {', '.join(unknown)}", file=sys.stderr)
        return 2
    others = [name for name in known if name not in {*wanted, *unwanted}]
    random.Random(given.seed).shuffle(others)  # noqa: S311 - a sample, not a secret
    for name in (*wanted, *others[: max(0, given.number - len(wanted))]):
        print(f"- `{name}`: {known[name]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
