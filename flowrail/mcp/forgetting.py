"""What a call leaves in this process that a fresh process would not have, taken away again."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager


@contextmanager
def forgetting(folders: Callable[[], Iterable[str]]) -> Iterator[None]:
    """Forget, at the end, modules that a skill's code imported from below *folders*, and where it looked for them.

    A skill's own module is loaded anew at each call; what it imports from beside it would stay as it was, also
    behind a link. From a folder that stays on Python's path a later call would import what nobody allowed.
    """
    known, path, looked = set(sys.modules), sys.path, [*sys.path]
    try:
        yield
    finally:
        added = [each for each in sys.path if isinstance(each, str) and each not in looked]
        sys.path = path
        sys.path[:] = looked
        new = {name: _file_of(name) for name in sys.modules.keys() - known}
        if any(new.values()):
            below = tuple(_inside(each) for each in (*folders(), *_alone(added, looked)))
            for name, file in new.items():
                if file and os.path.realpath(file).startswith(below):
                    sys.modules.pop(name, None)


def _alone(added: Iterable[str], looked: Iterable[str]) -> list[str]:
    """Return the folders of *added* in which none lies where Python looks anyway: those are a skill's."""
    usual = [_inside(each) for each in looked]
    return [each for each in added if not any(one.startswith(_inside(each)) for one in usual)]


def _inside(folder: str) -> str:
    return os.path.join(os.path.realpath(folder), "")


def _file_of(name: str) -> str:
    file = getattr(sys.modules.get(name), "__file__", None)
    return file if isinstance(file, str) else ""
