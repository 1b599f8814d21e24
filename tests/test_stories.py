"""The ten stories of docs/stories.md run as they stand on the page, and are short."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import stories
import story_files

STORIES = stories.stories()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    pytest.importorskip("pinocchio")
    path = tmp_path_factory.mktemp("stories")
    story_files.prepare(path)
    return path


def test_there_are_ten_and_each_is_short():
    assert len(STORIES) == 10
    assert {title: n for title, code in STORIES.items() if (n := stories.line_count(code)) > 15} == {}


@pytest.mark.parametrize("title", STORIES)
def test_the_story_runs(title, folder, monkeypatch):
    monkeypatch.chdir(folder)
    exec(compile(STORIES[title], title, "exec"), {"__name__": "story"})
