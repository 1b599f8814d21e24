"""The table "Where to put a change" in docs/architecture.md: its places exist, and what a place forgets fails here.

Kinds of terms, kinds of joints and public names are walked by tests of their own, which that page names.
"""

from __future__ import annotations

import ast
import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

from memetik import _core
from memetik.bench.scenarios import bodies, configurations, recipes
from memetik.bench.scenarios.recipes import SCENARIOS
from memetik.geometry.formats import MESH_FORMATS, POINT_FORMATS
from memetik.solve.literature import METHODS
from memetik.solve.methods.native import CoreMethod

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src/memetik"
NATIVE = ROOT / "native"


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def table(name: str, path: Path) -> list[list[str]]:
    """The lines X(...) of a macro that lists them, split at their commas."""
    (body,) = re.findall(rf"#define {name}\(X\)(?:.*\\\n)*.*", text_of(path))
    return [re.split(r",\s*", line) for line in re.findall(r"\bX\(([^()]*)\)", body.split("\n", 1)[1])]


def rows_of_the_page() -> dict[str, str]:
    section = text_of(ROOT / "docs/architecture.md").split("## Where to put a change")[1].split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("| ")]
    return {row[0].strip(): row[1] for row in rows[1:]}


@pytest.mark.parametrize("change", rows_of_the_page())
def test_the_places_of_a_change_exist(change: str) -> None:
    places = [place for place in re.findall(r"`([^`]+)`", rows_of_the_page()[change]) if "/" in place or "." in place]
    assert places
    for place in places:
        assert any(next(root.glob(place), None) for root in (ROOT, PACKAGE)), place


def test_the_page_has_every_change_that_contributors_are_promised() -> None:
    words = " ".join(rows_of_the_page())
    for change in ("goal", "method", "joint type", "planner", "mesh format", "scenario", "panel", "instruction set"):
        assert change in words


@pytest.mark.skipif(not _core.HAS_LITERATURE, reason="the build leaves the literature out")
def test_every_method_of_the_registry_has_a_class_and_a_name() -> None:
    classes = [entry.load() for entry in METHODS.values()]
    named = {kind.METHOD for kind in classes if issubclass(kind, CoreMethod)}
    rows = table("MEMETIK_METHODS", NATIVE / "literature/registry.h")
    assert {row[0] for row in rows} == named
    headers = "\n".join(text_of(path) for path in (NATIVE / "literature").glob("*_lanes.h"))
    for name, owner, parameters in rows:
        assert re.search(rf"\b(class|struct) {owner}\b|\busing {owner} =", headers), owner
        assert _core.method_parameters(name).__name__ == parameters


def test_every_class_of_a_method_has_a_name() -> None:
    named = {(entry.module.split(".")[1], entry.owner) for entry in METHODS.values()}
    for path in (PACKAGE / "solve/literature").glob("*.py"):
        module = import_module(f"memetik.solve.literature.{path.stem}".removesuffix(".__init__"))
        for name, kind in vars(module).items():
            if isinstance(kind, type) and kind.__module__ == module.__name__ and "METHOD" in vars(kind):
                assert (path.stem, name) in named


def test_every_planner_has_a_file_and_every_file_a_line() -> None:
    rows = table("MEMETIK_PLANNERS", NATIVE / "motion/planner.h")
    assert [name for name, _ in rows] == _core.planner_names()
    signature = re.compile(r"^PathResult (\w+)\(PlannerTask &", re.MULTILINE)
    defined = {path.stem: signature.findall(text_of(path)) for path in (NATIVE / "motion").glob("*.cpp")}
    own = {stem: names for stem, names in defined.items() if names}
    assert own == {function: [function] for _, function in rows}


def test_every_reader_of_a_format_is_in_the_tables() -> None:
    assert all(ending.startswith(".") and ending == ending.lower() for ending in (*MESH_FORMATS, *POINT_FORMATS))
    reads: dict[str, set[str]] = {"read_mesh": set(), "read_points": set()}
    for path in (PACKAGE / "geometry/formats").glob("*.py"):
        for node in ast.parse(text_of(path)).body:
            if isinstance(node, ast.FunctionDef) and node.name in reads:
                reads[node.name].add(path.stem)
    assert reads == {"read_mesh": set(MESH_FORMATS.values()), "read_points": set(POINT_FORMATS.values())}


def test_every_recipe_is_a_scenario() -> None:
    made = {recipe.make for recipe in SCENARIOS.values()}
    for module in (bodies, configurations, recipes):
        for name, function in vars(module).items():
            if inspect.isfunction(function) and function.__module__ == module.__name__ and not name.startswith("_"):
                signature = inspect.signature(function)
                if list(signature.parameters) == ["order"] and signature.return_annotation == "TargetDraft":
                    assert function in made, name
    assert {name for name, recipe in SCENARIOS.items() if not recipe.summary} == set()


def test_every_panel_is_in_the_table_of_panels() -> None:
    pytest.importorskip("viser")
    from memetik.studio.app import PANELS

    found = {
        (path.stem, node.name)
        for path in (PACKAGE / "studio/panels").glob("*.py")
        for node in ast.parse(text_of(path)).body
        if isinstance(node, ast.ClassDef) and node.name.endswith("Panel") and node.name != "Panel"
    }
    assert found == {(panel.__module__.split(".")[-1], panel.__name__) for panel in PANELS}
    for panel in PANELS:
        assert panel.TITLE
        assert callable(panel.refresh)
        assert callable(panel.use_robot)


def test_instruction_sets_are_built_recognised_and_have_lanes() -> None:
    cmake = text_of(ROOT / "CMakeLists.txt")
    known = {"baseline", *re.search(r"list\(APPEND known_sets ([^)]+)\)", cmake)[1].split()}
    assert known == set(re.findall(r"set\(options_(\w+)", cmake))
    assert known == set(re.findall(r"\bbool supports_(\w+)\(\)", text_of(NATIVE / "base/dispatch.cpp")))
    widths = re.findall(r"constexpr int kNative = (\d);", text_of(NATIVE / "base/lanes.h"))
    assert len(widths) == len(known)
    assert set(_core.architectures()) <= known


NOT_IN_PYTHON = {"contact_ticks"}
"""Counts that only serve the profile."""

NOT_IN_SOLUTION = {"ending", "island", "generation", "answers", "collision_free"}
"""Fields of an outcome that others read: `solve_all` reads the answers, `select=` whether one is collision-free,
tests and batches the rest."""


def test_every_field_of_an_outcome_is_bound_and_told_by_a_solution() -> None:
    (body,) = re.findall(r"struct Outcome \{(.*?)\n\};", text_of(NATIVE / "search/outcome.h"), re.DOTALL)
    (counts,) = re.findall(r"struct Counts \{(.*?)\n\};", text_of(NATIVE / "search/search_kernel.h"), re.DOTALL)
    members = declared(body) - {"counts"} | declared(counts)
    assert members - NOT_IN_PYTHON == set(_core.Outcome.field_names)
    source = text_of(PACKAGE / "solve/solution.py") + text_of(PACKAGE / "solve/explain.py")
    for name in members - NOT_IN_PYTHON - NOT_IN_SOLUTION:
        assert re.search(rf"\boutcome\.{name}\b|\"{name}\"", source), name


def declared(struct: str) -> set[str]:
    """The names of the members in the body of a struct."""
    code = re.sub(r"//[^\n]*", "", struct)
    statements = [re.sub(r"=[^,;]*|\{[^}]*\}|<[^>]*>", "", line) for line in code.split(";")]
    return {name for line in statements for name in re.findall(r"(\w+)\s*(?:,|$)", line.strip())}
