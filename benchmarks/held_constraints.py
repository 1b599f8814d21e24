"""Motions along which goals hold: an upright cup, and two hands on a box, on public robots with their real meshes.

    python benchmarks/held_constraints.py                     200 problems
    python benchmarks/held_constraints.py --robot panda --problems 10 --contact-rate 1000

An arm carries a cup, whose axis stays along z to a milliradian, from one place to another; two arms carry a box, which
neither hand may slip on by more than a millimetre and a milliradian. A table, posts and boards stand about at random.
Starts are configurations, goals are places of the cup or the box. Every trajectory is looked at again: the kinematics
by Pinocchio at 1 kHz, contacts by coal with the real meshes, the carried object among them. Bars: 98 % solved, within
tolerance throughout, no contact but the hands with what they carry. Exit code 1 where one is missed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import coal
import numpy as np
import pinocchio as pin
from mesh_truth import EXAMPLES, Reference

import memetik as mk
from memetik.collision.mesh_checker import MeshChecker
from memetik.geometry.transforms import inverse

TOLERANCE = 1e-3  # metres and radians
SOLVED = 0.98
PATH_TIMEOUT = 10.0


@dataclass(frozen=True)
class Carrier:
    """A robot, its hands, what they carry and where. grasps: the hands' poses in the carried object's frame."""

    urdf: str
    hands: tuple[str, ...]
    touch: tuple[str, ...]
    shape: mk.Box | mk.Cylinder
    grasps: tuple[np.ndarray, ...]
    low: tuple[float, float, float]
    high: tuple[float, float, float]
    problems: int
    fixed: dict[str, float] = field(default_factory=dict[str, float])


def frame(x: str, y: str, position: tuple[float, float, float]) -> np.ndarray:
    """A pose whose first two axes are axes of the reference, such as "-y"."""
    axes = {f"{sign}{name}": value * np.eye(3)[k] for sign, value in (("", 1.0), ("-", -1.0))
            for k, name in enumerate("xyz")}  # fmt: skip
    pose = np.eye(4)
    pose[:3, :3] = np.stack([axes[x], axes[y], np.cross(axes[x], axes[y])], axis=1)
    pose[:3, 3] = position
    return pose


CUP, CASE = mk.Cylinder(0.04, 0.12), mk.Box((0.18, 0.26, 0.12))
CARRIERS = {
    "panda": Carrier("panda_description/urdf/panda.urdf", ("panda_hand",), ("panda_leftfinger", "panda_rightfinger"),
                     CUP, (frame("y", "z", (-0.11, 0.0, 0.0)),), (0.3, -0.5, 0.15), (0.65, 0.5, 0.7), 34,
                     {"panda_finger_joint1": 0.039}),
    "ur5": Carrier("ur_description/urdf/ur5_robot.urdf", ("tool0",), ("wrist_3_link", "ee_link"), CUP,
                   (frame("y", "z", (-0.06, 0.0, 0.0)),), (0.3, -0.5, 0.1), (0.65, 0.5, 0.6), 33),
    "xarm7": Carrier("xarm_description/urdf/xarm7.urdf", ("link_eef",), ("link7",), CUP,
                     (frame("y", "z", (-0.06, 0.0, 0.0)),), (0.25, -0.4, 0.15), (0.5, 0.4, 0.6), 33),
    "baxter": Carrier("baxter_description/urdf/baxter.urdf", ("left_gripper_base_link", "right_gripper_base_link"),
                      (*(f"{s}_gripper_{f}_finger{t}" for s in "lr" for f in "lr" for t in ("", "_tip")),
                       "left_gripper", "right_gripper"), CASE,
                      (frame("x", "z", (0.0, 0.24, 0.0)), frame("x", "-z", (0.0, -0.24, 0.0))),
                      (0.45, -0.2, 0.05), (0.68, 0.2, 0.4), 70),
    "pr2": Carrier("pr2_description/urdf/pr2.urdf", ("l_gripper_palm_link", "r_gripper_palm_link"),
                   tuple(f"{s}_gripper_{f}_{t}_link" for s in "lr" for f in "lr" for t in ("finger", "finger_tip")),
                   CASE, (frame("-y", "x", (0.0, 0.30, 0.0)), frame("y", "-x", (0.0, -0.30, 0.0))),
                   (0.4, -0.2, 0.6), (0.6, 0.2, 1.1), 30),
}  # fmt: skip


@dataclass
class Problem:
    """A start, the pose of the carried object at the end, and the surroundings."""

    scene: mk.Scene
    start: np.ndarray
    goal: np.ndarray


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robot", action="append", choices=list(CARRIERS))
    parser.add_argument("--problems", type=int, help="of each robot, in place of 200 in all")
    parser.add_argument("--contact-rate", type=float, default=100.0, help="samples a second that coal looks at")
    parser.add_argument("--rng", type=int, default=0)
    given = parser.parse_args()
    solved = asked = 0
    worst, touching = 0.0, 0
    print("robot    solved       planned in ms: median  p95     longest deviation / tolerance   touching   motion s")
    for name in given.robot or CARRIERS:
        carrier = CARRIERS[name]
        found = run(name, carrier, given.problems or carrier.problems, given.rng, given.contact_rate)
        solved, asked = solved + found[0], asked + found[1]
        worst, touching = max(worst, found[2]), touching + found[3]
    share = solved / max(asked, 1)
    print(f"all: {solved} of {asked} solved, {100 * share:.1f} % (bar {100 * SOLVED:.0f}); deviation at 1 kHz "
          f"{worst:.3f} of the tolerance (bar 1); {touching} trajectories touch (bar 0)")  # fmt: skip
    return 0 if share >= SOLVED and worst <= 1.0 and touching == 0 else 1


def run(name: str, carrier: Carrier, count: int, rng: int, rate: float) -> tuple[int, int, float, int]:
    """Solved, asked, the largest deviation as a share of the tolerance, and trajectories that touch something."""
    robot = mk.load_robot(EXAMPLES / carrier.urdf)
    solved = asked = touching = 0
    worst, times, durations = 0.0, list[float](), list[float]()
    for problem in generate(robot, carrier, count, rng):
        asked += 1
        begin = time.perf_counter()
        plan = mk.plan(
            robot, goals(carrier, problem.goal), problem.scene, problem.start, along=along(carrier),
            path_timeout=PATH_TIMEOUT, ik_timeout=2.0,
        )  # fmt: skip
        times.append(time.perf_counter() - begin)
        if not plan.success or plan.trajectory is None:
            print(f"  {name} {asked - 1}: {plan.stage}, {plan.reason}. {plan.detail}")
            continue
        solved += 1
        durations.append(plan.duration)
        truth = Truth(robot, carrier, problem.scene)
        off = truth.deviation(plan.trajectory.at(np.arange(0.0, plan.duration, 1e-3)))
        hit = truth.first_contact(plan.trajectory.at(np.arange(0.0, plan.duration, 1.0 / rate)))
        if off > 1.0 or hit:
            print(f"  {name} {asked - 1}: deviation {off:.3f}, touching {hit}")
        worst, touching = max(worst, off), touching + bool(hit)
    median, late = np.quantile(times, [0.5, 0.95]) * 1e3
    print(f"{name:8s} {solved:3d} of {asked:3d}   {median:21.1f}  {late:7.1f}  {worst:27.3f}   {touching:8d}   "
          f"{np.median(durations) if durations else np.nan:8.2f}")  # fmt: skip
    return solved, asked, worst, touching


def along(carrier: Carrier) -> list[mk.Goal]:
    """What holds along the way."""
    hand, first = carrier.hands[0], inverse(carrier.grasps[0])
    if len(carrier.hands) == 1:
        return [mk.AlignAxis(hand, first[:3, 2], to="z", tolerance=TOLERANCE)]
    apart = inverse(carrier.grasps[0]) @ carrier.grasps[1]
    return [mk.RelativePose(carrier.hands[1], hand, apart, position_tolerance=TOLERANCE, rotation_tolerance=TOLERANCE)]


def goals(carrier: Carrier, pose: np.ndarray) -> list[mk.Goal]:
    """What holds at the end: the carried object is at a place; a cup may spin."""
    hand = pose @ carrier.grasps[0]
    if len(carrier.hands) == 1:
        centre = inverse(carrier.grasps[0])[:3, 3]
        return [mk.Position(carrier.hands[0], pose[:3, 3], offset=centre)]
    return [mk.Pose(carrier.hands[0], hand)]


def generate(robot: mk.Robot, carrier: Carrier, count: int, seed: int) -> Iterator[Problem]:
    """Problems with a free start, and a goal at which the object can be held without contact."""
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        while True:
            scene = surroundings(carrier, rng)
            ends = [end for end in (_held_at(robot, carrier, scene, rng) for _ in range(8)) if end is not None]
            if len(ends) >= 2:
                yield Problem(scene, ends[0][0], ends[-1][1])
                break


def surroundings(carrier: Carrier, rng: np.random.Generator) -> mk.Scene:
    """A table under the reach, posts and boards in it, and the object in the hand."""
    low, high = np.array(carrier.low), np.array(carrier.high)
    scene = mk.Scene()
    middle = 0.5 * (low + high)
    scene.add_box("table", (high[0] - low[0] + 0.2, 1.4, 0.04), mk.transform((middle[0] + 0.1, 0.0, low[2] - 0.18)))
    for k in range(2 if len(carrier.hands) == 1 else 1):
        x, y = rng.uniform(low[:2], high[:2])
        scene.add_cylinder(f"post{k}", 0.025, high[2] - low[2], mk.transform((x, y, middle[2] - 0.1)))
    x, y = rng.uniform(low[:2], high[:2])
    scene.add_box("board", (0.12, 0.2, 0.02), mk.transform((x, y, rng.uniform(low[2], high[2]))))
    scene.attach("carried", carrier.shape, link=carrier.hands[0], pose=inverse(carrier.grasps[0]),
                 touch=[*carrier.touch, *carrier.hands[1:]])  # fmt: skip
    return scene


def _held_at(
    robot: mk.Robot, carrier: Carrier, scene: mk.Scene, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray] | None:
    """A free configuration that holds the object somewhere, and where."""
    pose = mk.transform(tuple(rng.uniform(carrier.low, carrier.high)), rpy=(0.0, 0.0, rng.uniform(-0.4, 0.4)))
    problem = mk.Problem(
        robot, [*goals(carrier, pose), *along(carrier)], scene=scene, self_collision=True, fixed=carrier.fixed
    )
    seed = robot.q(carrier.fixed)  # fingers and heads stay where they are by default
    moving = [robot.joint_index(name) for name in problem.variables]
    seed[moving] = robot.random(int(rng.integers(1 << 30)), 1)[0][moving]
    found = problem.solve(seed=seed, timeout=0.2, rng=int(rng.integers(99)))
    return (found.q, pose) if found.success else None


class Truth(Reference):
    """Pinocchio's and coal's view of a robot that carries something."""

    def __init__(self, robot: mk.Robot, carrier: Carrier, scene: mk.Scene):
        bare = scene.copy()
        bare.remove("carried")
        super().__init__(EXAMPLES / carrier.urdf, robot, MeshChecker(robot, bare), bare)
        self.carrier = carrier
        self.hands = [self.model.getFrameId(hand) for hand in carrier.hands]
        half = np.array(carrier.shape.size) if isinstance(carrier.shape, mk.Box) else None
        self.carried = coal.Box(*half) if half is not None else coal.Cylinder(CUP.radius, CUP.length)
        held = {*carrier.hands, *carrier.touch}
        self.others = [k for k, link in enumerate(self.links) if link not in held]

    def hand_poses(self, q: np.ndarray) -> list[np.ndarray]:
        """(4, 4) of each hand."""
        full = pin.integrate(self.model, pin.neutral(self.model), self.spread @ q + self.offsets)
        pin.framesForwardKinematics(self.model, self.data, full)
        return [self.data.oMf[frame].homogeneous for frame in self.hands]

    def deviation(self, rows: np.ndarray) -> float:
        """The largest error along configurations, as a share of the tolerance."""
        worst, grasps = 0.0, self.carrier.grasps
        for q in rows:
            poses = self.hand_poses(q)
            carried = poses[0] @ inverse(grasps[0])
            if len(poses) == 1:
                errors = [np.arccos(np.clip(carried[2, 2], -1.0, 1.0))]
            else:
                off = inverse(carried @ grasps[1]) @ poses[1]
                errors = [np.linalg.norm(off[:3, 3]), np.linalg.norm(pin.log3(off[:3, :3]))]
            worst = max(worst, *errors, 0.0)
        return worst / TOLERANCE

    def first_contact(self, rows: np.ndarray) -> str:
        """Who touches first on the way; empty where nobody does."""
        request, result = coal.CollisionRequest(), coal.CollisionResult()
        for q in rows:
            if self.collides(q):
                return "the robot"
            carried = self.hand_poses(q)[0] @ inverse(self.carrier.grasps[0])
            place, poses = coal.Transform3s(carried[:3, :3], carried[:3, 3]), self.place(q)
            against = [(self.shapes[k], poses[k]) for k in self.others] + self.objects
            for shape, pose in against:
                result.clear()
                if coal.collide(self.carried, place, shape, pose, request, result):
                    return "the carried object"
        return ""


if __name__ == "__main__":
    raise SystemExit(main())
