"""Goals other than a pose of one link among obstacles, and six-joint arms against full enumeration.

    python benchmarks/clutter_goals.py [--targets 200] [--enumerated 2000] [--full]

Goals: LookAt, Distance, Line, Cone with a position, a partial orientation with a position, and the poses of two arms.
Every target is that of a configuration without collision. Answers are checked again by Pinocchio's kinematics, with the
goals' equations written here, and by coal on the meshes.
Enumeration: targets of random configurations of ur5 and ur10 among 50 boxes, whether or not they can be reached. eaik
lists the branches, the native exact check says which are free and coal looks at those of the first 200 targets again. A
body that lies inside another without crossing its surface collides; coal, which sees surfaces, does not say so: these
are counted apart. memetik must find an answer exactly where a branch is free. --full: 2000 targets each and 100 000
enumerated.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

sys.path.insert(0, str(Path(__file__).resolve().parent))
from clutter import ARMS, TIMEOUT, make_case, make_scene
from mesh_truth import Reference
from peers.analytic import eaik_arm

import memetik as mk
from memetik.collision.mesh_checker import MeshChecker

SHARE = 99.5
FAR = 0.2  # metres from the link to what it looks at or keeps away from
ERROR = 2e-3  # metres, radians: of an answer by Pinocchio
Targets = tuple[np.ndarray, ...]
Errors = Callable[[np.ndarray, Targets], float]


@dataclass(frozen=True)
class Kind:
    """Goals on a link, their targets at the link's pose, and the largest error of a pose."""

    goals: Callable[[str], list[Any]]
    targets: Callable[[np.ndarray], Targets]
    error: Errors


def angle(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b))


def apart(pose: np.ndarray, point: np.ndarray) -> float:
    return float(np.linalg.norm(pose[:3, 3] - point))


def roll_pitch(pose: np.ndarray) -> np.ndarray:
    """Where the world's z lies in the link: what roll and pitch determine."""
    roll = np.arctan2(pose[2, 1], pose[2, 2])
    return np.array([roll, np.arctan2(-pose[2, 0], np.hypot(pose[2, 1], pose[2, 2]))])


KINDS = {
    "LookAt": Kind(
        lambda tip: [mk.LookAt(tip, axis="z")],
        lambda pose: (pose[:3, 3] + FAR * pose[:3, 2],),
        lambda pose, targets: angle(pose[:3, 2], targets[0] - pose[:3, 3]),
    ),
    "Distance": Kind(
        lambda tip: [mk.Distance(tip, distance=FAR)],
        lambda pose: (pose[:3, 3] + FAR * pose[:3, 0],),
        lambda pose, targets: abs(apart(pose, targets[0]) - FAR),
    ),
    "Line": Kind(
        lambda tip: [mk.Line(tip, direction="y")],
        lambda pose: (pose[:3, 3] + np.array([0.0, FAR, 0.0]),),
        lambda pose, targets: float(np.linalg.norm((pose[:3, 3] - targets[0])[[0, 2]])),
    ),
    "Cone": Kind(
        lambda tip: [mk.Cone(tip, axis="z", angle=0.1), mk.Position(tip)],
        lambda pose: (pose[:3, 2].copy(), pose[:3, 3].copy()),
        lambda pose, targets: max(angle(pose[:3, 2], targets[0]) - 0.1, apart(pose, targets[1])),
    ),
    "partial orientation": Kind(
        lambda tip: [mk.PartialOrientation(tip, roll="open", pitch="open"), mk.Position(tip)],
        lambda pose: (roll_pitch(pose), pose[:3, 3].copy()),
        lambda pose, targets: max(
            angle(pose[2, :3], mk.transform(rpy=(*targets[0], 0.0))[2, :3]), apart(pose, targets[1])
        ),
    ),
}


class Judge:
    """Pinocchio's poses and coal's verdict."""

    def __init__(self, path: Path, robot: mk.Robot, scene: mk.Scene):
        self.truth = Reference(path, robot, MeshChecker(robot, scene), scene)

    def collides(self, q: np.ndarray) -> bool:
        return self.truth.collides(q)

    def pose(self, link: str) -> np.ndarray:
        """At the configuration that `collides` was asked about last."""
        pin.updateFramePlacements(self.truth.model, self.truth.data)
        return self.truth.data.oMf[self.truth.model.getFrameId(link, pin.FrameType.BODY)].homogeneous


def judge_goals(name: str, scene_kind: str, kind_name: str, count: int) -> bool:
    """Prints what came of one kind of goal on one robot, and whether the bar holds."""
    case, kind = make_case(name, scene_kind, count), KINDS[kind_name]
    tip = case.arm.tip
    problem = mk.Problem(case.robot, kind.goals(tip), scene=case.scene)
    judge = Judge(case.arm.file, case.robot, case.scene)
    misses: list[str] = []
    seconds: list[float] = []
    wrong = 0
    for k, pose in enumerate(case.targets):
        targets = kind.targets(pose)
        begin = time.perf_counter()
        found = problem.solve(*targets, seed=case.seed, timeout=TIMEOUT)
        seconds.append(time.perf_counter() - begin)
        if not found.success:
            misses.append(f"target {k}: {found.reason} after {1e3 * found.time:.1f} ms")
        else:
            wrong += judge.collides(found.q) or kind.error(judge.pose(tip), targets) > ERROR
    return tell(f"{name} {scene_kind} {kind_name}", count, seconds, misses, wrong)


def judge_two_arms(scene_kind: str, count: int) -> bool:
    """Baxter with a pose for each gripper."""
    arm, rng = ARMS["baxter"], np.random.default_rng([7, *scene_kind.encode()])
    robot = mk.load_robot(arm.file)
    tips = ("left_gripper", "right_gripper")
    scene, _ = make_scene(scene_kind, np.array([0.2, 0.0, 0.3]), 1.0, rng)
    checker, free = MeshChecker(robot, scene), np.empty((0, robot.dof))
    while len(free) < count:
        q = robot.random(rng, 4000)
        free = np.concatenate([free, q[~np.asarray(checker.collides(q))]])
    problem = mk.Problem(robot, [mk.Pose(tip) for tip in tips], scene=scene)
    moving = np.isin(np.arange(robot.dof), problem.core.variables)
    judge, misses, seconds, wrong = Judge(arm.file, robot, scene), list[str](), list[float](), 0
    for k, q in enumerate(free[:count]):
        targets = tuple(robot.pose(tip, q) for tip in tips)
        seed = np.where(moving, free[-1], q)  # joints that no goal moves are where the target was made
        begin = time.perf_counter()
        found = problem.solve(*targets, seed=seed, timeout=TIMEOUT)
        seconds.append(time.perf_counter() - begin)
        if not found.success:
            misses.append(f"target {k}: {found.reason} after {1e3 * found.time:.1f} ms")
            continue
        hits = judge.collides(found.q)
        error = max(np.abs(judge.pose(tip) - target).max() for tip, target in zip(tips, targets, strict=True))
        wrong += hits or error > ERROR
    return tell(f"baxter {scene_kind} two arms", count, seconds, misses, wrong)


def tell(what: str, count: int, seconds: list[float], misses: list[str], wrong: int) -> bool:
    found = 100.0 * (1.0 - len(misses) / count)
    held = found >= SHARE and wrong == 0
    print(
        f"{what}, {count} targets: found {found:.2f} % (goal {SHARE}), mean {1e3 * np.mean(seconds):.3f} ms, median "
        f"{1e3 * np.median(seconds):.3f} ms, wrong {wrong} (goal 0){'' if held else '  MISSED'}"
    )
    for miss in misses[:20]:
        print(f"      {miss}")
    sys.stdout.flush()
    return held


def judge_enumeration(name: str, count: int) -> bool:
    """Whether answers are found exactly where a branch is free."""
    arm, rng = ARMS[name], np.random.default_rng([9, *name.encode()])
    robot = mk.load_robot(arm.file)
    scene, _ = make_scene("boxes50", robot.pose("shoulder_link", robot.neutral)[:3, 3], 0.9, rng)
    checker, truth = MeshChecker(robot, scene), Judge(arm.file, robot, scene)
    peer, problem = eaik_arm(robot, arm.tip), mk.Problem(robot, mk.Pose(arm.tip), scene=scene)
    targets = robot.pose(arm.tip, robot.random(rng, count))
    batch = problem.solve_batch(targets, seed=robot.neutral, threads=2, timeout=TIMEOUT)
    missed = invented = blocked = disagreed = within = 0
    for k, target in enumerate(targets):
        answer = peer.calculate_IK(target)
        own = [q for q, near in zip(answer.Q, answer.is_LS, strict=True) if not near]
        branches = np.array([q for q in own if np.abs(robot.pose(arm.tip, np.array(q)) - target).max() < 1e-5])
        hits = np.asarray(checker.collides(branches)) if len(branches) else np.ones(0, dtype=bool)
        for q, hit in zip(branches if k < 200 else (), hits, strict=False):
            if truth.collides(q) == hit:
                continue
            contact = checker.first_contact(q) if hit else None
            is_within = contact is not None and truth.truth.encloses(q, contact)
            within, disagreed = within + is_within, disagreed + (not is_within)
        is_free = bool((~hits).any())
        blocked += not is_free
        missed += is_free and not batch.success[k]
        invented += bool(batch.success[k]) and not is_free
    held = missed == invented == disagreed == 0
    print(
        f"{name}, {count} targets among 50 boxes, {blocked} blocked: {missed} missed, {invented} found where the "
        f"enumeration has none; of the branches of the first 200 targets coal judges {disagreed} otherwise, {within} "
        f"have a body inside another"
        f"{'' if held else '  MISSED'}"
    )
    return held


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robots", nargs="+", choices=tuple(ARMS), default=["panda", "ur5"])
    parser.add_argument("--scenes", nargs="+", default=["boxes12"])
    parser.add_argument("--targets", type=int, default=200)
    parser.add_argument("--enumerated", type=int, default=2000)
    parser.add_argument("--full", action="store_true")
    given = parser.parse_args()
    targets, enumerated = (2000, 100_000) if given.full else (given.targets, given.enumerated)
    robots = tuple(ARMS) if given.full else given.robots
    held = [judge_goals(name, scene, kind, targets) for name in robots for scene in given.scenes for kind in KINDS]
    held += [judge_two_arms(scene, targets) for scene in given.scenes]
    held += [judge_enumeration(name, enumerated) for name in ("ur5", "ur10")]
    print(f"{sum(held)} of {len(held)} goals met")
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
