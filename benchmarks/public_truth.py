"""The truth of solving on public robots: every success and every claim of impossibility, checked from outside.

    python benchmarks/public_truth.py [--problems 1000000] [--store truth.jsonl] [--processes 2] [--seconds 600]

Random problems of all kinds of goals (tests/solve/problem_generator.py) on robots of example-robot-data and rtb-data
that are not bundled; two thirds are reachable by construction. Of ten problems six are solved singly, two in batches
and one by a Tracker; the tenth asks for configurations without self-collision. In one of ten, another thread writes NaN
into the caller's targets, and back, all the time. Answers are checked against Pinocchio's reading of the same file
(tests/solve/truth.py), those without self-collision also by coal on Pinocchio's geometry with the pairs that the
robot's SRDF leaves. False are: a success that misses a hard goal, a limit or a held joint, or that is given for an
impossible problem; a success in contact; a value that is not finite; a reason that says "impossible" of a problem that
has an answer.

Chunks that are done stand in the store, one line each: the same command goes on after them. Exit code 1 if anything is
false.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "solve"), str(ROOT / "tests" / "robot"), str(ROOT / "benchmarks")]

CHUNK, BATCH, TRACKED = 200, 4, 20
PROVED = ("out of reach", "limits exclude it", "too few joints for the demands")
KINDS = ("false successes", "false claims", "in contact", "not finite", "errors")
SHOWN = 10
TOUCHING = 1e-6  # metres by which meshes may overlap before two ways to compute it differ


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=1_000_000)
    parser.add_argument("--evaluations", type=int, default=300)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no chunk after so long")
    parser.add_argument("--store", type=Path, help="a file of what was done; the same command goes on after it")
    given = parser.parse_args()
    begin, lines = time.monotonic(), []
    if given.store is not None and given.store.exists():
        lines = [json.loads(line) for line in given.store.read_text().splitlines() if line.endswith("}")]
    done = {line["first"] for line in lines}
    chunks = ((k, given.evaluations) for k in range(0, given.problems, CHUNK) if k not in done)
    with multiprocessing.get_context("spawn").Pool(given.processes) as pool:
        waiting = [pool.apply_async(check, (chunk,)) for chunk in _first(chunks, given.processes)]
        while waiting:
            line = waiting.pop(0).get()
            lines.append(line)
            if given.store is not None:
                with given.store.open("a") as store:
                    store.write(json.dumps(line) + "\n")
            for fault in line["faults"][:SHOWN]:
                print(fault, file=sys.stderr, flush=True)
            if time.monotonic() - begin < given.seconds:
                waiting += [pool.apply_async(check, (chunk,)) for chunk in _first(chunks, 1)]
    counts: Counter[str] = sum((Counter(line["counts"]) for line in lines), Counter())
    for kind in (*sorted(set(counts) - set(KINDS)), *KINDS):
        print(f"{kind:32}{counts[kind]:>10}")
    return int(any(counts[kind] for kind in KINDS))


def check(chunk: tuple[int, int]) -> dict[str, Any]:
    """Counts, and a sentence for each fault, of CHUNK problems, all on one robot."""
    from problem_generator import generate

    warnings.simplefilter("ignore")
    first, evaluations = chunk
    names = sorted(robots())
    robot = robots()[names[first // CHUNK % len(names)]]
    checked = Checked(evaluations)
    for k in range(first, first + CHUNK):
        case = generate(k, robot)
        checked.counts["problems"] += 1
        checked.counts["reachable by construction"] += case.flaw is None
        try:
            checked.ask(case)
        except Exception as error:  # no problem may raise
            checked.fault("errors", case, f"{type(error).__name__}: {error}")
    return {"first": first, "counts": dict(checked.counts), "faults": checked.faults}


class Checked:
    """Problems put to the solver, and what its answers are worth."""

    def __init__(self, evaluations: int):
        self.counts: Counter[str] = Counter()
        self.faults: list[str] = []
        self.evaluations = evaluations
        self.budget: dict[str, Any] = {"evaluations": evaluations, "refine_evaluations": evaluations // 2}

    def fault(self, kind: str, case: Any, sentence: str) -> None:
        self.counts[kind] += 1
        self.faults.append(f"{kind}: {sentence} in {case!r:.400}")

    def ask(self, case: Any) -> None:
        import memetik as mk

        way = case.index % 10
        clear = way == 9 and has_pairs(case.robot)
        problem = mk.Problem(case.robot, case.goals, fixed=case.fixed, self_collision=clear)
        with buffers(case) if case.index % 100 // 10 == 3 else contextlib.nullcontext(case.targets) as targets:
            self.counts["beside a writing thread"] += targets is not case.targets
            with (
                contextlib.suppress(mk.errors.InvalidInputError)
                if targets is not case.targets
                else (contextlib.nullcontext())
            ):
                given = [targets] if targets else []
                if way < 6 or way == 9:
                    self._singly(case, problem, given, clear)
                elif way < 8:
                    self._in_a_batch(case, problem, given)
                else:
                    self._tracked(case, problem, given)

    def _singly(self, case: Any, problem: Any, given: list[Any], clear: bool) -> None:
        found = problem.solve(*given, seed=case.seed, rng=case.index, **self.budget)
        self.counts["solved without self-collision" if clear else "solved singly"] += found.success
        if found.success:
            self._is_true(case, found.q)
            if clear and (depth := overlap(case.robot, found.q)) > TOUCHING:
                self.fault("in contact", case, f"overlap {depth:.2g} m")
        elif case.flaw is None and not clear and found.reason in PROVED:
            self.fault("false claims", case, found.explain().splitlines()[0])
        self.counts["said to be impossible"] += not found.success and found.reason in PROVED

    def _in_a_batch(self, case: Any, problem: Any, given: list[Any]) -> None:
        import numpy as np

        seeds = np.stack([case.robot.random((case.index, k)) for k in range(BATCH)])
        if given:
            given = [{name: np.stack([np.asarray(value)] * BATCH) for name, value in given[0].items()}]
        found = problem.solve_batch(*given, seed=seeds, rng=case.index, **self.budget)
        for k in range(BATCH):
            self.counts["solved in batches"] += bool(found.success[k])
            if found.success[k]:
                self._is_true(case, found.q[k])

    def _tracked(self, case: Any, problem: Any, given: list[Any]) -> None:
        import numpy as np

        import memetik as mk

        near = case.hidden + np.random.default_rng(case.index).normal(scale=0.05, size=case.robot.dof)
        tracker = mk.Tracker(problem, seed=case.robot.clip(near), dt=0.05)
        for _ in range(TRACKED):
            step = tracker.step(*given)
            self.counts["tracked, within"] += step.within
            if step.within:
                self._is_true(case, step.q, held=False)
            elif not np.isfinite(step.q).all():
                self.fault("not finite", case, repr(step))

    def _is_true(self, case: Any, q: Any, held: bool = True) -> None:
        from truth import violations

        wrong = violations(case.complete, case.robot, q, case.fixed if held else {})
        if wrong or case.flaw is not None:
            self.fault("false successes", case, "; ".join(wrong) or f"flaw {case.flaw!r}")


@contextlib.contextmanager
def buffers(case: Any) -> Iterator[dict[str, Any]]:
    """The open targets in arrays that another thread spoils and writes again, all the time."""
    import threading

    import numpy as np

    arrays = {name: np.array(value, dtype=float) for name, value in case.targets.items() if np.ndim(value) > 0}
    if not arrays:
        yield case.targets
        return
    originals, over = {name: array.copy() for name, array in arrays.items()}, threading.Event()

    def write() -> None:
        while not over.is_set():
            for name, array in arrays.items():
                array.flat[0] = np.nan
                array[...] = originals[name]
            time.sleep(1e-5)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        yield {**case.targets, **arrays}
    finally:
        over.set()
        writer.join()


@cache
def robots() -> dict[str, Any]:
    """The robots by name, each with its file told to tests/solve/truth.py."""
    from pinocchio_truth import FILES
    from truth import SOURCES

    import memetik as mk
    from memetik.robot import bundled

    found: dict[str, Any] = {}
    for name, path in FILES.items():
        if name in bundled.names():
            continue
        robot = found[name] = mk.load_robot(path)
        SOURCES[robot] = str(path)
    return found


def has_pairs(robot: Any) -> bool:
    return geometry(robot) is not None


@cache
def geometry(robot: Any) -> Any:
    """Pinocchio's model and geometry of the robot's own file, with the pairs that its SRDF leaves; None without one."""
    import pinocchio
    from truth import SOURCES

    from memetik.collision.allowed_pairs import adjacent_pairs, srdf_pairs

    path = Path(SOURCES[robot])
    allowed = srdf_pairs(robot)
    if not allowed:
        return None
    allowed = allowed | adjacent_pairs(robot)
    model = pinocchio.buildModelFromUrdf(str(path))
    folders = [str(parent) for parent in path.parents]
    try:
        shapes = pinocchio.buildGeomFromUrdf(model, str(path), pinocchio.GeometryType.COLLISION, folders)
    except ValueError:  # a mesh that is not there
        return None
    links = [model.frames[shape.parentFrame].name for shape in shapes.geometryObjects]
    for i, one in enumerate(links):
        for j in range(i):
            if one != links[j] and not {(one, links[j]), (links[j], one)} & set(map(tuple, allowed)):
                shapes.addCollisionPair(pinocchio.CollisionPair(j, i))
    return model, model.createData(), shapes, pinocchio.GeometryData(shapes)


def overlap(robot: Any, q: Any) -> float:
    """How deep bodies overlap according to coal, in metres; 0 where none do."""
    import numpy as np
    import pinocchio
    from truth import _model  # pyright: ignore[reportPrivateUsage]

    model, data, shapes, found = geometry(robot)
    _, _, spread, offset, _ = _model(robot)
    full = pinocchio.integrate(model, pinocchio.neutral(model), spread @ np.asarray(q) + offset)
    if not pinocchio.computeCollisions(model, data, shapes, found, full, False):
        return 0.0
    contacts = [result.getContact(0) for result in found.collisionResults if result.isCollision()]
    return max(abs(float(contact.penetration_depth)) for contact in contacts)


def _first(chunks: Iterator[Any], count: int) -> list[Any]:
    return [chunk for chunk, _ in zip(chunks, range(count), strict=False)]


if __name__ == "__main__":
    sys.exit(main())
