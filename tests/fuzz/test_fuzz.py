"""Fuzz the readers of foreign documents with atheris: ``pytest -m fuzz`` (nox -s fuzz).

``FUZZ_SECONDS`` is the time for each reader. The output contains the bytes of each failure.
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
def test_any_bytes_are_read_or_refused(name: str, tmp_path: Path) -> None:
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
def test_the_first_documents_of_the_fuzzer_are_read_or_refused(name: str) -> None:
    documents = list(targets.first_documents(name))

    for data in documents:
        targets.TARGETS[name](data)
        for cut in (1, len(data) // 2, -1):
            targets.TARGETS[name](data[:cut])
    assert len(documents) > 10
