"""What a call leaves in this process that a fresh process would not have, taken away again."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager


@contextmanager
def forgetting(folders: Callable[[], Iterable[str]]) -> Iterator[None]:
    """Forget, at the end, modules that a skill's code imported from below *folders*, and where it looked for them.

    A skill's own module is loaded anew at each call; what it imports from beside it would stay as it was, and
    from a folder that stays on Python's path a later call would import what nobody allowed.
    """
    known, path, looked = set(sys.modules), sys.path, [*sys.path]
    try:
        yield
    finally:
        sys.path = path
        sys.path[:] = looked
        new = {name: _file_of(name) for name in sys.modules.keys() - known}
        if any(new.values()):
            below = tuple(os.path.join(os.path.realpath(each), "") for each in folders())
            for name, file in new.items():
                if file and os.path.realpath(file).startswith(below):
                    sys.modules.pop(name, None)


def _file_of(name: str) -> str:
    file = getattr(sys.modules.get(name), "__file__", None)
    return file if isinstance(file, str) else ""
