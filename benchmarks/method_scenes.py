"""Engelke's comparisons in scenes: rejection sampling, seeding, optimisers and modes (2024, chapters 6 and 8).

Run: python benchmarks/methods.py --tables 8.1 8.8 8.11 8.14 [--targets 100]

The robot is the endoscope on a UR10, as there. Methods know nothing of the scene: each candidate is shown to a
predicate that asks whether it touches anything (MoveIt's solution callback); where it does the method starts again.
Bare methods are judged by their first candidate. Time is counted, not measured: an evaluation takes as long as the
source's numbers say, and so does the check of a candidate, which in scenes takes nearly all of it there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from method_tables import NEVER
from method_verdicts import judged, percent
from peers.report import Report
from rich.progress import track

import memetik as mk
from memetik.bench.scenarios import Scenario, scenario
from memetik.bench.seeding import seeds_of
from memetik.solve.methods.bio import Bio1Ros, Bio2
from memetik.solve.methods.descent import GradientDescent
from memetik.solve.methods.newton import Jac, Kdl
from memetik.solve.methods.pick import Pick

ROD = "endoscope_rod_1"

# Evaluations in a millisecond. BioIK: 20 300 in 0.335 ms on Random, on four threads; RelaxedIK: 582 in 0.436 ms, by way
# of MoveIt's kinematics, which PickIK uses too; KDL's iteration with its decomposition takes about 10 us (chapter 7.2).
BIO2, MOVEIT, KDL = 60_600.0, 1335.0, 100.0
EXACT = BIO2 / 10
"""Of BioIK's modes that do not extrapolate kinematics."""

CHECK = {"Random": 0.0, "Barrel": 0.66, "TableObjects": 1.86, "HydrogenTank": 2.7}
"""Milliseconds of a candidate's check: mean time over mean candidates (tables A1, A5 and A8) without KDL's 0.35 ms of
search. Of Random's self-collision it is part of the rates above."""


@dataclass(frozen=True)
class Contestant:
    """A method as the source ran it.

    rate       evaluations in a millisecond.
    source     percent by scenario, where the source prints them.
    bare       judged by its first candidate.
    seeding    where it starts from, as in `memetik bench --seeding`.
    tolerance  metres and radians.
    """

    label: str
    method: Any
    rate: float
    source: Mapping[str, float] = field(default_factory=dict)
    bare: bool = False
    seeding: str = "random"
    tolerance: float = 1e-5


@dataclass(frozen=True)
class SceneTable:
    """A comparison: contestants in scenarios.

    milliseconds  of the source, by scenario.
    orderings     (better, worse, scenarios).
    pivot         scenarios in which the endoscope's first rod passes through the mouth as a goal (within 1 mm).
    details       show candidates and the median time at the contestant's rate, too.
    targets       at most.
    """

    name: str
    milliseconds: Mapping[str, float]
    contestants: tuple[Contestant, ...]
    orderings: tuple[tuple[str, str, Sequence[str]], ...]
    pivot: tuple[str, ...] = ()
    details: bool = False
    targets: int = 300
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What became of each target: solved in time or not, candidates that were shown, milliseconds."""

    success: np.ndarray
    candidates: np.ndarray
    milliseconds: np.ndarray


def run_table(report: Report, table: SceneTable, targets: int) -> None:
    count = min(targets, table.targets)
    cells: dict[str, list[str]] = {one.label: [one.label] for one in table.contestants}
    columns, remarks = ["method"], []
    for place, milliseconds in table.milliseconds.items():
        outcomes = {}
        printed = any(place in one.source for one in table.contestants)
        for one in track(table.contestants, description=f"{table.name} in {place}", transient=True):
            outcome = outcomes[one.label] = measure(one, place, count, milliseconds, place in table.pivot)
            row = cells[one.label]
            row.append(percent(outcome.success))
            if table.details:
                time = np.where(outcome.success, outcome.milliseconds, np.inf)
                row += [f"{outcome.candidates[outcome.success].mean():.1f}" if outcome.success.any() else "",
                        f"{np.median(time):.2f}" if np.isfinite(np.median(time)) else ""]  # fmt: skip
            if printed:
                row.append(f"{one.source[place]:.1f}" if place in one.source else "")
        columns.append(f"{place}, {milliseconds:g} ms")
        columns += ["candidates", "median ms"] if table.details else []
        columns += ["source"] if printed else []
        remarks += [
            judged(f"{place}: {better} > {worse}", outcomes[better].success, outcomes[worse].success)
            for better, worse, places in table.orderings
            if place in places
        ]
    report.table(f"{table.name}; {count} targets", columns, list(cells.values()))
    for line in (*remarks, *table.notes):
        report.say("  " + line)


def measure(one: Contestant, place: str, count: int, milliseconds: float, pivot: bool) -> Outcome:
    """A contestant on all targets of a scenario."""
    setting = setting_of(place, count)
    robot = setting.robot
    goals: list[mk.Goal] = [mk.Pose(robot.tip, position_tolerance=one.tolerance, rotation_tolerance=one.tolerance)]
    if pivot:
        goals.append(mk.Pivot(ROD, setting.metadata["opening"]["centre"], "z", tolerance=1e-3))
    problem, confinement = mk.Problem(robot, goals), setting.problem.confinement
    assert confinement is not None
    touches = confinement.touches
    seeds, most, check = seeds_of(setting, one.seeding, trial=0), int(one.rate * milliseconds), CHECK[place]
    solved, candidates, times = [], [], []
    for k in range(count):
        shown = 0

        def free(q: np.ndarray) -> bool:
            nonlocal shown
            shown += 1
            return one.bare or shown * check > milliseconds or not touches(q)  # too late: whatever it is, it is over

        solution = problem.solve(
            *setting.of(k), seed=seeds[k], method=one.method, evaluations=most, rng=(5, k), valid=free
        )
        times.append(solution.evaluations / one.rate + shown * check)
        solved.append(solution.success and times[-1] <= milliseconds and not touches(solution.q))
        candidates.append(shown)
    return Outcome(np.array(solved), np.array(candidates), np.array(times))


@cache
def setting_of(place: str, count: int) -> Scenario:
    return scenario(place, "elise", targets=count, seed=1)


def tables() -> dict[str, SceneTable]:
    """All comparisons by name."""
    found = (rejection_sampling(), seeding(), optimisers(), modes())
    return {table.name: table for table in found}


def rejection_sampling() -> SceneTable:
    """Tables 6.1, 8.1, A1, A5, A6 and A8. PickIK's own restarts begin at the seed again there, which is a defect."""
    places = ("Random", "Barrel", "TableObjects", "HydrogenTank")
    trac, relaxed = mk.methods.method_named("trac"), mk.methods.Relaxed(gradient="numeric")
    contestants = (
        Contestant("KDL", Kdl(), KDL, _at(places, 100.0, 97.8, 100.0, 18.9)),
        Contestant("TracIK, bare", trac, 2 * KDL, _at(places, 79.6, 12.1, 74.4, 0.0), bare=True),
        Contestant("TracIK", trac, 2 * KDL, {"Random": 100.0}),
        Contestant("PickIK, bare", Pick(keep_seed=True), MOVEIT, _at(places, 92.7, 54.7, 97.4, 0.4), tolerance=1e-3),
        Contestant("PickIK", Pick(), MOVEIT, {"Random": 95.8}, tolerance=1e-3),
        Contestant("BioIK, bare", Bio2(), BIO2, _at(places, 74.1, 17.4, 79.2, 0.0), bare=True),
        Contestant("BioIK", Bio2(), BIO2, {"Random": 100.0, "HydrogenTank": 17.3}),
        Contestant("RelaxedIK", relaxed, MOVEIT, _at(places, 100.0, 98.4, 100.0, 14.1)),
    )
    return SceneTable(
        "8.1 rejection sampling", dict(zip(places, (1000.0, 100.0, 100.0, 100.0), strict=True)), contestants,
        (
            *((name, f"{name}, bare", places) for name in ("TracIK", "PickIK", "BioIK")),
            ("TracIK", "KDL", places), ("BioIK", "KDL", places), ("BioIK", "PickIK", places),
        ),
    )  # fmt: skip


def seeding() -> SceneTable:
    """Table 8.8: first candidates that are free, from no seed, the endoscope straight in the mouth, or the posture of
    another target."""
    methods = (
        ("KDL", Kdl(), KDL, (0.0, 0.0, 48.2)),
        ("TracIK", mk.methods.method_named("trac"), 2 * KDL, (0.0, 0.0, 44.6)),
        ("BioIK", Bio2(), BIO2, (0.0, 0.1, 31.4)),
        ("RelaxedIK", mk.methods.Relaxed(gradient="numeric"), MOVEIT, (0.6, 1.0, 10.1)),
    )
    seeds = {"none": "middle", "straight": "straight", "target": "another"}
    place = "HydrogenTank"
    contestants = tuple(
        Contestant(f"{name}, {seed}", method, rate, {place: figure}, bare=True, seeding=seeds[seed])
        for name, method, rate, figures in methods
        for seed, figure in zip(seeds, figures, strict=True)
    )
    names = [name for name, *_ in methods]
    return SceneTable(
        "8.8 seeding", {place: 100.0}, contestants,
        (
            *((f"{name}, target", f"{name}, {other}", (place,)) for name in names for other in ("none", "straight")),
            *((f"{a}, target", f"{b}, target", (place,)) for a, b in pairwise(names)),
        ),
    )  # fmt: skip


def optimisers() -> SceneTable:
    """Figure 8.19: NLopt's optimisers behind RelaxedIK. The source prints no figures."""
    gradients = ("slsqp", "lbfgs", "var", "tnewton", "mma", "ccsaq")
    without = ("praxis", "nelder_mead", "bobyqa", "sbplx", "cobyla")
    globals_ = ("stogo", "direct", "ags", "isres", "esch")
    contestants = tuple(
        Contestant(name, mk.methods.Relaxed(optimizer=f"nlopt_{name}", gradient="numeric"), MOVEIT)
        for name in (*gradients, *without, *globals_)
    )
    places = {"Random": 2.0, "TableObjects": 10.0, "HydrogenTank": 20.0}
    simple, tank = ("Random", "TableObjects"), ("HydrogenTank",)
    return SceneTable(
        "8.11 optimisers", places, contestants,
        (
            *(("slsqp", other, simple) for other in (*gradients[1:], *without)),
            *((better, worse, tank) for better in gradients[:4] for worse in without),
            *(("slsqp", other, tuple(places)) for other in globals_),
        ),
        pivot=tank,
        targets=100,
        notes=("HydrogenTank with the rod through the mouth as a goal, as in the source.",),
    )  # fmt: skip


def modes() -> SceneTable:
    """Figure 8.26: BioIK's modes. The source prints no figures. A Jacobian that is stuck stays so there."""
    contestants = (
        Contestant("bio2", Bio2(local="none"), BIO2),
        Contestant("bio2_memetic", Bio2(), BIO2),
        Contestant("bio2_memetic_l", Bio2(local="linear"), BIO2),
        Contestant("bio2_memetic_lbfgs", Bio2(local="lbfgs"), BIO2),
        Contestant("bio1", Bio1Ros(islands=4), EXACT),
        Contestant("gd_8", GradientDescent(islands=8, restarts=False), 2 * EXACT),
        Contestant("gd_r_8", GradientDescent(acceptance="reset", islands=8), 2 * EXACT),
        Contestant("gd_c_8", GradientDescent(acceptance="always", islands=8), 2 * EXACT),
        Contestant("jac_8", Jac(islands=8, patience=NEVER, iterations=NEVER), 8 * KDL),
        # The source takes numeric gradients, ten evaluations each with nine joints.
        Contestant("optlib_bfgs", mk.methods.method_named("bfgs"), EXACT / 40),
    )
    places = {"Random": 5.0, "TableObjects": 20.0, "HydrogenTank": 300.0}
    return SceneTable(
        "8.14 modes", places, contestants,
        (
            *(("bio2_memetic", f"gd{kind}_8", tuple(places)) for kind in ("", "_r", "_c")),
            ("bio2_memetic", "jac_8", tuple(places)),
            *(("bio2_memetic", other, ("HydrogenTank",)) for other in ("bio2", "bio1", "optlib_bfgs")),
        ),
        details=True,
        targets=300,
    )  # fmt: skip


def _at(places: Sequence[str], *percent: float) -> dict[str, float]:
    return dict(zip(places, percent, strict=True))
