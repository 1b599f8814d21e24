"""How much the tests notice: changes of one place each in goals/ and solve/, drawn at random, and who fails at them.

    python benchmarks/mutants.py --count 300 --seed 0 [--folder out] [--packages goals solve]

Works on a copy of the tree. A first run of the tests notes which test runs which line, and how long it takes; it is
kept in --folder for later runs. A mutant then faces only the tests that run its line (those that touch its module,
where the line runs at import), the quickest first, as many as fit into --seconds, and ends at the first that fails.
Killed: a test failed, or took ten times the processor time and 30 s more (hung). Survivors are listed with what was
changed.

Mutants are: comparisons, sums, products, `and` and `or` exchanged, signs and `not` dropped, numbers moved by one,
conditions negated, values returned left out, statements left out, min and max exchanged. Texts, type annotations and
what only raises errors' messages stay as they are. Needs the package coverage.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = {"goals": ("tests/goals", "tests/solve"), "solve": ("tests/solve", "tests/goals")}
GOAL = 0.9
"""Share of the mutants that the tests are to notice."""

ALIVE = ("survived", "no test")
"""Verdicts on mutants that no test noticed."""

SWAPS: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Add: ast.Sub, ast.Sub: ast.Add,
    ast.Mult: ast.Div, ast.Div: ast.Mult, ast.And: ast.Or, ast.Or: ast.And, ast.FloorDiv: ast.Div, ast.Pow: ast.Mult,
    ast.Break: ast.Continue, ast.Continue: ast.Break,
}  # fmt: skip

# Removed from the copy's own tests: the editable install finds modules by absolute paths before anything else.
PLAIN_IMPORTS = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]
"""


@dataclass(frozen=True)
class Mutant:
    """One change: the module's path, which of its places, and what was done there."""

    path: str
    place: int
    line: int
    what: str

    @property
    def key(self) -> str:
        return f"{self.path}#{self.place} {self.what}"

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.what}"


def main() -> int:
    arguments = read_arguments()
    folder = Path(arguments.folder)
    tree = copy_of_tree(folder / "tree")
    known = test_map(tree, folder / "map.json", arguments.packages)
    everything = [mutant for package in arguments.packages for mutant in mutants_of(package)]
    drawn = random.Random(arguments.seed).sample(everything, min(arguments.count, len(everything)))
    print(
        f"{len(everything)} mutants of {', '.join(arguments.packages)}; {len(drawn)} drawn with seed {arguments.seed}"
    )
    kept = folder / "verdicts.json"
    done: dict[str, str] = json.loads(kept.read_text()) if kept.exists() else {}
    for at, mutant in enumerate(drawn):
        if mutant.key not in done or (arguments.again and done[mutant.key] in ALIVE):
            done[mutant.key] = verdict(tree, mutant, known, arguments.seconds)
            kept.write_text(json.dumps(done, indent=1))
        print(f"{at + 1:4d} {done[mutant.key]:9} {mutant}", flush=True)
    return summary([(mutant, done[mutant.key]) for mutant in drawn])


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", default="out/mutants", help="for the copy, the map of tests and the verdicts")
    parser.add_argument("--packages", nargs="+", choices=list(TESTS), default=list(TESTS))
    parser.add_argument("--seconds", type=float, default=20.0, help="of tests that a mutant faces")
    parser.add_argument("--again", action="store_true", help="try survivors of earlier runs again")
    return parser.parse_args()


def summary(results: list[tuple[Mutant, str]]) -> int:
    alive = [(mutant, outcome) for mutant, outcome in results if outcome in ALIVE]
    share = 1.0 - len(alive) / max(len(results), 1)
    print(f"\n{len(alive)} survivors")
    for mutant, outcome in alive:
        print(f"  {outcome:8} {mutant}")
    print(f"killed {len(results) - len(alive)} of {len(results)}: {share:.1%} (goal {GOAL:.0%})")
    return 0 if share >= GOAL else 1


def copy_of_tree(tree: Path) -> Path:
    """Sources and tests as they are now, with the core beside them."""
    shutil.rmtree(tree, ignore_errors=True)
    for name in ("src", "tests", "examples", "benchmarks", "docs", "native"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "CHANGELOG.md", "CMakeLists.txt"):
        shutil.copy(ROOT / name, tree / name)
    import memetik._core as core

    shutil.copy(str(core.__file__), tree / "src/memetik")
    (tree / "src" / "sitecustomize.py").write_text(PLAIN_IMPORTS)
    return tree


# ---- which test runs which line


def test_map(tree: Path, path: Path, packages: list[str]) -> dict:
    """{"lines": {module: {line: [tests]}}, "seconds": {test: seconds}}, measured once."""
    if not path.exists():
        folders = sorted({folder for package in packages for folder in TESTS[package]})
        own = f"import sys; sys.path.insert(0, {str(ROOT / 'benchmarks')!r}); import mutants"
        code = f"{own}; mutants.measure_tests({str(path)!r}, {folders!r})"
        subprocess.run([sys.executable, "-c", code], cwd=tree, env=environment(tree), check=True)
    return json.loads(path.read_text())


def measure_tests(path: str, folders: list[str]) -> None:
    import coverage
    import pytest

    cover = coverage.Coverage(data_file=None, include=["*/src/memetik/goals/*", "*/src/memetik/solve/*"])
    notes = TestNotes(cover)
    cover.start()
    pytest.main(["-q", "-p", "no:cacheprovider", "-m", "not soak and not ros and not clock", *folders], plugins=[notes])
    cover.stop()
    lines: dict[str, dict[str, list[str]]] = {}
    data = cover.get_data()
    for file in data.measured_files():
        module = file[file.index("src/memetik") :]
        contexts = data.contexts_by_lineno(file)
        lines[module] = {str(line): [c for c in tests if c in notes.passed] for line, tests in contexts.items()}
    Path(path).write_text(json.dumps({"lines": lines, "seconds": notes.seconds}))


class TestNotes:
    """A plugin of pytest: names the running test to the coverage tool, and keeps how long each that passed took."""

    __test__ = False

    def __init__(self, cover) -> None:
        self.cover, self.seconds, self.passed = cover, {}, set()

    def pytest_runtest_setup(self, item) -> None:
        self.cover.switch_context(item.nodeid)

    def pytest_runtest_logreport(self, report) -> None:
        self.seconds[report.nodeid] = self.seconds.get(report.nodeid, 0.0) + report.duration
        if report.when == "call" and report.passed:
            self.passed.add(report.nodeid)


def environment(tree: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}


# ---- one mutant


def verdict(tree: Path, mutant: Mutant, known: dict, seconds: float) -> str:
    tests = tests_for(mutant, known, seconds)
    if not tests:
        return "no test"
    path = tree / mutant.path
    original = path.read_text()
    path.write_text(mutated(original, mutant.place))
    limit = 30 + int(10.0 * sum(known["seconds"][test] for test in tests))
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", *tests]
    try:
        run = subprocess.run(
            command, cwd=tree, env=environment(tree), capture_output=True, timeout=20.0 * limit,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit, limit)),
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "hung"
    finally:
        path.write_text(original)
    if run.returncode == -signal.SIGKILL:
        return "hung"
    return "survived" if run.returncode == 0 else "killed"


def tests_for(mutant: Mutant, known: dict, seconds: float) -> list[str]:
    """The tests that run the mutant's line, else its module; the quickest first, while their times fit."""
    lines = known["lines"].get(mutant.path, {})
    tests = set(lines.get(str(mutant.line), ()))
    if not tests:
        tests = {test for own in lines.values() for test in own}
    chosen, total = [], 0.0
    for test in sorted(tests, key=lambda test: (known["seconds"][test], test)):
        total += known["seconds"][test]
        if chosen and total > seconds:
            break
        chosen.append(test)
    return chosen


def mutated(source: str, place: int) -> str:
    tree = ast.parse(source)
    for at, (_, _, change) in enumerate(places(tree)):
        if at == place:
            change()
            return ast.unparse(ast.fix_missing_locations(tree))
    raise ValueError(f"there is no place {place}")


def mutants_of(package: str) -> Iterator[Mutant]:
    for path in sorted((ROOT / "src/memetik" / package).rglob("*.py")):
        for at, (line, what, _) in enumerate(places(ast.parse(path.read_text()))):
            yield Mutant(str(path.relative_to(ROOT)), at, line, what)


# ---- where a module can be changed, and how


def places(tree: ast.Module) -> Iterator[tuple[int, str, object]]:
    """(line, what, change) of every mutant of a module, in a fixed order; change() does it to the tree."""
    for parent in ast.walk(tree):
        if is_left_alone(parent):
            for child in ast.walk(parent):
                child._left_alone = True  # type: ignore[attr-defined]
        for name, value in ast.iter_fields(parent):
            if name in ("annotation", "returns", "type_params", "type_comment"):
                for child in ast.walk(value) if isinstance(value, ast.AST) else ():
                    child._left_alone = True  # type: ignore[attr-defined]
    for node in ast.walk(tree):
        if not getattr(node, "_left_alone", False):
            yield from changes(node)


def is_left_alone(node: ast.AST) -> bool:
    """Imports, raised errors and their texts, docstrings, blocks for type checkers, __repr__ and __all__."""
    if isinstance(node, ast.Import | ast.ImportFrom | ast.Raise | ast.JoinedStr | ast.Assert):
        return True
    if isinstance(node, ast.If):
        return ast.unparse(node.test) == "TYPE_CHECKING"
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Assign):
        return ast.unparse(node.targets[0]) in ("__all__",)
    if isinstance(node, ast.Call):
        return ast.unparse(node.func) in ("dataclass", "field", "cast", "warnings.warn", "TypeVar")
    return isinstance(node, ast.FunctionDef) and node.name == "__repr__"


def changes(node: ast.AST) -> Iterator[tuple[int, str, object]]:
    line = getattr(node, "lineno", 0)

    def swap(owner: ast.AST, name: str, index: int | None = None) -> tuple[int, str, object]:
        old = getattr(owner, name) if index is None else getattr(owner, name)[index]
        new = SWAPS[type(old)]()

        def change() -> None:
            if index is None:
                setattr(owner, name, new)
            else:
                getattr(owner, name)[index] = new

        return line, f"{type(old).__name__} -> {type(new).__name__} in {short(owner)}", change

    if isinstance(node, ast.Compare):
        yield from (swap(node, "ops", k) for k in range(len(node.ops)) if type(node.ops[k]) in SWAPS)
    elif isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp) and type(node.op) in SWAPS:
        yield swap(node, "op")
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        yield line, f"dropped {type(node.op).__name__} of {short(node)}", becoming(node, node.operand)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
        new = (not node.value) if isinstance(node.value, bool) else node.value + 1
        yield line, f"{node.value!r} -> {new!r}", lambda: setattr(node, "value", new)
    elif isinstance(node, ast.Name) and node.id in ("min", "max"):
        new_name = "max" if node.id == "min" else "min"
        yield line, f"{node.id} -> {new_name}", lambda: setattr(node, "id", new_name)
    if isinstance(node, ast.If | ast.IfExp | ast.While):
        negated = ast.UnaryOp(ast.Not(), node.test)
        yield line, f"negated: {short(node.test)}", lambda: setattr(node, "test", negated)
    if isinstance(node, ast.Return) and node.value is not None and not is_none(node.value):
        yield line, f"returns None for {short(node.value)}", lambda: setattr(node, "value", ast.Constant(None))
    for name in ("body", "orelse", "finalbody"):
        body = getattr(node, name, None)
        if isinstance(body, list) and not isinstance(node, ast.ClassDef | ast.Module):
            yield from (left_out(body, k) for k, s in enumerate(body) if is_droppable(s))


def is_droppable(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign | ast.AugAssign | ast.Expr | ast.Break | ast.Continue) and not getattr(
        statement, "_left_alone", False
    )


def left_out(body: list[ast.stmt], k: int) -> tuple[int, str, object]:
    statement = body[k]

    def change() -> None:
        body[k] = ast.Pass()

    return statement.lineno, f"left out: {short(statement)}", change


def becoming(node: ast.AST, other: ast.AST):
    """A change that turns a node into another: in place, as its parent is not known."""

    def change() -> None:
        node.__class__ = other.__class__
        node.__dict__.clear()
        node.__dict__.update(other.__dict__)

    return change


def is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 70 else text[:67] + "..."


if __name__ == "__main__":
    begin = time.perf_counter()
    status = main()
    print(f"{time.perf_counter() - begin:.0f} s")
    sys.exit(status)
