"""`solution.sensitivity()` against central differences of solves on ten arms, and what it costs.

For random reachable poses the target is moved along and about each axis by a step and by half of it, to either side;
each moved target is solved from the answer, and the differences are extrapolated. Poses where the arm is nearly
singular (singular values of its Jacobian apart by more than 50) are drawn again: differences over a finite step tell
nothing there. Seven joints and more leave freedom: both then take the least motion. Rows "at a limit" put one joint of
an arm with freedom there, which has to stay.

Run: python benchmarks/sensitivity.py [--poses 20]. Ends with status 1 where a difference is larger than 1e-5, relative.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from scipy.spatial.transform import Rotation

import memetik as mk

ARMS = ["panda", "ur3", "ur5", "ur10", "iiwa14", "fanuc_m10ia", "kr120", "racer5", "powerball", "pr2"]
STEP, GOAL, MOST_CONDITION, EXACT = 2e-4, 1e-5, 50.0, 1e-11


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--poses", type=int, default=20)
    parser.add_argument("--arms", nargs="+", default=ARMS)
    options = parser.parse_args()
    print(f"{'arm':24}{'joints':>7}{'poses':>7}{'median':>11}{'worst':>11}{'one':>10}{'of 1000':>10}{'a solve':>10}")
    worst = 0.0
    for name in options.arms:
        robot = mk.load_robot(name)
        for at_limit in (False, True) if name in ("panda", "iiwa14") else (False,):
            errors, one, many, solve = measure(robot, options.poses, at_limit)
            worst = max(worst, *errors)
            label = name + " at a limit" * at_limit
            print(
                f"{label:24}{len(problem_of(robot).variables):7}{len(errors):7}{np.median(errors):11.1e}"
                f"{max(errors):11.1e}{one:7.1f} us{many:7.1f} us{solve:7.1f} us"
            )
    print(f"largest relative difference: {worst:.1e} (goal {GOAL:g})")
    return int(worst > GOAL)


def tip_of(robot: mk.Robot) -> str:
    return robot.tips[0]


def problem_of(robot: mk.Robot) -> mk.Problem:
    return mk.Problem(robot, [mk.Pose(tip_of(robot), position_tolerance=EXACT, rotation_tolerance=EXACT)])


def measure(robot: mk.Robot, poses: int, at_limit: bool) -> tuple[list[float], float, float, float]:
    """Relative differences, then microseconds: one sensitivity, one of a batch, one solve of the batch."""
    problem, rng = problem_of(robot), np.random.default_rng(1)
    errors: list[float] = []
    drawn = [draw(robot, problem, rng, at_limit) for _ in range(poses)]
    solutions = [problem.solve(robot.pose(tip_of(robot), q), seed=q) for q in drawn]
    for solution in solutions:
        (own,) = solution.sensitivity().values()
        differences = central_differences(problem, solution.targets[0], solution.q)
        errors.append(float(np.linalg.norm(own - differences) / np.linalg.norm(differences)))
    begin = time.perf_counter()
    for _ in range(200):
        solutions[0].sensitivity()
    one = (time.perf_counter() - begin) / 200
    targets = robot.pose(tip_of(robot), np.array([draw(robot, problem, rng, False) for _ in range(1000)]))
    batch = problem.solve_batch(targets)
    begin = time.perf_counter()
    batch.sensitivity()
    return errors, 1e6 * one, 1e3 * (time.perf_counter() - begin), 1e6 * float(batch.time.mean())


def draw(robot: mk.Robot, problem: mk.Problem, rng: np.random.Generator, at_limit: bool) -> np.ndarray:
    """A configuration in the inner part of the limits that is far from singular."""
    lower, upper, low, high = problem.limits
    entries = problem.core.variables
    while True:
        q, joint = robot.neutral.copy(), int(rng.integers(1, 6))
        q[entries] = low + (high - low) * rng.uniform(0.1, 0.9, len(low))
        if at_limit:
            q[entries[joint]] = (lower if rng.random() < 0.5 else upper)[joint]
        jacobian = robot.jacobian(tip_of(robot), q)[:, entries]
        if at_limit:
            jacobian = np.delete(jacobian, joint, axis=1)
        values = np.linalg.svd(jacobian, compute_uv=False)
        if values[5] * MOST_CONDITION > values[0]:
            return q


def central_differences(problem: mk.Problem, target: np.ndarray, q: np.ndarray) -> np.ndarray:
    """(dof, 6), of fourth order. A joint at its limit is held: the solver might as well move it away from there."""
    robot = problem.robot
    at_limit = [n for n, x, lo, up in zip(robot.joint_names, q, robot.lower, robot.upper, strict=True) if x in (lo, up)]
    if at_limit:
        problem = mk.Problem(robot, problem.goals, fixed=at_limit)
    columns: list[np.ndarray] = []
    for k in range(6):
        slopes: list[np.ndarray] = []
        for step in (STEP, STEP / 2):
            ends = [problem.solve(moved(target, k, sign * step), seed=q) for sign in (1.0, -1.0)]
            if not all(ends):
                raise SystemExit(f"a pose next to an answer was not solved: {ends}")
            slopes.append((ends[0].q - ends[1].q) / (2.0 * step))
        columns.append((4.0 * slopes[1] - slopes[0]) / 3.0)
    return np.stack(columns, axis=1)


def moved(target: np.ndarray, k: int, step: float) -> np.ndarray:
    result = target.copy()
    if k < 3:
        result[k, 3] += step
    else:
        result[:3, :3] = Rotation.from_rotvec(step * np.eye(3)[k - 3]).as_matrix() @ result[:3, :3]
    return result


if __name__ == "__main__":
    sys.exit(main())
