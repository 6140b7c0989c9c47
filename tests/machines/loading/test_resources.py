"""How a step quotes what lies beside it: five ways, and none that leads outside."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.workflows import linear

from flowrail.errors import DocumentError, UsageError
from flowrail.machines.loading.resources import (
    FolderResources,
    ResourceProvider,
    UnknownResourceError,
)
from flowrail.text import limits


@pytest.fixture
def resources(tmp_path: Path) -> FolderResources:
    for path, text in {
        "near/severity.md": "near",
        "far/severity.md": "far",
        "far/temporal.md": "time",
        "far/notes.txt": "no",
        "own/plan-format.md": "plan",
        "work/src/main.py": "code",
    }.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tmp_path / "secret.md").write_text("secret")
    known = {"other": linear("a", "b", name="other")}
    return FolderResources(
        project=str(tmp_path / "work"),
        resources=[str(tmp_path / "own")],
        conventions=[str(tmp_path / "nowhere"), str(tmp_path / "near"), str(tmp_path / "far")],
        workflow=known.__getitem__,
    )


def test_there_are_five_ways(resources: FolderResources) -> None:
    provider: ResourceProvider = resources

    assert isinstance(resources, ResourceProvider)
    assert provider.get_convention("temporal") == provider.get_convention("temporal.md") == "time"
    assert provider.get_resource("plan-format.md") == "plan"
    assert provider.read_file("src/main.py") == "code"
    assert provider.get_workflow("other").name == "other"
    assert provider.get_step("other", "b").id == "b"


def test_the_nearer_folder_wins(resources: FolderResources) -> None:
    assert resources.get_convention("severity") == "near"


@pytest.mark.parametrize(
    "name", ["severty", "../secret", "/etc/passwd", "", ".hidden", "a/b", "notes.txt", "x\0y", "x" * 500]
)
def test_what_is_not_there_is_refused_with_what_is(resources: FolderResources, name: str) -> None:
    with pytest.raises(UnknownResourceError) as caught:
        resources.get_convention(name)

    assert caught.value.details["known"] == ["severity", "temporal"]
    assert len(caught.value.message) < 150


@pytest.mark.parametrize(
    "path", ["../secret.md", "/etc/passwd", "src/../../secret.md", "", ".", "link.md", "x\0y"]
)
def test_files_outside_the_project_are_refused(resources: FolderResources, tmp_path: Path, path: str) -> None:
    (tmp_path / "work/link.md").symlink_to(tmp_path / "secret.md")

    with pytest.raises(UsageError):
        resources.read_file(path)


def test_a_convention_that_is_a_link_is_not_read(resources: FolderResources, tmp_path: Path) -> None:
    (tmp_path / "near/link.md").symlink_to(tmp_path / "secret.md")

    with pytest.raises(DocumentError):
        resources.get_convention("link")


def test_files_are_bounded_and_text(resources: FolderResources, tmp_path: Path) -> None:
    (tmp_path / "work/large").write_bytes(b"x" * (limits.YAML_BYTES + 1))
    (tmp_path / "work/bytes").write_bytes(b"\xff")

    for path in ("large", "bytes", "src", "none"):
        with pytest.raises(DocumentError):
            resources.read_file(path)
