"""The golden problems: each has a stable name and gives plain values that must not change, bit for bit.

All of them are bounded by evaluations, never by time, so that the answer depends on nothing but the inputs.
The modules `cases_*` hold them by subject. Names that may change are looked up here and nowhere else.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import memetik as mk

RENAMED: dict[str, str] = {}
"""Public names of memetik as they are called today, by the names under which the answers were recorded."""

MODULES = {
    "bring_up": "memetik.motion.bring_up",
    "cartesian": "memetik.motion.cartesian",
    "limits": "memetik.motion.limits",
    "objects": "memetik.scene.objects",
    "plots_style": "memetik.bench.plots_style",
    "problem_file": "memetik.solve.problem_file",
    "reach": "memetik.bench.reach",
    "reach_file": "memetik.bench.reach_file",
    "scenarios": "memetik.bench.scenarios",
    "spec": "memetik.bench.spec",
    "store": "memetik.bench.store",
    "studio_setup": "memetik.studio.setup",
    "surroundings": "memetik.scene.surroundings",
    "task_file": "memetik.motion.task_file",
    "timing": "memetik.motion.timing",
    "verification": "memetik.bench.verification",
}
"""Documented modules below the public names, where they are today."""

SUBJECTS = ("goals", "robots", "options", "methods", "batches", "scenes", "all", "tracker", "motion", "bench")


@dataclass(frozen=True)
class Case:
    """A golden problem.

    id      its stable name, "subject/what".
    run     solves it and returns arrays, numbers, truth values and texts by name.
    core    whether it is also compared on the instruction sets that are not the machine's best.
    blas    whether its numbers pass through code that chooses its kernels by the processor: BLAS, scipy, coal.
    needs   packages without which it cannot run.
    """

    id: str
    run: Callable[[], dict[str, Any]]
    core: bool = False
    blas: bool = False
    needs: tuple[str, ...] = ()

    @property
    def missing(self) -> list[str]:
        """The packages that it needs and that are not installed."""
        return [name for name in self.needs if importlib.util.find_spec(name) is None]


def named(name: str) -> Any:
    """A public name of memetik, by the name it had when the answers were recorded."""
    return getattr(mk, RENAMED.get(name, name))


def module(name: str) -> Any:
    """A documented module of memetik, wherever it is today."""
    return importlib.import_module(MODULES[name])


@cache
def robot(name: str) -> Any:
    """A bundled robot, loaded once; "panda:panda_arm" is a group of one."""
    source, _, group = name.partition(":")
    loaded = mk.load_robot(source)
    return loaded.group(group) if group else loaded


def all_cases() -> Iterator[Case]:
    """Every golden problem."""
    for subject in SUBJECTS:
        yield from importlib.import_module(f"cases_{subject}").cases()


def of_solution(solution: Any) -> dict[str, Any]:
    """What is recorded of a Solution."""
    errors = [value for parts in solution.errors.values() for value in parts.values()]
    return {
        "q": np.array(solution.q),
        "success": bool(solution.success),
        "evaluations": int(solution.evaluations),
        "restarts": int(solution.restarts),
        "reason": str(solution.reason),
        "cost": float(solution.cost),
        "soft_cost": float(soft_cost(solution)),
        "errors": np.array(errors, dtype=float),
    }


def without_counts(answer: dict[str, Any]) -> dict[str, Any]:
    """An answer of several threads: how far the losing islands had come depends on the machine, all else does not."""
    return {key: value for key, value in answer.items() if key not in ("evaluations", "restarts")}


def of_batch(batch: Any) -> dict[str, Any]:
    """What is recorded of a BatchSolution."""
    return {
        "q": np.array(batch.q),
        "success": np.array(batch.success),
        "evaluations": np.array(batch.evaluations),
        "restarts": np.array(batch.restarts),
        "cost": np.array(batch.cost),
        "soft_cost": np.array(soft_cost(batch)),
    }


def of_solutions(solutions: Any) -> dict[str, Any]:
    """What is recorded of a list of solutions."""
    postures = [solution.q for solution in solutions]
    return {
        "q": np.array(postures, dtype=float),
        "count": len(postures),
        "cost": np.array([solution.cost for solution in solutions], dtype=float),
        "evaluations": [int(solution.evaluations) for solution in solutions],
    }


def soft_cost(solution: Any) -> Any:
    """The weighted cost of the goals above priority 0."""
    return solution.preference_cost if hasattr(solution, "preference_cost") else solution.soft_cost


def unit(vector: Any) -> np.ndarray:
    """The vector scaled to length one."""
    return np.asarray(vector) / np.sqrt(np.sum(np.square(vector)))


def moved(pose: np.ndarray, by: Any) -> np.ndarray:
    """A pose shifted in the world."""
    shifted = np.array(pose)
    shifted[:3, 3] += by
    return shifted
