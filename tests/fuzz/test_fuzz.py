"""Readers of strangers' documents, fuzzed by coverage with atheris: ``pytest -m fuzz`` (nox -s fuzz).

``FUZZ_SECONDS`` says for how long each; what is found is printed with its bytes.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from fuzz import targets

SECONDS = int(os.environ.get("FUZZ_SECONDS", "20"))


@pytest.mark.fuzz
@pytest.mark.skipif(find_spec("atheris") is None, reason="needs atheris: pip install --group fuzz")
@pytest.mark.parametrize("name", targets.TARGETS)
def test_whatever_comes_is_answered_or_refused(name: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, targets.__file__, name, str(tmp_path), str(SECONDS)],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        timeout=SECONDS + 120,
    )

    assert done.returncode == 0, done.stderr[-3_000:]
    assert not list(tmp_path.glob("found-*"))


@pytest.mark.parametrize("name", targets.TARGETS)
def test_what_the_fuzzers_begin_with_is_answered_or_refused(name: str) -> None:
    begun = list(targets.beginnings(name))

    for data in begun:
        targets.TARGETS[name](data)
        for cut in (1, len(data) // 2, -1):
            targets.TARGETS[name](data[:cut])
    assert len(begun) > 10
