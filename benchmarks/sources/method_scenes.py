"""Engelke's comparisons in scenes: rejection sampling, seeding, optimisers and modes (2024, chapters 6 and 8).

Run: python benchmarks/sources/methods.py --tables 8.1 8.8 8.11 8.12 8.14 [--targets 100]

The robot is the endoscope on a UR10, as there. Methods know nothing of the scene: each candidate is shown to a
predicate that asks whether it touches anything (MoveIt's solution callback); where it does the method starts again.
Bare methods are judged by their first candidate. Without a seed all start from one configuration, the middle of the
limits: KDL's first candidates solve 0.0 % of the tank there, which random ones would not. Time is counted, not
measured: an evaluation takes as long as the source's numbers say, and so does the check of a candidate, which in scenes
takes nearly all of it there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from typing import Any, Literal

import benchmarks_path  # noqa: F401
import numpy as np
from method_tables import DESCENT, NEVER, SLOW_TARGETS
from method_verdicts import FEWER, QUICKER, Reason, Verdicts, percent, stated_rates
from peers.report import Report
from rich.progress import track

import memetik as mk
from memetik.bench.report.statistics import compare_costs
from memetik.bench.run.seeding import seeds_of
from memetik.bench.scenarios import Scenario, scenario
from memetik.solve.literature.bio import Bio1Ros, Bio2, Pick
from memetik.solve.literature.newton import GradientDescent, Jac, Kdl

ROD = "endoscope_rod_1"
CONFIGURATIONS = {
    "home": np.radians([0, -90, 90, -90, -90, 0, 0, 0, 0]),
    "upright": np.radians([0, -90, 0, -90, 0, 0, 0, 0, 0]),
}
"""In which these arms wait."""
SAMPLES = 1000

# Evaluations in a millisecond. BioIK: 20 300 in 0.335 ms on Random, on four threads (chapter 7.2, table 8.9);
# RelaxedIK: 582 in 0.436 ms. KDL: 0.475 ms for 1.343 candidates on Random (table 6.1), which take 33 iterations each
# here. PickIK solves 20.1 % of Random in 5 ms and 42.6 % in 10 ms (table 6.1), here after 2660 and 4770 evaluations.
BIO2, RELAXED, KDL, PICK = 60_600.0, 1335.0, 33 * 1.343 / 0.475, 500.0
EXACT = BIO2 * DESCENT / 75_000
"""Of BioIK's modes that do not extrapolate kinematics, on four threads: as tables 3.1 to 3.6 are calibrated."""

CHECK = {
    "Random": 0.0, "Barrel": 0.66, "SmallTable": 1.79, "Shelf": 2.37, "Table": 1.74, "TableObjects": 1.86,
    "HydrogenTank": 2.7, "HydrogenTankSmall": 4.2,
}  # fmt: skip
"""Milliseconds of a candidate's check: mean time over mean candidates (tables A1 to A9) without 0.35 ms of search. Of
Random's self-collision it is part of the rates above. The captions of A2, A3 and A4 are one table off: the text has
TracIK solve 80.4 % of Table (A4's figure) and next to nothing of Shelf (A3's), so A2 is SmallTable."""


@dataclass(frozen=True)
class View:
    """A scenario, and the milliseconds after which it is looked at; the last one is the timeout.

    goal  beside the pose: the endoscope's first rod passes through the mouth ("pivot"), or its base is on the line
          through the mouth along the tank ("line"), within 1 mm.
    """

    place: str
    milliseconds: tuple[float, ...]
    goal: Literal["", "pivot", "line"] = ""

    @property
    def name(self) -> str:
        return f"{self.place}, {self.goal}" if self.goal else self.place

    def column(self, milliseconds: float) -> str:
        return f"{self.name}, {milliseconds:g} ms"


@dataclass(frozen=True)
class Solver:
    """A method as the source ran it.

    rate       evaluations in a millisecond.
    source     percent by column, where the source prints them.
    bare       judged by its first candidate.
    seeding    where it starts from, as in `memetik bench --seeding`; or one of `CONFIGURATIONS`.
    tolerance  metres and radians.
    views      where it takes part; everywhere if empty.
    """

    label: str
    method: Any
    rate: float
    source: Mapping[str, float] = field(default_factory=dict)
    bare: bool = False
    seeding: str = "middle"
    tolerance: float = 1e-5
    views: tuple[str, ...] = ()


@dataclass(frozen=True)
class SceneTable:
    """A comparison: solvers in views.

    Orderings are those of the printed percentages, and what the text says: `orderings` (better, worse) in columns,
    `equals` of columns that are level, `quicker` and `fewer` (in milliseconds, in candidates) of views.

    details  show candidates and mean time, too.
    """

    name: str
    views: tuple[View, ...]
    solvers: tuple[Solver, ...]
    orderings: tuple[tuple[str, str, Sequence[str]], ...] = ()
    equals: tuple[tuple[str, str, Sequence[str]], ...] = ()
    quicker: tuple[tuple[str, str, Sequence[str]], ...] = ()
    fewer: tuple[tuple[str, str, Sequence[str]], ...] = ()
    details: bool = False
    reasons: tuple[Reason, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What became of each target: solved in time or not, candidates that were shown, milliseconds."""

    success: np.ndarray
    candidates: np.ndarray
    milliseconds: np.ndarray

    def within(self, milliseconds: float) -> np.ndarray:
        return self.success & (self.milliseconds <= milliseconds)


def run_table(
    report: Report, verdicts: Verdicts, table: SceneTable, targets: int, only: Sequence[str] | None = None
) -> None:
    """All of a comparison, or the places named only."""
    cells: dict[str, list[str]] = {one.label: [one.label] for one in table.solvers}
    columns, count = ["method"], min(targets, SLOW_TARGETS)
    for view in table.views:
        if only and view.place not in only:
            continue
        outcomes = {
            one.label: measure(one, view, count)
            for one in track(table.solvers, description=f"{table.name} in {view.name}", transient=True)
            if not one.views or view.name in one.views
        }
        for milliseconds in view.milliseconds:
            column = view.column(milliseconds)
            printed = {one.label: one.source[column] for one in table.solvers if column in one.source}
            columns += [column, "source"] if printed else [column]
            for label, row in cells.items():
                row.append(percent(outcomes[label].within(milliseconds)) if label in outcomes else "")
                row += [f"{printed[label]:.1f}" if label in printed else ""] if printed else []
            judge_rates(verdicts, table, column, printed, {k: o.within(milliseconds) for k, o in outcomes.items()})
        if table.details:
            columns += ["candidates", "ms"]
            for label, row in cells.items():
                row += _details(outcomes[label]) if label in outcomes else ["", ""]
        judge_costs(verdicts, table, view.name, outcomes)
    report.table(f"{table.name}, percent solved; {count} targets", columns, list(cells.values()))
    verdicts.tell(report, table.name)
    for line in table.notes:
        report.say("  " + line)


def judge_rates(
    verdicts: Verdicts, table: SceneTable, column: str, printed: Mapping[str, float], solved: Mapping[str, np.ndarray]
) -> None:
    pairs = dict.fromkeys(stated_rates(printed, SAMPLES))
    pairs |= dict.fromkeys((better, worse) for better, worse, where in table.orderings if column in where)
    for better, worse in pairs:
        reasons = [reason for reason in table.reasons if reason.borne_out((better, worse), column, {column: solved})]
        verdicts.rates(table.name, column, (better, worse), solved[better], solved[worse], reasons)
    for first, second, where in table.equals:
        if column in where:
            verdicts.equal(table.name, column, (first, second), solved[first], solved[second], table.reasons)


def judge_costs(verdicts: Verdicts, table: SceneTable, view: str, outcomes: Mapping[str, Outcome]) -> None:
    """On targets that both have solved."""
    for what, sign, orderings in (("milliseconds", QUICKER, table.quicker), ("candidates", FEWER, table.fewer)):
        for pair in ((better, worse) for better, worse, where in orderings if view in where):
            reasons = [
                reason for reason in table.reasons
                if set(names := reason.stand_ins(pair)) <= set(outcomes) and names != pair
                and compare_costs(*costs_of(outcomes, names, what)).verdict != "second"
            ]  # fmt: skip
            verdicts.times(table.name, view, pair, *costs_of(outcomes, pair, what), reasons, what, sign)


def costs_of(outcomes: Mapping[str, Outcome], pair: tuple[str, str], what: str) -> tuple[np.ndarray, np.ndarray]:
    """Of two solvers, on the targets that both have solved."""
    first, second = (outcomes[label] for label in pair)
    both = first.success & second.success
    return getattr(first, what)[both], getattr(second, what)[both]


def _details(outcome: Outcome) -> list[str]:
    if not outcome.success.any():
        return ["", ""]
    return [f"{values[outcome.success].mean():.3g}" for values in (outcome.candidates, outcome.milliseconds)]


def measure(one: Solver, view: View, count: int) -> Outcome:
    """A solver on all targets of a scenario."""
    setting = setting_of(view.place, count)
    robot, milliseconds = setting.robot, view.milliseconds[-1]
    goals: list[mk.Goal] = [mk.Pose(robot.tip, position_tolerance=one.tolerance, rotation_tolerance=one.tolerance)]
    opening = setting.metadata.get("opening", {})
    if view.goal == "pivot":
        goals.append(mk.Pivot(ROD, opening["centre"], "z", tolerance=1e-3))
    elif view.goal == "line":
        goals.append(mk.Line(ROD, opening["centre"], opening["axis"], tolerance=1e-3))
    problem, context = mk.Problem(robot, goals), setting.problem.collision_context
    assert context is not None
    touches = context.in_collision
    configuration = CONFIGURATIONS.get(one.seeding)
    seeds = seeds_of(setting, one.seeding, trial=0) if configuration is None else np.tile(configuration, (count, 1))
    most, check = int(one.rate * milliseconds), CHECK[view.place]
    solved, candidates, times = [], [], []
    for k in range(count):
        shown, last = 0, np.empty(0)

        def free(q: np.ndarray) -> bool:
            nonlocal shown, last
            if not np.array_equal(q, last):  # what wraps other methods asks twice
                shown, last = shown + 1, np.array(q)
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
    found = (rejection_sampling(), seeding(), kept_seeds(), optimisers(), modes())
    return {table.name: table for table in found}


def rejection_sampling() -> SceneTable:
    """Tables 6.1, 8.1, 8.2 and A1 to A9. PickIK's own restarts begin at the seed again there, which is a defect."""
    scenes = ("Barrel", "SmallTable", "Shelf", "Table", "TableObjects")
    views = (
        View("Random", (5.0, 1000.0)),
        *(View(place, (10.0, 100.0)) for place in scenes),
        View("HydrogenTank", (100.0, 1000.0)),
        View("HydrogenTankSmall", (100.0, 1000.0)),
    )
    columns = [view.column(ms) for view in views for ms in view.milliseconds]
    in_scenes = tuple(view.column(ms) for view in views[1:6] for ms in view.milliseconds)
    bare = ("TracIK, bare", "BioIK, bare", "PickIK, bare")
    trac, relaxed = mk.methods.method_named("trac"), mk.methods.Relaxed(gradient="numeric")
    # fmt: off
    solvers = (
        Solver("KDL", Kdl(), KDL, _at(
            columns, 98.9, 100.0, 50.5, 97.8, 78.0, 99.9, 22.1, 87.4, 89.3, 100.0, 91.3, 100.0, 18.9, 56.8, 1.6, 14.5)),
        Solver("TracIK, bare", trac, 2 * KDL, _at(
            columns, 79.6, 79.6, 12.1, 12.1, 53.9, 53.9, 0.7, 0.7, 80.5, 80.5, 74.4, 74.4, 0.0, 0.0, 0.0, 0.0),
            bare=True),
        Solver("TracIK", trac, 2 * KDL, _at(columns[:2], 100.0, 100.0)),
        Solver("PickIK, bare", Pick(keep_seed=True), PICK, _at(
            columns, 20.1, 92.7, 5.7, 54.7, 19.8, 83.9, 3.8, 40.7, 26.3, 80.3, 29.0, 97.4, 0.4, 0.5, 0.1, 0.1),
            tolerance=1e-3),
        Solver("PickIK", Pick(), PICK, _at(columns[:2], 28.0, 95.8), tolerance=1e-3),
        Solver("BioIK, bare", Bio2(), BIO2, _at(
            columns, 74.1, 74.1, 17.4, 17.4, 61.8, 61.8, 0.3, 0.3, 85.1, 85.1, 79.2, 79.2, 0.0, 0.0, 0.0, 0.0),
            bare=True),
        Solver("BioIK", Bio2(), BIO2, _at((*columns[:2], *columns[-4:]), 100.0, 100.0, 17.3, 68.9, 1.4, 13.8)),
        Solver("RelaxedIK", relaxed, RELAXED, _at(
            columns[2:], 57.9, 98.4, 76.9, 99.8, 25.1, 91.3, 96.2, 100.0, 88.0, 100.0, 14.1, 48.4, 0.8, 9.8)),
    )
    solvers += tuple(
        replace(one, label=f"{one.label}, from {configuration}", seeding=configuration, source={}, views=scenes)
        for configuration in CONFIGURATIONS for one in solvers if one.label in bare
    )
    # fmt: on
    later = [view.column(view.milliseconds[-1]) for view in views]
    return SceneTable(
        "8.1 8.2 rejection sampling", views, solvers,
        orderings=(
            *((name, f"{name}, bare", later) for name in ("TracIK", "PickIK", "BioIK")),
            *((name, "KDL", later[1:7]) for name in ("TracIK", "BioIK")),
            ("RelaxedIK", "KDL", [views[0].column(5.0)]),
        ),
        quicker=(("TracIK", "BioIK", ("Random",)), ("KDL", "PickIK", ("Random",)), ("BioIK", "PickIK", ("Random",))),
        fewer=tuple((name, "PickIK", ("Random",)) for name in ("KDL", "TracIK", "BioIK")),
        details=True,
        reasons=(
            *(
                Reason(
                    "bare methods depend on the configuration that all start from, which the source does not print: "
                    "not so "
                    f"from {configuration}", bare[:2], bare, in_scenes,
                    instead={label: f"{label}, from {configuration}" for label in bare},
                )
                for configuration in CONFIGURATIONS
            ),
        ),
    )  # fmt: skip


def seeding() -> SceneTable:
    """Table 8.8: first candidates that are free, from no seed, the endoscope straight in the mouth, or the
    configuration of another target."""
    tank, small = View("HydrogenTank", (100.0,)), View("HydrogenTankSmall", (100.0,))
    methods = (
        ("KDL", Kdl(), KDL, (0.0, 0.0, 48.2)),
        ("TracIK", mk.methods.method_named("trac"), 2 * KDL, (0.0, 0.0, 44.6)),
        ("BioIK", Bio2(), BIO2, (0.0, 0.1, 31.4)),
        ("RelaxedIK", mk.methods.Relaxed(gradient="numeric"), RELAXED, (0.6, 1.0, 10.1)),
    )
    seeds = {"none": "middle", "straight": "straight", "target": "another"}
    column, other = tank.column(100.0), small.column(100.0)
    solvers = tuple(
        Solver(
            f"{name}, {seed}", method, rate, {column: figure, **({other: 26.4} if (name, seed) == LEAD else {})},
            bare=True, seeding=seeds[seed], views=() if name == "KDL" else (tank.name,),
        )
        for name, method, rate, figures in methods
        for seed, figure in zip(seeds, figures, strict=True)
    )  # fmt: skip
    names = [name for name, *_ in methods]
    return SceneTable(
        "8.8 seeding", (tank, small), solvers,
        orderings=(("KDL, target", "KDL, none", (other,)),),
        equals=tuple((f"{name}, straight", f"{name}, none", (column,)) for name in names),
        notes=("The source starts all from the configuration of one target; here it is that of another one for each.",),
    )  # fmt: skip


LEAD = ("KDL", "target")


def kept_seeds() -> SceneTable:
    """Figure 8.23: whether BioIK draws another start after a rejected candidate, or keeps its seed. No figures."""
    view = View("HydrogenTank", (30.0, 1000.0))
    early, late = (view.column(ms) for ms in view.milliseconds)
    return SceneTable(
        "8.12 kept seeds", (view,),
        (
            Solver("none", Bio2(), BIO2),
            Solver("target", Bio2(), BIO2, seeding="another"),
            Solver("target, kept", Bio2(keep_seed=True), BIO2, seeding="another"),
        ),
        orderings=(
            ("target", "none", (early,)), ("target, kept", "target", (early,)), ("target", "target, kept", (late,)),
        ),
    )  # fmt: skip


def optimisers() -> SceneTable:
    """Figure 8.19: NLopt's optimisers behind RelaxedIK. The source prints no figures."""
    views = (View("Random", (2.0, 10.0)), View("Shelf", (20.0,)),
             View("HydrogenTank", (20.0,), "pivot"))  # fmt: skip
    gradients, without = ("lbfgs", "var", "tnewton"), ("praxis", "nelder_mead", "bobyqa", "sbplx")
    slow, globals_ = ("cobyla", "mma", "ccsaq"), ("stogo", "direct", "ags", "isres", "esch")
    local = ("slsqp", *gradients, *without)
    solvers = tuple(
        Solver(
            name, mk.methods.Relaxed(optimizer=f"nlopt_{name}", gradient="numeric"), RELAXED,
            views=() if name in local else ("Random",),
        )
        for name in (*local, *slow, *globals_)
    )  # fmt: skip
    random, simple = [views[0].column(10.0)], [views[0].column(2.0), views[1].column(20.0)]
    tank = [views[2].column(20.0)]
    return SceneTable(
        "8.11 optimisers", views, solvers,
        orderings=(
            *(("slsqp", other, simple) for other in local[1:]),
            *(("slsqp", other, random) for other in (*slow, *globals_)),
            *((better, worse, random) for better, worse in product(without[:2], (*without[2:], "cobyla", *gradients))),
            *((better, worse, random) for better, worse in product(("bobyqa", "sbplx"), slow)),
            *((better, "bobyqa", random) for better in gradients),
            *(("stogo", other, random) for other in globals_[1:]),
            *((better, worse, tank) for better, worse in product(("slsqp", *gradients), without)),
            *((better, "slsqp", tank) for better in gradients),
        ),
    )  # fmt: skip


COSTLY = "bio2_memetic_lbfgs, a third"


def modes() -> SceneTable:
    """Figure 8.26: BioIK's modes. The source prints no figures. A Jacobian or a gradient that is
    stuck stays so there."""
    simple, poor = ("Random", "Barrel"), ("gd", "gd_8")
    solvers = (
        Solver("bio2_memetic", Bio2(), BIO2),
        Solver("bio2", Bio2(local="none"), BIO2),
        Solver("bio2_memetic_l", Bio2(local="linear"), BIO2),
        Solver("bio2_memetic_lbfgs", Bio2(local="lbfgs"), BIO2),
        Solver("bio1", Bio1Ros(islands=4), EXACT),
        Solver("gd", GradientDescent(restarts=False), EXACT / 4),
        Solver("gd_8", GradientDescent(islands=8, restarts=False), 2 * EXACT),
        Solver("gd_c_8", GradientDescent(acceptance="always", islands=8), 2 * EXACT, views=simple),
        Solver("jac_8", Jac(islands=8, patience=NEVER, iterations=NEVER), 8 * KDL),
        # CppNumericalSolvers takes central differences at each trial of its line search, 18 evaluations more with nine
        # joints: about 47 in an iteration of L-BFGS, where ours takes 17.
        Solver(COSTLY, Bio2(local="lbfgs"), BIO2 / 3, views=("HydrogenTank",)),
        # One thread.
        Solver("optlib_bfgs", mk.methods.method_named("bfgs"), EXACT / 4 / 19),
    )
    others = [one.label for one in solvers[1:] if one.label not in ("gd_c_8", COSTLY)]  # which are ours
    anywhere = {label: f"{label}, random seed" for label in ("bio2_memetic", "gd_c_8", *others) if label not in poor}
    solvers += tuple(
        replace(one, label=anywhere[one.label], seeding="random", views=("Random",))
        for one in solvers
        if one.label in anywhere
    )
    able = [other for other in others if other not in poor]
    views = (
        View("Random", (5.0, 100.0)),
        View("Barrel", (20.0, 100.0)),
        View("HydrogenTank", (1000.0,)),
        View("HydrogenTank", (50.0, 1000.0), "line"),
    )
    tank, soon, late = views[2].column(1000.0), views[3].column(50.0), views[3].column(1000.0)
    ends = [views[0].column(100.0), views[1].column(100.0)]
    return SceneTable(
        "8.14 modes", views, solvers,
        orderings=(
            ("bio2_memetic", "jac_8", ends),
            *(("bio2_memetic", other, ends) for other in poor),
            *(("bio2_memetic", other, (tank, soon)) for other in others if other != "optlib_bfgs"),
            ("bio2_memetic", "optlib_bfgs", (soon,)),
            ("optlib_bfgs", "bio2_memetic", (late,)),
        ),
        equals=(("bio2_memetic", "optlib_bfgs", (tank,)),),
        quicker=(
            *(("jac_8", other, simple) for other in ("bio2_memetic", *able) if other != "jac_8"),
            *(("bio2_memetic", other, simple) for other in able if other != "jac_8"),
        ),
        fewer=tuple(("bio1", other, simple) for other in ("bio2_memetic", *able) if other != "bio1"),
        details=True,
        reasons=(
            *(
                Reason(
                    "it depends on the configuration that all start from, which the source does not print: not so from "
                    "random "
                    "ones", where=("Random",), sign=sign, instead=anywhere,
                )
                for sign in (QUICKER, FEWER)
            ),
            Reason(
                "not so with as many evaluations as the source's L-BFGS takes",
                worse=("bio2_memetic_lbfgs",), where=(tank,), instead={"bio2_memetic_lbfgs": COSTLY},
            ),
        ),
    )  # fmt: skip


def _at(columns: Sequence[str], *percent: float) -> dict[str, float]:
    return dict(zip(columns, percent, strict=True))
