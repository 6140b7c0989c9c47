"""What was read of files that nobody has touched since."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.skills import ACCEPTING, head, put

from flowrail.discovery.index import Discovery, discover
from flowrail.discovery.scan import skill_file
from flowrail.discovery.scan.declaration import SkillFile
from flowrail.discovery.statcache import StatCache, cache_folder

LATER = 10**10


class Reads:
    """Counts the files that are really read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.paths: list[str] = []
        self._read = skill_file.read_skill
        monkeypatch.setattr(skill_file, "read_skill", self)

    def __call__(self, path: str) -> tuple[SkillFile, Any]:
        read = self._read(path)
        self.paths.append(os.path.basename(os.path.dirname(path)))
        return read


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    return Reads(monkeypatch)


@pytest.fixture
def home(tree: Path) -> Path:
    put(tree / ".claude/skills", "one")
    put(tree / ".claude/skills", "odd", "---\nname: odd: x\n")
    put(tree / ".claude/skills", "plain", head("plain"))
    put(tree / ".claude/skills", "none", "no frontmatter")
    put(tree / ".claude/skills", "lower", file="skill.md")
    return tree


def clock(after: int = LATER) -> Callable[[], int]:
    import time

    return lambda: time.time_ns() + after


def cache(home: Path, after: int = LATER) -> StatCache:
    return StatCache(str(home / "cache"), now_ns=clock(after))


def found(home: Path, memory: StatCache) -> Discovery:
    discovery = discover(str(home / "nowhere"), str(home), {}, memory=memory)
    assert memory.save()
    return discovery


def stored(home: Path) -> Path:
    (path,) = (home / "cache").iterdir()
    return path


def test_an_untouched_tree_is_not_read_again_and_gives_the_same(home: Path, reads: Reads) -> None:
    first = found(home, cache(home))
    reads.paths.clear()

    second = found(home, cache(home))

    assert reads.paths == []
    assert second == first == discover(str(home / "nowhere"), str(home), {})


def test_one_scan_with_the_same_memory_reads_each_file_once(home: Path, reads: Reads) -> None:
    memory = cache(home)

    found(home, memory)

    assert sorted(reads.paths) == ["lower", "none", "odd", "one", "plain"]


@pytest.mark.parametrize("touch", ["text", "times", "replaced"])
def test_a_touched_file_is_read_again(home: Path, reads: Reads, touch: str) -> None:
    found(home, cache(home))
    path = home / ".claude/skills/one/SKILL.md"
    about = path.stat()
    if touch == "text":
        path.write_text(head("one", ACCEPTING, description="Another thing altogether, for sure."))
    elif touch == "times":
        os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns + 1))
    else:
        put(home / ".claude/skills", "other", path.read_bytes()).replace(path)
        os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
    reads.paths.clear()

    found(home, cache(home))

    assert "one" in reads.paths


def test_a_file_as_young_as_the_tick_of_the_clock_is_read_again(home: Path, reads: Reads) -> None:
    found(home, cache(home, after=0))
    reads.paths.clear()

    found(home, cache(home, after=0))

    assert len(reads.paths) == 5


def test_what_is_gone_is_forgotten(home: Path) -> None:
    found(home, cache(home))
    (home / ".claude/skills/one/SKILL.md").unlink()

    found(home, cache(home))

    assert len(json.loads(stored(home).read_text())["files"]) == 4


def test_an_untouched_tree_is_not_written_again(home: Path) -> None:
    found(home, cache(home))
    before = stored(home).stat().st_ino

    found(home, cache(home))

    assert stored(home).stat().st_ino == before


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"format": 0}', "[" * 100_000, '{"files": 3}'])
def test_a_cache_that_cannot_be_read_counts_as_none(home: Path, reads: Reads, text: str) -> None:
    first = found(home, cache(home))
    stored(home).write_text(text)
    reads.paths.clear()

    assert found(home, cache(home)) == first
    assert len(reads.paths) == 5


@pytest.mark.parametrize(
    "damage",
    [
        lambda entry: [],
        lambda entry: 3,
        lambda entry: [entry[0]],
        lambda entry: [entry[0], []],
        lambda entry: [entry[0], [{"unknown": 1}]],
        lambda entry: [entry[0], [{}, {}, "", 0, [["NEW_CODE", "x", 1]], False]],
        lambda entry: [entry[0], [[], {}, "", 0, [], False]],
    ],
)
def test_an_entry_that_makes_no_sense_counts_as_none(
    home: Path, reads: Reads, damage: Callable[[Any], Any]
) -> None:
    first = found(home, cache(home))
    data = json.loads(stored(home).read_text())
    path = str(home / ".claude/skills/one/SKILL.md")
    data["files"][path] = damage(data["files"][path])
    stored(home).write_text(json.dumps(data))
    reads.paths.clear()

    assert found(home, cache(home)) == first
    assert "one" in reads.paths


def test_a_cache_of_another_root_is_not_taken(home: Path, reads: Reads) -> None:
    found(home, cache(home))
    data = json.loads(stored(home).read_text())
    stored(home).write_text(json.dumps({**data, "root": "/elsewhere"}))
    reads.paths.clear()

    found(home, cache(home))

    assert len(reads.paths) == 5


def test_where_nothing_can_be_written_it_only_takes_longer(home: Path) -> None:
    (home / "cache").write_text("a file stands here")
    memory = cache(home)

    discovery = discover(str(home / "nowhere"), str(home), {}, memory=memory)

    assert len(discovery.candidates) == 2
    assert not memory.save()


def test_caches_lie_where_the_system_keeps_them() -> None:
    assert cache_folder("/home/u", {}) == "/home/u/.cache/flowrail"
    assert cache_folder("/home/u", {"XDG_CACHE_HOME": "/c"}) == "/c/flowrail"
    assert cache_folder("/home/u", {"XDG_CACHE_HOME": "relative"}) == "/home/u/.cache/flowrail"
