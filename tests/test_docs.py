"""The code on the pages runs as it stands."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGES = ["tutorial.md", "install.md", "concepts/*.md", "howto/*.md", "migration/*.md", "goals/*.md"]
FOUND = sorted(path for pattern in PAGES for path in DOCS.glob(pattern))


def blocks(path):
    return re.findall(r"^```python\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", [p for p in FOUND if blocks(p)], ids=lambda p: str(p.relative_to(DOCS)))
def test_code_on_the_page_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for module in ("torch", "jax"):
        if f"import {module}\n" in path.read_text():
            pytest.importorskip(module)
    names: dict = {"__name__": "page"}
    for block in blocks(path):
        exec(compile(block, str(path), "exec"), names)
    assert names


def test_there_are_pages():
    assert len(FOUND) > 15
