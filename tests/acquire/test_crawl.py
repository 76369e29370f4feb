"""What a crawl takes, what it passes over, and what it reports."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pincite.acquire.crawl as crawl_module
from pincite.acquire.crawl import Found, Skipped, crawl
from pincite.acquire.load import changed_ns
from pincite.acquire.read import uri_of
from pincite.errors import PathMissing, UsageError


def plant(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            path.mkdir()
        else:
            path.write_text(name)


def taken(root: Path, **options) -> list[str]:
    return [str(item.path.relative_to(root)) for item in crawl([root], **options) if isinstance(item, Found)]


def skipped(*roots: Path) -> dict[str, Skipped]:
    return {item.uri.rpartition("/")[2]: item for item in crawl(roots) if isinstance(item, Skipped)}


def test_files_come_in_order_of_name_depth_first(tmp_path):
    plant(tmp_path, "b.md", "a/z.md", "a/b/c.md", "c.md", "A.md", "a.md")
    assert taken(tmp_path) == ["A.md", "a/b/c.md", "a/z.md", "a.md", "b.md", "c.md"]


def test_found_tells_size_and_time_of_the_file(tmp_path):
    plant(tmp_path, "a.md")
    (item,) = crawl([tmp_path])
    status = (tmp_path / "a.md").stat()
    assert item == Found(str(tmp_path / "a.md"), uri_of(tmp_path / "a.md"), status.st_size, changed_ns(status))


def test_hidden_files_and_caches_are_passed_over_in_silence(tmp_path):
    plant(tmp_path, ".git/config", ".venv/x.py", "node_modules/y.js", "a/__pycache__/z.pyc", ".hidden.md", "a/k.md")
    assert [item.uri for item in crawl([tmp_path])] == [uri_of(tmp_path / "a/k.md")]


@pytest.mark.parametrize("name", [".hidden.md", "node_modules/y.md", ".git/notes.md", "ignored.md"])
def test_what_is_named_itself_is_taken(tmp_path, name):
    plant(tmp_path, name)
    (tmp_path / ".gitignore").write_text("ignored.md\n")
    (item,) = crawl([tmp_path / name], exclude=["*.md"])
    assert item.path == tmp_path / name


def test_a_folder_that_is_named_itself_is_taken(tmp_path):
    plant(tmp_path, ".git/", "build/a.md", ".notes/b.md")
    (tmp_path / ".gitignore").write_text("build/\n")
    assert taken(tmp_path / "build") == ["a.md"]
    assert taken(tmp_path / ".notes") == ["b.md"]


def test_nested_ignore_files_have_the_last_word(tmp_path):
    plant(
        tmp_path, "a.log", "keep.log", "sub/a.log", "sub/b.log", "sub/deep/a.log", "out/x.md", "sub/out/y.md", "s.tmp"
    )
    (tmp_path / ".gitignore").write_text("# comment\n*.log\n!keep.log\n/out/\n*.tmp\n")
    (tmp_path / "sub/.gitignore").write_text("!a.log\r\n")
    (tmp_path / ".pinciteignore").write_text("!s.tmp\n")
    assert taken(tmp_path) == ["keep.log", "s.tmp", "sub/a.log", "sub/deep/a.log", "sub/out/y.md"]


def test_ignore_files_above_the_root_count_up_to_its_repository(tmp_path):
    plant(tmp_path, "repo/.git/", "repo/docs/a.md", "repo/docs/a.log", "repo/docs/sub/b.log")
    (tmp_path / ".gitignore").write_text("*.md\n")
    (tmp_path / "repo/.gitignore").write_text("*.log\n")
    assert taken(tmp_path / "repo/docs") == ["a.md"]
    (tmp_path / "repo/.git").rmdir()
    assert taken(tmp_path / "repo/docs") == ["a.log", "a.md", "sub/b.log"]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@settings(max_examples=25, deadline=None)
@given(
    patterns=st.lists(
        st.sampled_from(["*.md", "!*.md", "a", "!a", "a/", "/a", "b/*", "!b/c", "**/c", "a/**", "?", "[ab]", "#x", ""]),
        max_size=4,
    ),
    nested=st.lists(st.sampled_from(["*.md", "!*.md", "c", "!c", "/a"]), max_size=2),
)
def test_ignoring_agrees_with_git(patterns, nested):
    names = ["a", "b/a", "b/c", "b/d.md", "c/a/b", "c/x.md", "d.md", "e/c/a"]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        plant(root, *names)
        (root / ".gitignore").write_text("\n".join(patterns))
        (root / "b/.gitignore").write_text("\n".join(nested))
        git = ["git", "-c", "core.excludesFile=", "-C", folder]
        subprocess.run([*git, "init", "-q"], check=True, capture_output=True)
        listed = subprocess.run(
            [*git, "ls-files", "--others", "--exclude-standard"], check=True, capture_output=True, text=True
        )
        assert taken(root) == sorted(name for name in listed.stdout.split("\n") if name and ".gitignore" not in name)


def test_include_and_exclude_are_relative_to_each_root(tmp_path):
    plant(tmp_path, "a.md", "b.txt", "sub/c.md", "sub/d.txt", "drafts/e.md")
    assert taken(tmp_path, include=["*.md"]) == ["a.md", "drafts/e.md", "sub/c.md"]
    assert taken(tmp_path, include=["/sub/"]) == ["sub/c.md", "sub/d.txt"]
    assert taken(tmp_path, exclude=["drafts/", "*.txt"]) == ["a.md", "sub/c.md"]
    assert taken(tmp_path, include=["*.md"], exclude=["/a.md"]) == ["drafts/e.md", "sub/c.md"]


@pytest.mark.parametrize("option", ["include", "exclude"])
@pytest.mark.parametrize("pattern", ["!", "\\", "[z-a]", "*a" * 40])
def test_malformed_patterns_are_wrong_use(tmp_path, option, pattern):
    with pytest.raises(UsageError, match="not a file pattern"):
        crawl([tmp_path], **{option: [pattern]})


def test_a_malformed_line_of_an_ignore_file_is_reported_and_the_others_count(tmp_path):
    plant(tmp_path, "a.md", "b.log")
    (tmp_path / ".gitignore").write_text("[z-a]\n*.log\n")
    assert taken(tmp_path) == ["a.md"]
    report = skipped(tmp_path)[".gitignore"]
    assert report.status == "skipped"
    assert "'[z-a]'" in report.reason
    assert report.fix


def test_a_missing_root_is_told_before_anything_is_listed(tmp_path):
    with pytest.raises(PathMissing, match="does not exist") as caught:
        crawl([tmp_path, tmp_path / "nowhere"])
    assert caught.value.fix


def test_links_inside_folders_are_reported_and_not_followed(tmp_path):
    plant(tmp_path, "a/b.md", "outside.md")
    (tmp_path / "a/loop").symlink_to(tmp_path)
    (tmp_path / "a/me").symlink_to("me")
    (tmp_path / "a/file").symlink_to("../outside.md")
    assert taken(tmp_path / "a") == ["b.md"]
    reports = skipped(tmp_path / "a")
    assert set(reports) == {"loop", "me", "file"}
    assert all("symbolic link" in report.reason and report.status == "skipped" for report in reports.values())


def test_links_that_are_named_themselves_are_followed(tmp_path):
    plant(tmp_path, "a/b.md", "c.md")
    (tmp_path / "folder").symlink_to("a")
    (tmp_path / "file").symlink_to("c.md")
    (tmp_path / "broken").symlink_to("nowhere")
    found = list(crawl([tmp_path / "folder", tmp_path / "file", tmp_path / "broken"]))
    assert [item.uri for item in found] == [uri_of(tmp_path / name) for name in ("folder/b.md", "file", "broken")]
    assert found[2].status == "failed"
    assert "link" in found[2].reason


def test_special_files_are_skipped(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        reports = skipped(tmp_path)
        assert {name: report.status for name, report in reports.items()} == {"fifo": "skipped", "socket": "skipped"}
    (report,) = crawl([tmp_path / "fifo"])
    assert report.status == "failed"
    (report,) = crawl(["/dev/null"])
    assert report.status == "failed"


def test_libraries_are_skipped(tmp_path):
    plant(tmp_path, "notes.pincite/pincite.db", "a.md")
    assert taken(tmp_path) == ["a.md"]
    assert skipped(tmp_path)["notes.pincite"].status == "skipped"
    (report,) = crawl([tmp_path / "notes.pincite"])
    assert report.status == "failed"
    assert report.fix


def test_a_folder_that_cannot_be_listed_is_reported_and_the_rest_is_taken(tmp_path, monkeypatch):
    plant(tmp_path, "a/x.md", "b/y.md")
    real = os.scandir

    def refusing(path):
        if str(path).endswith("/a"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(crawl_module.os, "scandir", refusing)
    assert taken(tmp_path) == ["b/y.md"]
    report = skipped(tmp_path)["a"]
    assert (report.status, report.reason) == ("failed", "It cannot be looked at: permission denied.")
    assert report.fix


def test_a_file_that_vanishes_meanwhile_was_never_there(tmp_path):
    plant(tmp_path, "a.md", "b.md", "sub/c.md")
    items = crawl([tmp_path])
    assert next(items).path.name == "a.md"
    (tmp_path / "b.md").unlink()
    (tmp_path / "sub/c.md").unlink()
    (tmp_path / "sub").rmdir()
    assert list(items) == []


def test_overlapping_roots_give_each_file_once(tmp_path):
    plant(tmp_path, "a/x.md", "a/y.md")
    found = [item.path.name for item in crawl([tmp_path / "a/y.md", tmp_path, tmp_path / "a"])]
    assert found == ["y.md", "x.md"]


def test_names_that_are_no_text_are_listed(tmp_path):
    name = os.fsdecode(b"caf\xe9 \xff#?%.md")
    (tmp_path / name).write_text("x")
    (item,) = crawl([tmp_path])
    assert item.path.name == name
    assert item.uri == uri_of(tmp_path / name)


@given(st.binary(min_size=1, max_size=40).filter(lambda name: not set(name) & set(b"/\0") and name[:1] != b"."))
@settings(max_examples=50, deadline=None)
def test_crawled_uris_are_those_of_the_paths(name):
    if os.fsdecode(name) in ("node_modules", "__pycache__") or name.endswith(b".pincite"):
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, os.fsdecode(name))
        path.write_text("x")
        assert [item.uri for item in crawl([folder])] == [uri_of(path)]


def test_no_folder_is_too_deep(tmp_path, monkeypatch):
    depth = 1100
    monkeypatch.chdir(tmp_path)
    for _ in range(depth):
        Path("d").mkdir()
        os.chdir("d")
    Path("leaf.md").write_text("x")
    os.chdir(tmp_path)
    found = list(crawl([tmp_path]))
    assert len(found) == 1
    assert found[0].uri.count("/d") >= depth
    while Path("d/d").exists():  # what clears temporary folders away calls itself for each level
        Path("d/d").rename("rest")
        Path("d").rmdir()
        Path("rest").rename("d")


def test_an_unchanged_folder_costs_one_stat_a_file(tmp_path, monkeypatch):
    plant(tmp_path, *(f"f{number}.md" for number in range(50)))
    opened = []
    monkeypatch.setattr(crawl_module.os, "open", lambda *arguments: opened.append(arguments))
    assert len(list(crawl([tmp_path]))) == 50
    assert opened == []
