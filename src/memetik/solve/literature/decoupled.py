"""Distal first: the joints at the thin end of a robot are chosen before those of the arm that carries it."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from memetik.errors import GoalError
from memetik.geometry.transforms import inverse
from memetik.goals.pose import Pose
from memetik.robot.edit import extract_chain
from memetik.robot.robot import Robot
from memetik.solve.literature.serial import check_poses
from memetik.solve.methods.method import PythonMethod
from memetik.solve.methods.parameters import Count, NotNegative
from memetik.solve.methods.task import SearchTask
from memetik.solve.problem import Problem

if TYPE_CHECKING:
    from memetik.collision.fast import FastModel

ARM_JOINTS = 6
"""Joints that the arm needs for a pose; the others, nearer to the tip, are the end."""


@dataclass(frozen=True)
class Decoupled(PythonMethod):
    """Kinematic decoupling: configurations of the end that touch nothing first, then the arm. After T. Engelke,
    "Benchmarking and Improving Inverse Kinematics for Endoscopic Inspection Tasks", Universität Hamburg 2024, section
    8.10, which turns the chain around by hand, asks for one configuration of the end, its base near a point outside the
    opening, and leaves drawing the end's configurations aside; here the chain is turned by itself, and no point has to
    be given.

    The chain is turned around: rooted at the target, the end hangs in the scene without the arm. Its joints, few, are
    drawn at random, and those with the best clearance are varied until nothing touches; the arm then brings its flange
    to where the end begins. Serves one Pose goal of a serial robot with more than six joints, in a scene or out of it.

    samples   random configurations of the end.
    rounds    how often the best of them are varied.
    parents   how many are varied, and how often each.
    spread    radians or metres of variation in the first round; two thirds of it in each that follows.
    offers    free ends that the arm tries to carry.
    """

    samples: Count = 256
    rounds: Count = 8
    parents: Count = 16
    spread: NotNegative = 0.3
    offers: Count = 6

    def check(self, problem: Problem) -> None:
        check_poses(problem, "decoupled")
        _halves_of(problem)

    def search(self, task: SearchTask, start: np.ndarray) -> None:
        halves = _halves_of(task.problem)
        if not halves.is_prepared(task.time_left):
            return
        (want,) = task.pose_targets
        target = want.pose @ inverse(want.frame)
        ends = self._free_ends(task, halves, target)
        if not len(ends):
            return
        seed = task.full(start)
        flanges = target @ halves.tail.pose(halves.flange, halves.to_tail(ends))
        task.check_bounds()
        share = None if task.evaluations_left == np.inf else int(task.evaluations_left) // len(flanges)
        arm = halves.ik.solve_batch(
            flanges, seed=seed[halves.arm_entries], timeout=min(1e-3, max(task.time_left, 0.0)), evaluations=share
        )
        task.spend(int(arm.evaluations.sum()))
        for k in np.flatnonzero(arm.success):
            q = seed.copy()
            q[halves.arm_entries], q[halves.tail_entries] = arm.q[k], ends[k]
            variables = q[task.problem.core.variables]
            task.cost(variables)  # the best of them is kept, answer or not
            if task.submit(variables):
                return

    def _free_ends(self, task: SearchTask, halves: _Halves, target: np.ndarray) -> np.ndarray:
        """Values (K, tail) of the end's joints at which it, held at the target, touches nothing."""
        world, margin, spread = halves.world_at(target), halves.margin, self.spread
        ends = task.rng.uniform(halves.lower, halves.upper, (self.samples, len(halves.lower)))
        if world is None:
            return ends[: self.offers]
        kept, best = ends[:0], np.zeros(0)
        for _ in range(self.rounds):
            task.check_bounds()
            ends = ends[: int(min(task.evaluations_left, len(ends)))]
            clearance = world.clearance(halves.tail.core, halves.to_tail(ends), margin + 0.01)
            task.spend(len(ends))
            kept, best = np.concatenate([kept, ends]), np.concatenate([best, clearance])
            order = np.argsort(-best, kind="stable")[: self.parents]
            kept, best = kept[order], best[order]
            if (best >= margin).sum() >= self.offers:
                break
            shifts = task.rng.normal(0.0, spread, (len(kept) * self.parents, kept.shape[1]))
            ends = np.clip(np.repeat(kept, self.parents, axis=0) + shifts, halves.lower, halves.upper)
            spread *= 2.0 / 3.0
        return kept[best >= margin][: self.offers]


class _Halves:
    """A robot parted: the arm to the flange, and the end turned around, from the tip to the flange."""

    def __init__(self, problem: Problem, goal: Pose):
        robot = problem.robot
        entries = np.flatnonzero(robot.moves(goal.link))
        names = [robot.joint_names[k] for k in entries]
        path = [joint.name for joint in robot.tree.topology.path_to_root(goal.link)][::-1]
        if len(entries) <= ARM_JOINTS or [name for name in path if name in names] != names:
            raise GoalError(
                f"decoupled serves serial robots with more than {ARM_JOINTS} joints between base and {goal.link!r}; "
                f"{robot.name!r} has {len(entries)} there. Use method='memetic'."
            )
        if problem.fixed:
            raise GoalError("decoupled moves all joints: use method='memetic' where some are fixed.")
        joints = {joint.name: joint for joint in robot.description.joints}
        self.flange = joints[names[ARM_JOINTS]].parent
        self.arm_entries, self.tail_entries = entries[:ARM_JOINTS], entries[ARM_JOINTS:]
        self.lower, self.upper = np.array(robot.lower)[self.tail_entries], np.array(robot.upper)[self.tail_entries]
        if not (np.isfinite(self.lower).all() and np.isfinite(self.upper).all()):
            self.lower, self.upper = np.maximum(self.lower, -np.pi), np.minimum(self.upper, np.pi)
        self.margin = problem.margin
        self._scene = None if problem.collision_context is None else problem.collision_context.scene
        self._prepared, self._failure = threading.Event(), list[BaseException]()
        # Two robots, bodies and fields take longer than many a timeout: a solve waits for as long as it may, the next
        # goes on.
        threading.Thread(target=self._prepare, args=(robot, goal.link, names[ARM_JOINTS:]), daemon=True).start()

    def _prepare(self, robot: Robot, tip: str, tail: list[str]) -> None:
        from memetik.collision.fast import FastModel
        from memetik.solve.problem import Problem as Whole

        try:
            self.ik = Whole(
                Robot(extract_chain(robot.description, robot.tree.topology.root, self.flange)), [Pose(self.flange)]
            )
            self.tail = Robot(extract_chain(robot.description, tip, self.flange))
            self._columns = [tail.index(name) for name in self.tail.joint_names]
            self._fast: FastModel | None = None
            if self._scene is not None:
                self._fast = FastModel(self.tail, self._scene, "conservative", self_collision=False)
                _ = self._fast.core
        except BaseException as error:  # told to whoever waits for it
            self._failure.append(error)
        self._prepared.set()

    def is_prepared(self, seconds: float) -> bool:
        """Whether arm and end can be asked within so many seconds."""
        ready = self._prepared.wait(None if math.isinf(seconds) else max(seconds, 0.0))
        if self._failure:
            raise self._failure[0]
        return ready

    def to_tail(self, ends: np.ndarray) -> np.ndarray:
        """Values of the end's joints, from the flange outwards, as the turned robot has them."""
        return np.ascontiguousarray(ends[:, self._columns])

    def world_at(self, target: np.ndarray) -> Any:
        """The scene as the end sees it whose tip is held at the target; None where there is none."""
        if self._fast is None or self._scene is None:
            return None
        into = inverse(target)
        poses = [(into @ item.pose)[:3] for item in self._scene if item.link is None]
        return self._fast.core.moved(np.arange(len(poses)), np.array(poses, dtype=float).reshape(-1, 3, 4))


_known: WeakKeyDictionary[Problem, _Halves] = WeakKeyDictionary()


def _halves_of(problem: Problem) -> _Halves:
    if problem not in _known:
        goals = [goal for goal in problem.goals if goal.priority == 0]
        goal = goals[0] if len(goals) == 1 else None
        if not isinstance(goal, Pose):
            raise GoalError("decoupled serves one Pose goal on one link: use method='memetic' for other goals.")
        _known[problem] = _Halves(problem, goal)
    return _known[problem]
