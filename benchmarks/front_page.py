"""The README's comparison of inverse kinematics: memetik, TRAC-IK, pink and ikpy on the same poses of a Panda.

Run: python benchmarks/front_page.py [--targets 300] [--clock processor]

Poses of random configurations, from other random configurations, at most 1 s; an answer counts where Pinocchio finds
the hand within 0.1 mm and 0.1 mrad and all joints within their limits. The solvers take turns, fifty poses each.
TRAC-IK gets 100 ms; pink and ikpy are called as their documentation shows, pink for at most 300 steps of its quadratic
program at full gain. pink is a controller that follows targets near the present configuration: a search from random
starts is not what it is for, and the table is no statement about that. Peers that are not installed are left out.
"""

from __future__ import annotations

import argparse
import importlib.util
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pinocchio as pin
from peers.targets import Tasks
from peers.tracik import TracIk
from peers.verification import bare

import memetik as mk

LINK, NEAR, STEPS, BLOCK = "panda_hand_tcp", 1e-4, 300, 50
Solver = Callable[[int], np.ndarray | None]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--targets", type=int, default=300)
    parser.add_argument("--clock", choices=("wall", "processor"), default="wall", help="processor: of all threads")
    options = parser.parse_args()
    count, clock = options.targets, time.process_time if options.clock == "processor" else time.perf_counter
    robot = mk.load_robot("panda").group("panda_arm")
    rng = np.random.default_rng(1)
    reached, seeds = robot.random(rng, count), robot.random(rng, count)
    targets = robot.pose(LINK, reached)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "panda.urdf"
        path.write_text(bare(robot).to_urdf())
        model = pin.buildModelFromUrdf(str(path))
        solvers = {name: make(robot, path, targets, seeds) for package, name, make in MAKERS if _there(package)}
    seconds: dict[str, list[float]] = {name: [] for name in solvers}
    solved: dict[str, list[bool]] = {name: [] for name in solvers}
    for block in np.array_split(np.arange(count), max(1, count // BLOCK)):
        for name, solve in solvers.items():
            begins, answers, ends = [], [], []
            for k in block:
                begins.append(clock())
                answers.append(solve(int(k)))
                ends.append(clock())
            seconds[name] += np.subtract(ends, begins).tolist()
            solved[name] += [
                q is not None and _verified(model, robot, q, targets[k]) for k, q in zip(block, answers, strict=True)
            ]
    ours = float(np.median(seconds["memetik"]))
    print(f"{'solver':10}{'solved':>10}{'median':>14}{'ratio':>10}")
    for name in solvers:
        median = float(np.median(seconds[name]))
        print(f"{name:10}{np.mean(solved[name]):>10.1%}{1e6 * median:>11.0f} us{median / ours:>10.0f}")


def _there(package: str) -> bool:
    found = not package or importlib.util.find_spec(package) is not None
    if not found:
        print(f"{package} is not installed and left out.")
    return found


def _verified(model: pin.Model, robot: mk.Robot, q: np.ndarray, target: np.ndarray) -> bool:
    data = model.createData()
    full = pin.neutral(model)
    for name, value in zip(robot.joint_names, q, strict=True):
        full[model.joints[model.getJointId(name)].idx_q] = value
    pin.framesForwardKinematics(model, data, full)
    pose = data.oMf[model.getFrameId(LINK)].homogeneous
    angle = np.linalg.norm(pin.log3(pose[:3, :3].T @ target[:3, :3]))
    inside = (q >= robot.lower - 1e-6).all() and (q <= robot.upper + 1e-6).all()
    return bool(inside and np.linalg.norm(pose[:3, 3] - target[:3, 3]) < NEAR and angle < NEAR)


def _memetik(robot: mk.Robot, _path: Path, targets: np.ndarray, seeds: np.ndarray) -> Solver:
    problem = mk.Problem(robot, [mk.Pose(LINK)])
    return lambda k: problem.solve(targets[k], seed=seeds[k], timeout=1.0).q


def _tracik(robot: mk.Robot, _path: Path, targets: np.ndarray, seeds: np.ndarray) -> Solver:
    return TracIk(robot, LINK, Tasks((targets,), seeds), 1e-5, 0.1).solve


def _pink(robot: mk.Robot, path: Path, targets: np.ndarray, seeds: np.ndarray) -> Solver:
    import pink
    from pink.tasks import FrameTask

    model = pin.buildModelFromUrdf(str(path))
    data, task = model.createData(), FrameTask(LINK, position_cost=1.0, orientation_cost=1.0, gain=1.0)
    model.velocityLimit[:] = 1e3  # it is a search here, not a motion

    def solve(k: int) -> np.ndarray | None:
        task.set_target(pin.SE3(targets[k]))
        configuration = pink.Configuration(model, data, seeds[k].copy())
        for _ in range(STEPS):
            if np.abs(task.compute_error(configuration)).max() < 1e-5:
                break
            try:
                velocity = pink.solve_ik(configuration, [task], 1.0, solver="quadprog", damping=1e-6)
            except pink.exceptions.PinkError:
                return None
            configuration.integrate_inplace(velocity, 1.0)
        return np.asarray(configuration.q)

    return solve


def _ikpy(robot: mk.Robot, path: Path, targets: np.ndarray, seeds: np.ndarray) -> Solver:
    from ikpy.chain import Chain

    warnings.filterwarnings("ignore", module="ikpy")  # of links that do not move

    chain = Chain.from_urdf_file(str(path), base_elements=[robot.base], last_link_vector=None)
    moving = [link.name in robot.joint_names for link in chain.links]
    chain = Chain.from_urdf_file(str(path), base_elements=[robot.base], active_links_mask=moving)
    places = [k for k, active in enumerate(moving) if active]

    def solve(k: int) -> np.ndarray | None:
        start = np.zeros(len(chain.links))
        start[places] = seeds[k]
        pose = targets[k]
        return chain.inverse_kinematics(pose[:3, 3], pose[:3, :3], "all", initial_position=start)[places]

    return solve


MAKERS = (
    ("", "memetik", _memetik),
    ("pytracik", "TRAC-IK", _tracik),
    ("pink", "pink", _pink),
    ("ikpy", "ikpy", _ikpy),
)

if __name__ == "__main__":
    main()
