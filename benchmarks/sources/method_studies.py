"""Studies of single methods: full bodies, parameter maps, ablations, and what kinematics cost."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import benchmarks_path  # noqa: F401
import numpy as np
from full_body import SETUPS, Setup
from method_verdicts import Reason, Verdicts, percent
from peers.report import Report
from peers.targets import reachable
from rich.progress import track

import memetik as mk
from memetik.bench.report.statistics import compare_costs
from memetik.solve.literature.bio import Bio1

# Population, elites and the percentages for the mean and the root mean square of errors, from Starke's table 5.4.
STARKE = {
    "torso to right wrist": (90, 2, 90.23, 99.96),
    "right leg": (75, 2, 93.36, 99.98),
    "both wrists": (100, 3, 24.72, 98.31),
    "right wrist, elbow, head": (110, 3, 18.11, 98.82),
    "both wrists, head": (130, 3, 7.94, 97.98),
    "right wrist, four fingers": (150, 3, 11.61, 97.69),
    "both wrists, both feet": (160, 4, 1.27, 95.29),
    "both wrists, both feet, head": (180, 4, 0.48, 94.56),
}
BODY_EVALUATIONS = 240_000
ABLATION_EVALUATIONS = 60_000
MAP_EVALUATIONS = 20_000
CONVERGENCE = Reason(
    "the source measures how far it converges, not how much it solves: by the error that is left, not so"
)
LONG_EXPLOITATION = 200
ACCURACY = 1e-3
"""Metres and radians: what the source asks for in general; it states none for its full bodies."""


def full_body(report: Report, verdicts: Verdicts, targets: int) -> None:
    """Table 5.4: the root mean square of errors against their mean, at the number of evaluations after which the former
    solves as many as in the source: its column is fitted, that of the mean is measured."""
    humanoid = mk.load_robot("valkyrie")
    rows, remarks = [], []
    for name, (population, elites, mean_source, rmse_source) in track(STARKE.items(), "full body", transient=True):
        robot, goals = humanoid.group(SETUPS[name].group), [_within(goal, ACCURACY) for goal in SETUPS[name].goals]
        method = Bio1(population=population, elites=elites)
        needed = _needed(robot, goals, method, targets, BODY_EVALUATIONS)
        wanted = max(1, round(rmse_source / 100 * targets))
        budget = int(min(np.sort(needed)[wanted - 1], BODY_EVALUATIONS))
        mean = _needed(robot, goals, replace(method, combination="mean"), targets, budget) <= budget
        rmse = needed <= budget
        rows.append([name, str(budget), percent(mean), f"{mean_source:.2f}", percent(rmse), f"{rmse_source:.2f}"])
        verdicts.rates("5.4 full body", name, ("root mean square", "mean"), rmse, mean)
        if budget == BODY_EVALUATIONS:
            # What keeps it below the source: L-BFGS has few steps in a generation.
            longer = replace(method, exploitation=LONG_EXPLOITATION, numeric_gradient=False)
            solved = _needed(robot, goals, longer, targets, budget) <= budget
            steps = f"{LONG_EXPLOITATION} exact steps of L-BFGS in a generation instead of {(population - elites) // 6}"
            remarks.append(f"why    {name}: with {steps} {percent(solved)}")
    columns = ("setup", "evaluations, fitted", "mean", "source", "root mean square, fitted", "source")
    title = f"5.4 full body, percent solved; at most {BODY_EVALUATIONS} evaluations; {targets} targets"
    report.table(title, columns, rows)
    report.say("  fitted: as many evaluations as the root mean square needs for the source's share of targets")
    verdicts.tell(report, "5.4 full body")
    for line in remarks:
        report.say("  " + line)


def parameter_map(report: Report, targets: int) -> None:
    """Efficiency of Bio IK, the mean of 1 / (fitness x time), over population and elites; largest 1 in each map.

    Fitness counts down to the accuracy asked for: what is below it is solved. Time is generations x offspring, as the
    source gives each elite a thread of its own, which works until the offspring are made; the second map counts all
    evaluations instead, as one thread does.
    """
    populations, elites = (10, 25, 50, 100, 150), (1, 2, 3, 5, 8)
    for name, robot, setup in _bodies():
        goals = [_within(goal, ACCURACY) for goal in setup.goals]
        problem, tasks = mk.Problem(robot, goals), reachable(robot, goals, targets, seed=3)
        threads, alone = (np.zeros((len(populations), len(elites))) for _ in range(2))
        for i, population in track(list(enumerate(populations)), f"map of {name}", transient=True):
            for j, elite in enumerate(elites):
                method = Bio1(population=population, elites=elite)
                solutions = [
                    problem.solve(
                        *tasks.of(k), seed=tasks.seeds[k], method=method, evaluations=MAP_EVALUATIONS, rng=(5, k)
                    )
                    for k in range(targets)
                ]
                fitness = np.array([max(np.sqrt(solution.cost), ACCURACY) for solution in solutions])
                generations = np.array([max(solution.statistics["generations"], 1) for solution in solutions])
                evaluations = np.array([solution.evaluations for solution in solutions])
                threads[i, j] = np.mean(1.0 / (fitness * generations * max(population - elite, 1)))
                alone[i, j] = np.mean(1.0 / (fitness * evaluations))
        for what, values in (("a thread for each elite", threads), ("one thread", alone)):
            rows = [[p, *(f"{v:.2f}" for v in row)] for p, row in zip(populations, values / values.max(), strict=True)]
            columns = ("population", *(f"{e} elites" for e in elites))
            report.table(f"Efficiency on {name}, {what}; {targets} targets", columns, rows)
    report.say("  The source: a broad range does as well; at least two elites; recommended 50 to 150 and 2 to 5.")


def ablations(report: Report, verdicts: Verdicts, targets: int) -> None:
    """Bio IK without one of its parts each, on hand and humanoid."""
    variants: dict[str, dict[str, Any]] = {
        "all": {}, "no adoption": {"adoption": False}, "no exploitation": {"exploit": False},
        "no wipe-out": {"wipeout": False}, "no random weights": {"random_weights": False},
        "exact gradient": {"numeric_gradient": False},
    }  # fmt: skip
    rows = {name: [name] for name in variants}
    columns = ["variant"]
    parts = [variant for variant in variants if variant.startswith("no ")]
    # Figure 5.3: each part contributes, exploitation most of all.
    pairs = [("all", part) for part in parts]
    pairs += [(part, "no exploitation") for part in parts if part != "no exploitation"]
    for name, robot, setup in _bodies():
        columns += [name, f"{name}, error left"]
        solved, errors = {}, {}
        for variant, parameters in track(variants.items(), f"ablations on {name}", transient=True):
            method = Bio1(population=75, elites=3, **parameters)
            batch = _solved(robot, setup.goals, method, targets, ABLATION_EVALUATIONS)
            solved[variant], errors[variant] = batch.success, np.sqrt(batch.cost)
            rows[variant] += [percent(batch.success), f"{errors[variant].mean():.2g}"]
        for better, worse in pairs:
            behind = compare_costs(errors[better], errors[worse]).verdict == "second"
            reasons = () if behind else (CONVERGENCE,)
            verdicts.rates("ablations", name, (better, worse), solved[better], solved[worse], reasons)
    title = f"Ablations of bio1, percent solved; {ABLATION_EVALUATIONS} evaluations; {targets} targets"
    report.table(title, columns, list(rows.values()))
    verdicts.tell(report, "ablations")


def kinematics(report: Report) -> None:
    """What a configuration costs: in lanes, alone, by Pinocchio's scalar code, and with derivatives.

    Incremental kinematics (only what is behind a changed joint) saves a scalar implementation a factor of 8 at 30
    joints (Starke, chapter 5.3). It beats lanes where it saves more than lanes do.
    """
    import pinocchio

    from memetik.robot.bundled import chain

    rows = []
    for joints in (6, 10, 30, 60, 120):
        robot = mk.Robot(chain.describe(joints))
        q = robot.random(0, 4096)
        lanes = _seconds(lambda robot=robot, q=q: robot.pose(robot.tip, q)) / len(q)
        both = _seconds(lambda robot=robot, q=q: robot.pose_and_jacobian(robot.tip, q)) / len(q)
        # Its parser knows no capsules, and kinematics need none.
        bare = re.sub(r"<(visual|collision)\b.*?</\1>", "", robot.to_urdf(), flags=re.DOTALL)
        model = pinocchio.buildModelFromXML(bare)
        data, configurations = model.createData(), list(q[:512])

        def scalar(model: Any = model, data: Any = data, configurations: Any = configurations) -> None:
            for one in configurations:
                pinocchio.forwardKinematics(model, data, one)

        def nothing(configurations: Any = configurations, identity: Any = pinocchio.SE3.Identity) -> None:
            for _ in configurations:
                identity()

        full = max(_seconds(scalar) - _seconds(nothing), 1e-9) / len(configurations)
        rows.append([
            joints, f"{lanes * 1e9:.0f}", f"{full * 1e9:.0f}", f"{full / lanes:.1f}", f"{both * 1e9:.0f}",
            f"{both / lanes:.1f}",
        ])  # fmt: skip
    columns = (
        "joints",
        "lanes, ns",
        "scalar, ns",
        "scalar / lanes",
        "lanes with Jacobian, ns",
        "configurations it costs",
    )
    report.table("Kinematics of a serial chain, for one configuration", columns, rows)
    report.say(
        "  Incremental updates would have to save more than 'scalar / lanes' to win; the source has 8 at 30 joints.\n"
        "  A numeric gradient takes as many configurations as joints; the exact one takes what the last column says."
    )


def _seconds(call: Any, repeats: int = 7) -> float:
    best = np.inf
    for _ in range(repeats):
        begin = time.process_time()
        call()
        best = min(best, time.process_time() - begin)
    return float(best)


def _bodies() -> list[tuple[str, mk.Robot, Setup]]:
    hand = mk.load_robot("shadow_hand")
    tips = ("rh_fftip", "rh_mftip", "rh_rftip", "rh_lftip", "rh_thtip")
    goals = tuple(mk.Position(tip, tolerance=1e-4) for tip in tips)
    humanoid = mk.load_robot("valkyrie")
    setup = SETUPS["both wrists, head"]
    return [("shadow hand", hand, Setup("", goals, 5, 0.0)), ("humanoid", humanoid.group(setup.group), setup)]


def _needed(robot: mk.Robot, goals: Sequence[mk.Goal], method: Any, targets: int, evaluations: int) -> np.ndarray:
    """Evaluations after which each target is solved; infinite where it is not."""
    batch = _solved(robot, goals, method, targets, evaluations)
    return np.where(batch.success, batch.evaluations, np.inf)


def _solved(robot: mk.Robot, goals: Sequence[mk.Goal], method: Any, targets: int, evaluations: int) -> mk.BatchSolution:
    tasks, problem = reachable(robot, goals, targets, seed=3), mk.Problem(robot, goals)
    return problem.solve(*tasks.targets, seed=tasks.seeds, method=method, evaluations=evaluations, rng=5)


def _within(goal: mk.Goal, accuracy: float) -> mk.Goal:
    """The goal, met within other metres and radians."""
    names = {f.name for f in fields(goal)}  # type: ignore[arg-type]
    wanted = ("tolerance", "position_tolerance", "rotation_tolerance")
    return replace(goal, **dict.fromkeys(names.intersection(wanted), accuracy))  # type: ignore[type-var]
