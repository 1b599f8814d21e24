"""Batched kinematics of Panda against Pinocchio called once per configuration from Python, interleaved, one thread.

Run: python benchmarks/kinematics.py [--configurations 1000000] [--repeats 7]
The bar: pose and Jacobian of the hand, into arrays that are re-used, at least 40 times as fast as Pinocchio's
forwardKinematics, updateFramePlacement and computeFrameJacobian. Its faster way to the same, by the Jacobians of all
joints, is in the table too. Pinocchio runs on the first 20 000 of the same configurations and on the same robot.
Times are processor time of the whole process, so that other work on the machine counts for neither.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pinocchio as pin

import memetik as mk
from memetik._core import architecture

BAR = 40.0
LINK = "panda_hand"
ALIGNED = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
SAMPLE = 20_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--configurations", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    robot = mk.load_robot("panda")
    q = robot.random(0, arguments.configurations)
    model = pin.buildModelFromXML(bare(robot).to_urdf())
    spread, offsets = couplings(robot, model)
    rows = q[:SAMPLE] @ spread.T + offsets
    ours, poses, jacobians = batched(robot, q)
    peers = one_by_one(model)
    check(robot, model, rows, spread, poses, jacobians, ours["pose and Jacobian"])

    print(f"Panda, {robot.dof} degrees of freedom, {len(q)} configurations, kernels for {architecture()}")
    print(f"{'':34} {'memetik':>12} {'Pinocchio':>12} {'ratio':>8}")
    print(f"{'':34} {'ns':>12} {'ns':>12}")
    ratios = {}
    for name, (batch, peer) in pair(ours, peers).items():
        batch()
        mine, theirs = [], []
        for _ in range(arguments.repeats):
            mine.append(seconds(batch) / len(q) * 1e9)
            theirs.append(seconds(lambda peer=peer: peer(rows)) / len(rows) * 1e9)
        times = [there / here for here, there in zip(mine, theirs, strict=True)]
        here, there, ratios[name] = (statistics.median(values) for values in (mine, theirs, times))
        print(f"{name:34} {here:12.1f} {there:12.1f} {ratios[name]:8.1f}  (from {min(times):.1f} to {max(times):.1f})")
    ratio = ratios["pose and Jacobian"]
    print(
        f"pose and Jacobian: {ratio:.1f} times as fast, bar {BAR:.0f}: {'holds' if ratio >= BAR else 'DOES NOT HOLD'}"
    )
    return 0 if ratio >= BAR else 1


def pair(ours: dict[str, Callable[[], Any]], peers: dict[str, Callable[[np.ndarray], None]]) -> dict[str, tuple]:
    """Each of Pinocchio's loops beside what it is compared with."""
    return {name: (ours[name.removesuffix(", its faster way")], peer) for name, peer in peers.items()}


def bare(robot: mk.Robot) -> mk.Robot:
    """The robot without its shapes, some of which Pinocchio's reader does not know."""
    links = tuple(replace(link, collisions=(), visuals=()) for link in robot.description.links)
    return mk.Robot(replace(robot.description, links=links))


def batched(robot: mk.Robot, q: np.ndarray) -> tuple[dict[str, Callable[[], Any]], np.ndarray, np.ndarray]:
    """What is timed, and the arrays that receive poses and Jacobians."""
    count, dof = q.shape
    poses, jacobians = np.zeros((count, 4, 4)), np.zeros((count, 6, dof))
    centers, torques = np.zeros((count, 3)), np.zeros((count, dof))
    velocities, accelerations = np.random.default_rng(1).normal(size=(2, count, dof))
    return (
        {
            "pose and Jacobian": lambda: robot.pose_and_jacobian(LINK, q, out=(poses, jacobians)),
            "pose": lambda: robot.pose(LINK, q, out=poses),
            "centre of mass": lambda: robot.center_of_mass(q, out=centers),
            "gravity torques": lambda: robot.gravity_torques(q, out=torques),
            "inverse dynamics": lambda: robot.inverse_dynamics(q, velocities, accelerations, out=torques),
        },
        poses,
        jacobians,
    )


def one_by_one(model: Any) -> dict[str, Callable[[np.ndarray], None]]:
    """Pinocchio's ways to the same results, in a loop over configurations."""
    data, frame, rest = model.createData(), model.getFrameId(LINK), np.ones(model.nv)

    def pose_then_jacobian(rows: np.ndarray) -> None:
        for row in rows:
            pin.forwardKinematics(model, data, row)
            pin.updateFramePlacement(model, data, frame)
            pin.computeFrameJacobian(model, data, row, frame, ALIGNED)

    def jacobians_of_all_joints(rows: np.ndarray) -> None:
        for row in rows:
            pin.computeJointJacobians(model, data, row)
            pin.updateFramePlacement(model, data, frame)
            pin.getFrameJacobian(model, data, frame, ALIGNED)

    def pose(rows: np.ndarray) -> None:
        for row in rows:
            pin.forwardKinematics(model, data, row)
            pin.updateFramePlacement(model, data, frame)

    def center_of_mass(rows: np.ndarray) -> None:
        for row in rows:
            pin.centerOfMass(model, data, row)

    def gravity(rows: np.ndarray) -> None:
        for row in rows:
            pin.computeGeneralizedGravity(model, data, row)

    def dynamics(rows: np.ndarray) -> None:
        for row in rows:
            pin.rnea(model, data, row, rest, rest)

    return {
        "pose and Jacobian": pose_then_jacobian,
        "pose and Jacobian, its faster way": jacobians_of_all_joints,
        "pose": pose,
        "centre of mass": center_of_mass,
        "gravity torques": gravity,
        "inverse dynamics": dynamics,
    }


def couplings(robot: mk.Robot, model: Any) -> tuple[np.ndarray, np.ndarray]:
    """Pinocchio's q is spread @ ours + offsets: the second finger follows the first."""
    spread, offsets = np.zeros((model.nq, robot.dof)), np.zeros(model.nq)
    for name, coupling in robot.couplings.items():
        row = model.joints[model.getJointId(name)].idx_q
        spread[row, coupling.first], offsets[row] = coupling.multiplier, coupling.offset
    return spread, offsets


def check(
    robot: mk.Robot,
    model: Any,
    rows: np.ndarray,
    spread: np.ndarray,
    poses: np.ndarray,
    jacobians: np.ndarray,
    compute: Callable[[], Any],
) -> None:
    """What is timed must be right."""
    compute()
    data, frame = model.createData(), model.getFrameId(LINK)
    for k in range(200):
        pin.forwardKinematics(model, data, rows[k])
        pose = pin.updateFramePlacement(model, data, frame).homogeneous
        jacobian = pin.computeFrameJacobian(model, data, rows[k], frame, ALIGNED) @ spread
        if max(np.abs(pose - poses[k]).max(), np.abs(jacobian - jacobians[k]).max()) > 1e-10:
            raise SystemExit(f"pose or Jacobian of {robot.name} differs from Pinocchio's in configuration {k}.")


def seconds(work: Callable[[], Any]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    sys.exit(main())
