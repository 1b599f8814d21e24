"""Studies of single methods: full bodies, parameter maps, ablations, and what kinematics cost."""

from __future__ import annotations

import re
import time
from typing import Any

import numpy as np
from full_body import SETUPS, Setup
from peers.report import Report
from peers.targets import reachable
from rich.progress import track

import memetik as mk
from memetik.bench.statistics import wilson_interval
from memetik.solve.methods.bio import Bio1

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
BODY_EVALUATIONS = 60_000
MAP_EVALUATIONS = 20_000


def full_body(report: Report, targets: int) -> None:
    """Table 5.4: the root mean square of errors against their mean, at equal numbers of evaluations."""
    humanoid = mk.load_robot("valkyrie")
    rows = []
    for name, (population, elites, mean_source, rmse_source) in track(STARKE.items(), "full body", transient=True):
        shares = []
        for combination in ("mean", "rmse"):
            method = Bio1(population=population, elites=elites, combination=combination)
            shares.append(_solved(humanoid.group(SETUPS[name].group), SETUPS[name], method, targets, BODY_EVALUATIONS))
        cells = [f"{100 * np.mean(s):.1f} ({_interval(s)})" for s in shares]
        verdict = "holds" if np.mean(shares[1]) >= np.mean(shares[0]) else "FAILS"
        rows.append([name, cells[0], f"{mean_source:.2f}", cells[1], f"{rmse_source:.2f}", verdict])
    columns = ("setup", "mean", "source", "root mean square", "source", "ordering")
    report.table(f"5.4 full body; {BODY_EVALUATIONS} evaluations; {targets} targets", columns, rows)


def parameter_map(report: Report, targets: int) -> None:
    """Efficiency of Bio IK, the mean of 1 / (fitness x work), over population and elites; largest 1 in each map."""
    populations, elites = (10, 25, 50, 100, 150), (1, 2, 3, 5, 8)
    for name, robot, setup in _bodies():
        problem, tasks = mk.Problem(robot, setup.goals), reachable(robot, setup.goals, targets, seed=3)
        values = np.zeros((len(populations), len(elites)))
        for i, population in track(list(enumerate(populations)), f"map of {name}", transient=True):
            for j, elite in enumerate(elites):
                batch = problem.solve(
                    *tasks.targets, seed=tasks.seeds, method=Bio1(population=population, elites=elite),
                    evaluations=MAP_EVALUATIONS, rng=5,
                )  # fmt: skip
                values[i, j] = np.mean(1.0 / (np.sqrt(np.maximum(batch.cost, 1e-12)) * batch.evaluations))
        values /= values.max()
        rows = [[p, *(f"{v:.2f}" for v in row)] for p, row in zip(populations, values, strict=True)]
        report.table(f"Efficiency on {name}; {targets} targets", ("population", *(f"{e} elites" for e in elites)), rows)


def ablations(report: Report, targets: int) -> None:
    """Bio IK without one of its parts each, on hand and humanoid."""
    variants: dict[str, dict[str, Any]] = {
        "all": {}, "no adoption": {"adoption": False}, "no exploitation": {"exploit": False},
        "no wipe-out": {"wipeout": False}, "no random weights": {"random_weights": False},
        "exact gradient": {"numeric_gradient": False},
    }  # fmt: skip
    rows = {name: [name] for name in variants}
    columns = ["variant"]
    for name, robot, setup in _bodies():
        columns += [name]
        for variant, parameters in track(variants.items(), f"ablations on {name}", transient=True):
            solved = _solved(robot, setup, Bio1(population=75, elites=3, **parameters), targets, BODY_EVALUATIONS)
            rows[variant].append(f"{100 * np.mean(solved):.1f} ({_interval(solved)})")
    report.table(f"Ablations of bio1; {BODY_EVALUATIONS} evaluations; {targets} targets", columns, list(rows.values()))
    report.say("  The source (Starke, figure 5.3) has exploitation as the part that contributes most.")


def kinematics(report: Report) -> None:
    """What a posture costs: in lanes, alone, by Pinocchio's scalar code, and with derivatives.

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
        data, postures = model.createData(), list(q[:512])

        def scalar(model: Any = model, data: Any = data, postures: Any = postures) -> None:
            for one in postures:
                pinocchio.forwardKinematics(model, data, one)

        def nothing(postures: Any = postures, identity: Any = pinocchio.SE3.Identity) -> None:
            for _ in postures:
                identity()

        full = max(_seconds(scalar) - _seconds(nothing), 1e-9) / len(postures)
        rows.append([
            joints, f"{lanes * 1e9:.0f}", f"{full * 1e9:.0f}", f"{full / lanes:.1f}", f"{both * 1e9:.0f}",
            f"{both / lanes:.1f}",
        ])  # fmt: skip
    columns = ("joints", "lanes, ns", "scalar, ns", "scalar / lanes", "lanes with Jacobian, ns", "postures it costs")
    report.table("Kinematics of a serial chain, for one posture", columns, rows)
    report.say(
        "  Incremental updates would have to save more than 'scalar / lanes' to win; the source has 8 at 30 joints.\n"
        "  A numeric gradient takes as many postures as joints; the exact one takes what the last column says."
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


def _solved(robot: mk.Robot, setup: Setup, method: Any, targets: int, evaluations: int) -> np.ndarray:
    tasks = reachable(robot, setup.goals, targets, seed=3)
    problem = mk.Problem(robot, setup.goals)
    return problem.solve(*tasks.targets, seed=tasks.seeds, method=method, evaluations=evaluations, rng=5).success


def _interval(solved: np.ndarray) -> str:
    low, high = wilson_interval(int(solved.sum()), len(solved))
    return f"{100 * low:.1f}-{100 * high:.1f}"
