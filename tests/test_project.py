"""What the project promises about itself: documents that agree with the code, and files that agree with each other."""

from __future__ import annotations

import importlib.metadata
import re
import sys
import tomllib
from pathlib import Path

import pytest

import memetik

ROOT = Path(__file__).parents[1]


def test_the_version_is_stated_once():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "version" not in project
    assert "version" in project["dynamic"]
    assert importlib.metadata.version("memetik") == memetik.__version__
    assert f"\n## {memetik.__version__}\n" in (ROOT / "CHANGELOG.md").read_text()
    assert f'version: "{memetik.__version__}"' in (ROOT / "CITATION.cff").read_text()


def test_addresses_are_those_of_the_package():
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]
    citation = (ROOT / "CITATION.cff").read_text()
    assert f'repository-code: "{urls["Repository"]}"' in citation
    assert f'url: "{urls["Documentation"]}"' in citation
    elsewhere = [ROOT / "mkdocs.yml", ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("src/**/*.py")]
    assert [path for path in elsewhere if urls["Repository"] in path.read_text()] == []


def test_the_package_page_has_addresses_in_place_of_paths():
    sys.path.insert(0, str(ROOT / "packaging"))
    import package_readme

    repository = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Repository"]
    text = package_readme.dynamic_metadata("readme")["text"]
    assert f"]({repository}/raw/main/docs/images/hero.webp)" in text
    assert re.findall(r"\]\((?!https?:)([^)]+)", text) == []
    assert (ROOT / "docs/images/hero.webp").stat().st_size < 3e6


def test_every_public_module_is_checked_strictly():
    """Each module that the stub of the package takes a name from."""
    strict = [ROOT / name for name in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pyright"]["strict"]]
    stub = (ROOT / "src/memetik/__init__.pyi").read_text()
    for module in set(re.findall(r"^from (memetik[\w.]*) import", stub, re.MULTILINE)) - {"memetik._core"}:
        path = ROOT / "src" / module.replace(".", "/")
        path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
        assert any(path.is_relative_to(name) for name in strict), path


def test_documentation_lists_every_code_of_the_doctor_with_its_severity():
    from memetik.doctor import CODES

    table = dict(re.findall(r"^\| `([a-z-]+)` \| (\w+) \|", (ROOT / "docs/doctor.md").read_text(), re.MULTILINE))
    assert table == {code: severity for code, (severity, _) in CODES.items()}


def test_every_code_of_the_doctor_is_tested():
    from memetik.doctor import CODES

    tests = "".join(path.read_text() for path in (ROOT / "tests/doctor").glob("*.py"))
    assert [code for code in CODES if f'"{code}"' not in tests] == []


def test_documentation_names_every_verb():
    from memetik.cli.app import VERBS

    text = (ROOT / "docs/command-line.md").read_text()
    assert [verb for verb in VERBS if f"## {verb}\n" not in text] == []


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "docs/index.md", "docs/architecture.md"])
def test_links_between_documents_lead_somewhere(document):
    path = ROOT / document
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text())
    assert [target for target in targets if not (path.parent / target).exists()] == []


def test_files_that_documents_and_comments_name_exist():
    folders = [ROOT, ROOT / "src", ROOT / "src/memetik", ROOT / "native"]
    texts = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/**/*.py")]
    texts += [
        path
        for ending in ("py", "h", "cpp")
        for tree in ("src", "native")
        for path in ROOT.glob(f"{tree}/**/*.{ending}")
    ]
    missing = []
    for path in texts:
        for name in re.findall(r"(?<![\w./<-])((?:[\w-]+/)+[\w.-]+\.(?:py|pyi|h|cpp|cmake|md))\b", path.read_text()):
            found = any((folder / name).is_file() for folder in (*folders, path.parent))
            if not found and not name.startswith("path/to/"):
                missing.append(f"{path.relative_to(ROOT)}: {name}")
    assert missing == []


@pytest.mark.parametrize("document", ["README.md", "docs/index.md"])
def test_code_in_the_documents_runs(document, tmp_path, monkeypatch):
    """Each Python block, except lines that load files of the reader's own."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        own = "\n".join(line for line in block.splitlines() if "my_robot" not in line)
        exec(compile(own, document, "exec"), names)


def test_make_targets_in_the_documents_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for document in ("README.md", "CONTRIBUTING.md"):
        named = set(re.findall(r"(?:^|`)make ([a-z-]+)", (ROOT / document).read_text(), re.MULTILINE))
        assert named
        assert named <= targets
