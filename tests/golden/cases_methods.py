"""Every method of the literature, on two problems or more each.

Left out is "decoupled", which looks at the clock: how much it evaluates changes with the load of the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from cases import Case, of_solution, robot

import memetik as mk

NATIVE = (
    "memetic", "bio2", "bio2_memetic", "bio2_memetic_l", "bio2_memetic_lbfgs", "bio1", "bio1_ros",
    *(f"{name}{many}" for name in ("gd", "gd_r", "gd_c", "jac") for many in ("", "_2", "_4", "_8")),
    "jac_damped", "jac_transpose", "kdl", "lma", "pick", "pick_local", "de", "pso", "ga",
)  # fmt: skip
"""Methods that know nothing of BLAS; whether that is so is found out when answers are recorded."""

SCIPY = ("bfgs", "lbfgs", "lbfgsb", "cg", "steepest", "newton", "nelder_mead", "slsqp", "relaxed", "trac")

NLOPT = (
    "slsqp", "lbfgs", "var", "tnewton", "mma", "ccsaq", "praxis", "nelder_mead", "bobyqa", "sbplx", "cobyla",
    "stogo", "direct", "ags", "isres", "esch", "crs", "mlsl",
)  # fmt: skip

OTHERS = ("ccd", "fabrik", "cached")


def pose_of(name: str, seed: int) -> tuple[Any, Any, np.ndarray, np.ndarray]:
    """A problem with an open pose, a target and a start."""
    arm = robot(name)
    rng = np.random.default_rng(seed)
    target, start = arm.pose(arm.tip, arm.random(rng)), arm.random(rng)
    return arm, mk.Problem(arm, [mk.Pose(arm.tip)]), target, start


def far(method: Any, name: str, evaluations: int) -> dict[str, Any]:
    """A pose that is searched for from a random start."""
    _, problem, target, start = pose_of(name, 21)
    return of_solution(problem.solve(target, seed=start, method=method, evaluations=evaluations))


def near(method: Any, evaluations: int) -> dict[str, Any]:
    """A position near the start, which a local method reaches."""
    arm = robot("panda:panda_arm")
    q = arm.random(np.random.default_rng(22))
    problem = mk.Problem(arm, [mk.Position(arm.tip)])
    target = arm.pose(arm.tip, arm.clip(q + 0.1))[:3, 3]
    return of_solution(problem.solve(target, seed=q, method=method, evaluations=evaluations, rng=4))


def through_a_hole(method: Any) -> dict[str, Any]:
    arm = robot("panda:panda_arm")
    rng = np.random.default_rng(23)
    pose = arm.pose(arm.tip, arm.random(rng))
    hole = pose[:3, 3] - 0.1 * pose[:3, 2]
    problem = mk.Problem(arm, [mk.Pivot(arm.tip, hole, "z"), mk.Position(arm.tip, pose[:3, 3])])
    return of_solution(problem.solve(seed=arm.random(rng), method=method, evaluations=500))


def closed_form(name: str) -> dict[str, Any]:
    arm, problem, target, start = pose_of(name, 24)
    method = mk.methods.Analytic(mk.methods.eaik_function(arm))
    return of_solution(problem.solve(target, seed=start, method=method, evaluations=500))


def learned(kind: str) -> dict[str, Any]:
    """A small network, trained here in a moment."""
    arm = robot("chain3")
    rng = np.random.default_rng(25)
    problem = mk.Problem(arm, [mk.Position(arm.tip)])
    target, start = arm.pose(arm.tip, arm.random(rng))[:3, 3], arm.random(rng)
    method = mk.methods.Neural(kind=kind, hidden=(24, 24), steps=150, restarts=kind == "offset")
    return of_solution(problem.solve(target, seed=start, method=method, evaluations=300))


def remembered() -> dict[str, Any]:
    """The same pose again, and one beside it, from a store of answers."""
    _, problem, target, start = pose_of("ur5", 26)
    method = mk.methods.Cached(store=mk.methods.PoseStore())
    beside = np.array(target)
    beside[2, 3] += 0.01
    first, again, other = (
        problem.solve(t, seed=start, method=method, evaluations=600) for t in (target, target, beside)
    )
    return {**of_solution(other), "first": first.q, "again": again.q}


def seeded(first: str) -> dict[str, Any]:
    """One method gives another its start; the default first one would train for half a minute."""
    _, problem, target, start = pose_of("panda:panda_arm", 31)
    method = mk.methods.Seeded(first, "memetic")
    return of_solution(problem.solve(target, seed=start, method=method, evaluations=1000))


def in_turns() -> dict[str, Any]:
    """Methods that race take turns where evaluations bound them, which is deterministic."""
    _, problem, target, start = pose_of("panda:panda_arm", 27)
    method = mk.methods.Cascade(["jac", "memetic"], raced=True, turn=200)
    return of_solution(problem.solve(target, seed=start, method=method, evaluations=2000))


def preset() -> dict[str, Any]:
    """A method with parameters and what goes with it."""
    _, problem, target, start = pose_of("panda:panda_arm", 28)
    chosen = mk.methods.Preset(mk.methods.Memetic(population=4))
    return of_solution(problem.solve(target, seed=start, method=chosen, evaluations=2000))


def _own() -> dict[str, Callable[[], dict[str, Any]]]:
    return {
        "pivot/pivot-hole": lambda: through_a_hole("pivot"),
        "pivot/pivot-damped": lambda: through_a_hole(mk.methods.Pivot(damping=0.05, exact=False)),
        "pivot_memetic/pivot-hole": lambda: through_a_hole("pivot_memetic"),
        "pivot_memetic/memetic-small": lambda: through_a_hole(mk.methods.PivotMemetic()),
        "cascade/turns": in_turns,
        "cascade/in-order": lambda: far(mk.methods.Cascade(["lma", "memetic"]), "panda:panda_arm", 1500),
        "cached/again": remembered,
        "seeded/by-jac": lambda: seeded("jac"),
        "seeded/by-ccd": lambda: seeded("ccd"),
        "preset": preset,
        "neural/offset": lambda: learned("offset"),
        "neural_direct/direct": lambda: learned("direct"),
    }


def cases() -> Iterator[Case]:
    for name in NATIVE:
        yield Case(f"methods/{name}/far", lambda name=name: far(name, "panda:panda_arm", 1500))
        yield Case(f"methods/{name}/near", lambda name=name: near(name, 400))
    for name in (*SCIPY, *OTHERS):
        blas = name in SCIPY
        yield Case(f"methods/{name}/far", lambda name=name: far(name, "ur5", 400), blas=blas)
        yield Case(f"methods/{name}/near", lambda name=name: near(name, 200), blas=blas)
    for name in (f"nlopt_{algorithm}" for algorithm in NLOPT):
        yield Case(f"methods/{name}/far", lambda name=name: far(name, "ur5", 300), blas=True, needs=("nlopt",))
        yield Case(f"methods/{name}/near", lambda name=name: near(name, 150), blas=True, needs=("nlopt",))
    for label, run in _own().items():
        yield Case(f"methods/{label}", run, blas=True)
    for name in ("ur5", "racer5"):
        yield Case(f"methods/analytic/{name}", lambda name=name: closed_form(name), blas=True, needs=("eaik",))
