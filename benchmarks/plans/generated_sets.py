"""Problems of the kinds that MotionBenchMaker has, generated for any robot: shelves, box, cage, on and under a table.

Scenes are sized by the reach of the robot's arm and stand in front of it, a little elsewhere for every number. Starts
and goals are random free configurations; at a goal a tool is within the shelf, the box, the cage, or above or under
the table. The same seed gives the same problem.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import memetik as mk
from memetik.collision.mesh_checker import MeshChecker
from plans.motion_sets import MotionProblem, example_robots

KINDS = ("bookshelf_small", "bookshelf_tall", "bookshelf_thin", "box", "cage", "table_pick", "table_under_pick")


@dataclass(frozen=True)
class Arm:
    """A robot of example-robot-data: its URDF, the tools, and the joints that problems move (all by default)."""

    urdf: str
    tools: tuple[str, ...]
    joints: tuple[str, ...] = ()


ARMS = {
    "ur5": Arm("ur_description/urdf/ur5_robot.urdf", ("wrist_3_link",)),
    "tiago": Arm(
        "tiago_description/robots/tiago_no_hand.urdf",
        ("wrist_ft_tool_link",),
        ("torso_lift_joint", *(f"arm_{k}_joint" for k in range(1, 8))),
    ),
    "baxter": Arm(
        "baxter_description/urdf/baxter.urdf",
        ("left_gripper_base_link", "right_gripper_base_link"),
        tuple(f"{side}_{name}" for side in ("left", "right") for name in ("s0", "s1", "e0", "e1", "w0", "w1", "w2")),
    ),
    "kinova": Arm("kinova_description/robots/kinova.urdf", ("j2s6s200_end_effector",)),
    "z1": Arm("z1_description/urdf/z1.urdf", ("gripperMover",)),
    "panda": Arm("panda_description/urdf/panda.urdf", ("panda_hand",)),
}


def load_arm(name: str) -> tuple[mk.Robot, Path]:
    """The robot and its URDF."""
    urdf = example_robots() / ARMS[name].urdf
    return mk.load_robot(urdf), urdf


def generate(name: str, robot: mk.Robot, seed: int, count: int) -> Iterator[MotionProblem]:
    """`count` problems over all kinds."""
    arm = ARMS[name]
    names = arm.joints or robot.joint_names
    moving = np.isin(robot.joint_names, names)
    reach = _reach(robot, arm)
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        rng = np.random.default_rng([seed, number])
        for _ in range(20):
            scene, low, high = _scene(kind, robot, arm, reach, rng)
            found = _ends(robot, arm, scene, moving, (low, high), rng)
            if found is not None:
                yield MotionProblem(kind, number, scene, *found)
                break
        else:
            print(f"  {name} {kind} {number}: no free start and goal were found, left out")


def _reach(robot: mk.Robot, arm: Arm) -> tuple[np.ndarray, float]:
    """The middle of where the first tool can be, at the base, and how far it gets from there."""
    rows = robot.random(0, 4000)
    tips = np.stack([robot.pose(tool, rows)[:, :3, 3] for tool in arm.tools]).mean(axis=0)
    middle = np.median(tips, axis=0)
    return middle, float(np.quantile(np.linalg.norm(tips - middle, axis=1), 0.9))


def _ends(
    robot: mk.Robot,
    arm: Arm,
    scene: mk.Scene,
    moving: np.ndarray,
    region: tuple[np.ndarray, np.ndarray],
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray] | None:
    checker = MeshChecker(robot, scene)
    start = None
    for _ in range(12):
        rows = robot.random(rng, 20_000)
        rows = np.where(moving, np.clip(rows, -np.pi, np.pi), robot.neutral)
        tips = [robot.pose(tool, rows)[:, :3, 3] for tool in arm.tools]
        # Of two arms one is within; the other one is anywhere.
        inside = np.any([((tip > region[0]) & (tip < region[1])).all(axis=1) for tip in tips], axis=0)
        if start is None:
            others = np.flatnonzero(~inside)[:400]
            free = others[~checker.collides(rows[others])]
            start = rows[free[0]] if len(free) else None
        hits = np.flatnonzero(inside)
        free = hits[~checker.collides(rows[hits])] if len(hits) else hits
        if start is not None and len(free):
            return start, rows[free[0]]
    return None


def _scene(
    kind: str, robot: mk.Robot, arm: Arm, reach: tuple[np.ndarray, float], rng: np.random.Generator
) -> tuple[mk.Scene, np.ndarray, np.ndarray]:
    """The scene, and the box in which tools are to be."""
    middle, far = reach
    at = middle + np.array([0.75 * far, 0.0, 0.0]) + rng.uniform(-0.1, 0.1, 3) * far
    scene, s = mk.Scene(), far
    yaw = float(rng.uniform(-0.2, 0.2))

    def box(name: str, size: tuple[float, ...], place: tuple[float, ...]) -> None:
        turned = mk.transform((0.0, 0.0, 0.0), rpy=(0.0, 0.0, yaw))[:3, :3] @ (np.array(place) * s)
        scene.add_box(name, tuple(np.array(size) * s), mk.transform(tuple(at + turned), rpy=(0.0, 0.0, yaw)))

    half = np.array([0.2, 0.3, 0.2]) * s
    if kind.startswith("bookshelf"):
        gap = {"bookshelf_small": 0.45, "bookshelf_tall": 0.6, "bookshelf_thin": 0.35}[kind]
        boards = {"bookshelf_small": 3, "bookshelf_tall": 4, "bookshelf_thin": 4}[kind]
        for k in range(boards):
            box(f"board_{k}", (0.3, 0.9, 0.03), (0.1, 0.0, (k - 0.5 * boards + 0.5) * gap))
        for side in (-1, 1):
            box(f"side_{side}", (0.3, 0.03, gap * boards), (0.1, 0.45 * side, 0.0))
        half = np.array([0.15, 0.4, 0.5 * gap]) * s
    elif kind == "box":
        for side in (-0.25, 0.25):
            box(f"wall_y{side}", (0.5, 0.03, 0.3), (0.0, side, -0.1))
            box(f"wall_x{side}", (0.03, 0.5, 0.3), (side, 0.0, -0.1))
        box("bottom", (0.5, 0.5, 0.03), (0.0, 0.0, -0.25))
        half = np.array([0.2, 0.2, 0.2]) * s
    elif kind == "cage":
        for k in range(5):
            place = -0.4 + 0.2 * k
            for side in (-0.4, 0.4):
                box(f"bar_x{k}{side}", (0.03, 0.03, 0.9), (place, side, 0.0))
                box(f"bar_y{k}{side}", (0.03, 0.03, 0.9), (side, place, 0.0)) if side > 0 or k in (0, 4) else None
        half = np.array([0.3, 0.3, 0.35]) * s
    else:
        box("top", (0.8, 1.2, 0.03), (0.1, 0.0, 0.0))
        for k, (x, y) in enumerate(((-0.25, -0.55), (-0.25, 0.55), (0.45, -0.55), (0.45, 0.55))):
            box(f"leg_{k}", (0.04, 0.04, 0.6), (x, y, -0.31))
        above = 1.0 if kind == "table_pick" else -1.0
        for k in range(5):
            x, y = rng.uniform([-0.25, -0.5], [0.45, 0.5]) * s
            scene.add_cylinder(f"can_{k}", 0.03 * s, 0.15 * s, mk.transform((at[0] + x, at[1] + y, at[2] + 0.095 * s)))
        half = np.array([0.3, 0.4, 0.12]) * s
        at = at + np.array([0.05 * s, 0.0, above * 0.2 * s])
    return scene, at - half, at + half
