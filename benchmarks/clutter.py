"""Collision-free configurations of public robots with their real meshes among obstacles, beside free space.

    python benchmarks/clutter.py [--robots panda ur5 ...] [--scenes boxes12 shelf ...] [--targets 200] [--full]

A target is the pose of a random configuration that collides with nothing, so that each can be reached. Half of them are
those nearest to the scene's furniture. Every answer is checked again by Pinocchio's kinematics and by coal on the
meshes. Single calls have 100 ms each; batches run on two threads. Misses are listed, with the reason that was given.
Free space is measured in the same run, call by call in turn. --full: 2000 targets each for all robots and scenes, and
20 000 for panda among twelve boxes. Other goals: benchmarks/clutter_goals.py.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pinocchio as pin

sys.path.insert(0, str(Path(__file__).resolve().parent))
from mesh_truth import EXAMPLES, Reference
from unit import unit_seconds

import memetik as mk
from memetik.collision.mesh_checker import MeshChecker

TIMEOUT = 0.1
POSITION, ROTATION = 1e-4, 1e-3  # metres, radians: of Pinocchio's pose to the target
SHARE, ARM_MS, TORSO_MS = 99.95, 0.3, 0.6
BATCH_RATIO, CALL_RATIO, THREADS_RATIO = 1 / 8, 4.0, 1.8


@dataclass(frozen=True)
class Arm:
    """A robot's file, the link that reaches, and the first link of the arm."""

    path: str
    tip: str
    base: str
    on_torso: bool = False

    @property
    def file(self) -> Path:
        if not self.path.startswith("rtb:"):
            return EXAMPLES / self.path
        spec = importlib.util.find_spec("rtbdata")
        if spec is None or spec.origin is None:
            raise SystemExit("rtb-data is not installed; run: pip install rtb-data")
        return Path(spec.origin).parent / self.path.removeprefix("rtb:")


ARMS = {
    "panda": Arm("panda_description/urdf/panda.urdf", "panda_hand_tcp", "panda_link0"),
    "ur5": Arm("ur_description/urdf/ur5_robot.urdf", "tool0", "base_link"),
    "ur10": Arm("ur_description/urdf/ur10_robot.urdf", "tool0", "base_link"),
    "talos_arm": Arm("talos_data/robots/talos_left_arm.urdf", "gripper_left_base_link", "arm_left_1_link"),
    "baxter": Arm("baxter_description/urdf/baxter.urdf", "left_gripper", "left_arm_mount"),
    "tiago": Arm("tiago_description/robots/tiago.urdf", "arm_tool_link", "torso_lift_link", on_torso=True),
    "pr2": Arm("pr2_description/urdf/pr2.urdf", "r_gripper_palm_link", "r_shoulder_pan_link", on_torso=True),
    "kinova": Arm("kinova_description/robots/kinova.urdf", "j2s6s200_end_effector", "j2s6s200_link_base"),
    "xarm7": Arm("xarm_description/urdf/xarm7.urdf", "link7", "link_base"),
    "z1": Arm("z1_description/urdf/z1.urdf", "gripperStator", "link00"),
    "puma560": Arm("rtb:xacro/unimation_puma560_description/urdf/puma560_robot.urdf", "link7", "link1"),
}
SCENES = ("boxes12", "boxes50", "shelf", "table", "bin")
SMALL = ("panda", "ur5", "ur10", "talos_arm", "baxter", "tiago")


def make_scene(kind: str, shoulder: np.ndarray, reach: float, rng: np.random.Generator) -> tuple[mk.Scene, np.ndarray]:
    """A scene around an arm, in proportion to its reach, and the middle of its furniture."""
    scene = mk.Scene()
    front = shoulder + reach * np.array([0.6, 0.0, 0.0])
    if kind.startswith("boxes"):
        count = int(kind.removeprefix("boxes"))
        largest = 0.3 * reach * (12 / count) ** (1 / 3)
        for k in range(count):
            place = shoulder
            while np.linalg.norm(place - shoulder) < 0.3 * reach:
                place = shoulder + rng.uniform(-1.0, 1.0, 3) * reach
            size = rng.uniform(0.02 * reach, largest, 3)
            scene.add_box(f"box{k}", size, mk.transform(place, rpy=rng.uniform(-3.0, 3.0, 3)))
        return scene, front

    def add(name: str, size: tuple[float, float, float], place: tuple[float, float, float]) -> None:
        scene.add_box(name, np.array(size) * reach, mk.transform(front + reach * np.array(place)))

    if kind == "shelf":
        for k, height in enumerate((-0.5, -0.15, 0.2, 0.55)):
            add(f"board{k}", (0.4, 1.0, 0.02), (0.1, 0.0, height))
        for side in (-1, 1):
            add(f"side{side}", (0.4, 0.02, 1.1), (0.1, 0.5 * side, 0.0))
        add("back", (0.02, 1.0, 1.1), (0.31, 0.0, 0.0))
    elif kind == "table":
        add("table", (0.7, 1.2, 0.03), (0.05, 0.0, -0.25))
        for k in range(10):
            height = rng.uniform(0.05, 0.3)
            place = (rng.uniform(-0.2, 0.3), rng.uniform(-0.5, 0.5), -0.235 + 0.5 * height)
            if k % 2:
                pose = mk.transform(front + reach * np.array(place))
                scene.add_cylinder(f"object{k}", rng.uniform(0.02, 0.06) * reach, height * reach, pose)
            else:
                add(f"object{k}", (rng.uniform(0.04, 0.12), rng.uniform(0.04, 0.12), height), place)
    else:
        for side in (-1, 1):
            add(f"wall x{side}", (0.02, 0.5, 0.25), (0.2 * side, 0.0, -0.3))
            add(f"wall y{side}", (0.4, 0.02, 0.25), (0.0, 0.25 * side, -0.3))
        add("bottom", (0.4, 0.5, 0.02), (0.0, 0.0, -0.42))
    return scene, front


@dataclass
class Case:
    """A robot in a scene with targets, and what came of them."""

    name: str
    kind: str
    arm: Arm
    robot: mk.Robot
    scene: mk.Scene
    seed: np.ndarray
    targets: np.ndarray
    free_share: float
    misses: list[str] = field(default_factory=list)


class NoRoom(Exception):
    """A scene that leaves a robot no room to move."""


def make_case(name: str, kind: str, count: int) -> Case:
    """Targets that a configuration without collision reaches, from a generator of their own."""
    arm, rng = ARMS[name], np.random.default_rng([len(name), *name.encode(), *kind.encode()])
    robot = mk.load_robot(arm.file)
    free_space = mk.Problem(robot, mk.Pose(arm.tip))
    moving = [robot.joint_names.index(joint) for joint in free_space.variables]
    seed = np.clip(np.zeros(robot.dof), robot.lower, robot.upper)
    seed[moving] = robot.random(rng, 1)[0][moving]
    shoulder = robot.pose(arm.base, seed)[:3, 3]
    drawn = robot.random(rng, 2000)
    reach = float(np.percentile(np.linalg.norm(robot.pose(arm.tip, drawn)[:, :3, 3] - shoulder, axis=1), 99))
    own = MeshChecker(robot)
    for _ in range(200):  # a seed that does not collide with itself, and a scene that leaves room
        scene, middle = make_scene(kind, shoulder, reach, rng)
        checker = MeshChecker(robot, scene)
        q = np.tile(seed, (max(4000, 4 * count), 1))
        q[:, moving] = robot.random(rng, len(q))[:, moving]
        free = q[~np.asarray(checker.collides(q))]
        if len(free) >= max(40, 0.02 * len(q)):
            break
    else:
        raise NoRoom(f"{name} collides with {kind} or with itself ({own.first_contact(seed)}) nearly everywhere.")
    while len(free) < 4 * count:
        q[:, moving] = robot.random(rng, len(q))[:, moving]
        free = np.concatenate([free, q[~np.asarray(checker.collides(q))]])
    poses = robot.pose(arm.tip, free)
    near = np.argsort(np.linalg.norm(poses[:, :3, 3] - middle, axis=1))
    chosen = np.concatenate([near[: count // 2], rng.choice(near[count // 2 :], count - count // 2, replace=False)])
    rng.shuffle(chosen)
    return Case(name, kind, arm, robot, scene, seed, poses[chosen], len(free) / max(1, len(q)))


class Referee:
    """Whether an answer holds, by Pinocchio and coal."""

    def __init__(self, case: Case):
        self.case = case
        self.truth = Reference(case.arm.file, case.robot, MeshChecker(case.robot, case.scene), case.scene)
        self.frame = self.truth.model.getFrameId(case.arm.tip, pin.FrameType.BODY)

    def fault(self, q: np.ndarray, target: np.ndarray) -> str | None:
        """What is wrong with it."""
        if (q < self.case.robot.lower - 1e-9).any() or (q > self.case.robot.upper + 1e-9).any():
            return "outside its limits"
        collides = self.truth.collides(q)
        pin.updateFramePlacements(self.truth.model, self.truth.data)
        pose = self.truth.data.oMf[self.frame]
        turned = np.linalg.norm(pin.log3(pose.rotation.T @ target[:3, :3]))
        if np.linalg.norm(pose.translation - target[:3, 3]) > POSITION or turned > ROTATION:
            return "not at the target"
        return "in collision by coal" if collides else None


def run_calls(case: Case, checked: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Seconds of single calls in the scene and in free space, and how many answers are wrong."""
    clutter = mk.Problem(case.robot, mk.Pose(case.arm.tip), scene=case.scene)
    free_space = mk.Problem(case.robot, mk.Pose(case.arm.tip))
    referee, wrong = Referee(case), 0
    for problem in (clutter, free_space):
        for target in case.targets[:20]:
            problem.solve(target, seed=case.seed, timeout=TIMEOUT)
    seconds = np.empty((2, len(case.targets)))
    for k, target in enumerate(case.targets):
        for row, problem in enumerate((clutter, free_space)):
            begin = time.perf_counter()
            found = problem.solve(target, seed=case.seed, timeout=TIMEOUT)
            seconds[row, k] = time.perf_counter() - begin
            if row == 0 and not found.success:
                case.misses.append(f"target {k}: {found.reason} after {1e3 * found.time:.1f} ms")
            elif row == 0 and k < checked and (fault := referee.fault(found.q, target)):
                wrong += 1
                case.misses.append(f"target {k}: {fault}")
    return seconds[0], seconds[1], wrong


def run_batches(case: Case) -> tuple[float, float, float, int]:
    """Targets a second: in the scene on two threads and on one, in free space on two; and how many were missed."""
    rates, missed = np.zeros(3), 0
    clutter = mk.Problem(case.robot, mk.Pose(case.arm.tip), scene=case.scene)
    free_space = mk.Problem(case.robot, mk.Pose(case.arm.tip))
    repeats = max(1, 2000 // len(case.targets))
    targets = np.concatenate([case.targets] * repeats)
    for _ in range(3):
        for k, (problem, threads) in enumerate(((clutter, 2), (clutter, 1), (free_space, 2))):
            begin = time.perf_counter()
            found = problem.solve_batch(targets, seed=case.seed, threads=threads, timeout=TIMEOUT)
            rates[k] = max(rates[k], len(targets) / (time.perf_counter() - begin))
            if k == 0:
                missed = int((~found.success).sum())
    return rates[0], rates[1], rates[2], missed


def measure(case: Case, checked: int) -> list[tuple[str, bool]]:
    """Prints a case's figures, each beside its goal; and which goals were met."""
    clutter, free_space, wrong = run_calls(case, checked)
    two, one, free, missed = run_batches(case)
    goal_ms = TORSO_MS if case.arm.on_torso else ARM_MS
    found = 100.0 * (1.0 - (len(case.misses) - wrong) / len(clutter))
    ratio = float(np.median(clutter) / np.median(free_space))
    mean = 1e3 * float(clutter.mean())
    unit = unit_seconds()
    goals = [
        (f"found {found:.2f} % (goal {SHARE})", found >= SHARE),
        (f"mean {mean:.3f} ms, {1e-3 * mean / unit:.0f} u (goal {goal_ms})", mean <= goal_ms),
        (
            f"call {1e6 * np.median(clutter):.0f} us, {ratio:.1f} of free space (goal {CALL_RATIO:.0f})",
            ratio <= CALL_RATIO,
        ),
        (f"batch {two:.0f}/s, 1/{free / two:.1f} of free space (goal 1/8)", two >= BATCH_RATIO * free),
        (f"two threads {two / one:.2f} of one (goal {THREADS_RATIO})", two >= THREADS_RATIO * one),
        (f"batch missed {missed} (goal 0)", missed == 0),
        (f"wrong {wrong} of {min(checked, len(clutter))} (goal 0)", wrong == 0),
    ]
    print(f"{case.name} {case.kind}, {len(clutter)} targets, p99 {1e3 * np.percentile(clutter, 99):.2f} ms:")
    for text, met in goals:
        print(f"    {text}{'' if met else '  MISSED'}")
    for miss in case.misses[:20]:
        print(f"      {miss}")
    sys.stdout.flush()
    return goals


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", nargs="+", choices=tuple(ARMS), default=list(SMALL))
    parser.add_argument("--scenes", nargs="+", choices=SCENES, default=["boxes12", "shelf"])
    parser.add_argument("--targets", type=int, default=200)
    parser.add_argument("--checked", type=int, default=60, help="answers of each case that coal checks")
    parser.add_argument("--full", action="store_true")
    given = parser.parse_args()
    robots, scenes = (tuple(ARMS), SCENES) if given.full else (given.robots, given.scenes)
    met, asked = 0, 0
    for name in robots:
        for kind in scenes:
            count = given.targets
            if given.full:
                count = 20_000 if (name, kind) == ("panda", "boxes12") else 2000
            try:
                goals = measure(make_case(name, kind, count), count if given.full else given.checked)
            except NoRoom as reason:
                goals = [(str(reason), False)]
                print(f"{reason}  MISSED")
            met, asked = met + sum(held for _, held in goals), asked + len(goals)
    print(f"{met} of {asked} goals met")
    return 0 if met == asked else 1


if __name__ == "__main__":
    sys.exit(main())
