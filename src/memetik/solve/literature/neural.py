"""Learned inverse kinematics: a network from poses to configurations, or from differences of poses to steps."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Literal

import numpy as np

from memetik._core import TermKind
from memetik.errors import InvalidInputError
from memetik.geometry import cache
from memetik.goals.base import HARD
from memetik.goals.compiler import GoalCompiler
from memetik.progress import progress_bar
from memetik.solve.literature.network import Network, plain_error
from memetik.solve.literature.optimisers import one_blas_thread
from memetik.solve.literature.serial import check_poses
from memetik.solve.methods.method import PythonMethod
from memetik.solve.methods.parameters import Count, Natural
from memetik.solve.methods.task import SearchTask
from memetik.solve.problem import Problem

logger = logging.getLogger(__name__)

FARTHEST = 1.0
"""Differences are cut to this size (metres over the robot's size, radians): a step is a first-order one."""

DAMPING = 0.1
"""Of the pseudo-inverse that is learned: near singular configurations its steps stay small."""

_trained: dict[str, Network] = {}


@dataclass(frozen=True)
class Neural(PythonMethod):
    """The neural methods of BioIK 2 (Ruppel 2017, section 3.6), trained here when a robot and a kind of goals first
    meet them (half a minute, with a progress bar on a terminal); the weights are kept on disk.

    "offset": the network takes the joints q and gives a matrix A, which turns the differences d of frames from their
    targets into a step: q <- clip(q + A(q) d), repeated with exact kinematics. It learns the steps of a damped
    pseudo-inverse. Small differences give small steps by this form; the source's network takes d too, gives the step
    itself, and its inputs are scaled up and outputs down to the same end.
    "direct": the network takes the targets and gives the configuration, once. Where a pose has several configurations
    it gives their mean, which has another pose: good for a seed, as in Seeded("neural_direct", "memetic"), not for an
    answer.

    Serves Pose, Position and Orientation goals in the world.

    kind        see above.
    hidden      units of the layers between.
    steps       of the training, on `batch` random configurations each.
    batch       see `steps`.
    training    seed of the training's random numbers.
    iterations  longest run of "offset".
    """

    kind: Literal["offset", "direct"] = "offset"
    hidden: tuple[Count, ...] = (256, 256)
    steps: Count = 4000
    batch: Count = 256
    training: Natural = 0
    iterations: Count = 200

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.hidden:
            raise InvalidInputError("hidden of Neural must have at least one layer, such as (256, 256), not ().")

    def check(self, problem: Problem) -> None:
        check_poses(problem, "neural")
        if problem.core.hard_rows and problem.variables:  # there is something to learn
            self.network(problem)

    def network(self, problem: Problem) -> Network:
        """The network for a problem's robot and goals: trained before, read from disk, or trained now."""
        frames = Sight(problem)
        key = cache.digest([frames.key, self.kind, self.hidden, self.steps, self.batch, self.training, 3])
        if key not in _trained:
            arrays = cache.load("network", key)
            _trained[key] = self._train(frames, key) if arrays is None else Network.from_arrays(arrays)
        return _trained[key]

    def search(self, task: SearchTask, start: np.ndarray) -> None:
        network, sight = self.network(task.problem), Sight(task.problem)
        wanted = sight.wanted(task)
        if self.kind == "direct":
            task.submit_end(task.clip(sight.middle + sight.half * network(sight.seen(wanted)[None])[0]))
            return
        x = start
        for _ in range(self.iterations):
            if task.is_within(task.residuals(x)):
                task.submit(x)
                return
            difference = sight.difference(sight.frames(x[None])[0], wanted)
            size = float(np.linalg.norm(difference))
            matrix = network(sight.joint_inputs(x[None]))[0].reshape(len(x), -1)
            x = task.clip(x + matrix @ difference * min(1.0, FARTHEST / max(size, 1e-300)))

    def _train(self, sight: Sight, key: str) -> Network:
        rng = np.random.default_rng(self.training)
        sampler, judge = (sight.offsets, sight.judge) if self.kind == "offset" else (sight.configurations, plain_error)
        inputs, wanted = sampler(np.random.default_rng(0), 1)
        n = len(sight.low)
        outputs = n * (wanted.shape[1] - n) if self.kind == "offset" else n
        network = Network.random([inputs.shape[1], *self.hidden, outputs], rng)
        name = sight.problem.robot.name
        with progress_bar(f"training the network of {name}", self.steps) as advance, one_blas_thread():
            error = network.train(sampler, self.steps, self.batch, rng, judge, advance)
        logger.info("trained a network of %s: root mean square error %.3f", name, error**0.5)
        cache.store("network", key, network.arrays())
        return network


class Sight:
    """What a network sees: frames that goals want, and joints, as numbers of size one."""

    def __init__(self, problem: Problem):
        self.problem = problem
        compiler = GoalCompiler(problem.robot)
        wants: dict[int, set[TermKind]] = {}
        for goal in problem.goals:
            compiler.add(goal)
        for term in compiler.terms:
            if term.spec.priority == HARD:
                wants.setdefault(term.spec.frame, set()).add(term.spec.kind)
        robot = problem.robot
        self.columns = np.array(problem.core.variables)
        self.links = [robot.links[compiler.frames[frame].link] for frame in wants]
        self.placements = np.array(
            [np.vstack([compiler.frames[frame].placement, [0.0, 0.0, 0.0, 1.0]]) for frame in wants]
        )
        self.has_position = [TermKind.point in kinds for kinds in wants.values()]
        self.has_rotation = [TermKind.rotation in kinds for kinds in wants.values()]
        _, _, self.low, self.high = problem.limits
        self.middle, self.half = 0.5 * (self.low + self.high), np.maximum(0.5 * (self.high - self.low), 1e-9)
        self.turning = np.array(robot.tree.turning)[self.columns]
        self.neutral = problem.neutral
        sampled = self.frames(self.draw(np.random.default_rng(0), 256))
        self.center = sampled[..., :3, 3].mean(axis=0)
        self.size = float(max(sampled[..., :3, 3].std(), 1e-6))

    @property
    def key(self) -> str:
        """A name for the robot and what is wanted of it."""
        return cache.digest(
            [self.problem.robot.content_digest.hex(), *self.links, self.placements, self.has_position,
             self.has_rotation, self.columns, self.neutral]
        )  # fmt: skip

    def draw(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Random variables (N, n)."""
        return self.low + rng.random((count, len(self.low))) * (self.high - self.low)

    def frames(self, x: np.ndarray) -> np.ndarray:
        """Poses (N, k, 4, 4) of the wanted frames."""
        return self.problem.robot.pose(self.links, self._full(x)) @ self.placements

    def _full(self, x: np.ndarray) -> np.ndarray:
        q = np.tile(self.neutral, (len(x), 1))
        q[:, self.columns] = x
        return q

    def wanted(self, task: SearchTask) -> np.ndarray:
        """The targets as poses (k, 4, 4); where only a part is wanted the other is of no meaning."""
        return np.array([want.pose for want in task.pose_targets])

    def joint_inputs(self, x: np.ndarray) -> np.ndarray:
        """Inputs (N, 2 n) for joints: sine and cosine of angles, slides within their range."""
        angle = np.where(self.turning, x, (x - self.middle) / self.half)
        return np.concatenate([np.sin(angle), np.cos(angle)], axis=-1)

    def seen(self, poses: np.ndarray) -> np.ndarray:
        """Inputs for poses (..., k, 4, 4): positions over the robot's size, rotation matrices."""
        parts = []
        for k in range(len(self.links)):
            if self.has_position[k]:
                parts.append((poses[..., k, :3, 3] - self.center[k]) / self.size)
            if self.has_rotation[k]:
                parts.append(poses[..., k, :3, :3].reshape(*poses.shape[:-3], 9))
        return np.concatenate(parts, axis=-1)

    def difference(self, poses: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Inputs for ways from poses to wanted ones (..., k, 4, 4): metres over the robot's size, rotation vectors."""
        parts = []
        for k in range(len(self.links)):
            if self.has_position[k]:
                parts.append((wanted[..., k, :3, 3] - poses[..., k, :3, 3]) / self.size)
            if self.has_rotation[k]:
                parts.append(rotation_vectors(wanted[..., k, :3, :3] @ np.swapaxes(poses[..., k, :3, :3], -1, -2)))
        return np.concatenate(parts, axis=-1)

    def offsets(self, rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Samples for "offset": joints; and for `judge` differences in all directions, those in which the joints hardly
        move among them, with the steps that the damped pseudo-inverse answers them with, over the size of the steps."""
        x = self.draw(rng, count)
        jacobians = self.jacobians(x)
        turned = np.swapaxes(jacobians, 1, 2)
        difference = rng.standard_normal((count, jacobians.shape[1]))
        square = jacobians @ turned + DAMPING**2 * np.eye(jacobians.shape[1])
        step = (turned @ np.linalg.solve(square, difference[:, :, None]))[..., 0]
        size = np.linalg.norm(step, axis=1, keepdims=True) / np.sqrt(step.shape[1]) + 1e-9
        return self.joint_inputs(x), np.concatenate([difference, step], axis=1) / size

    def judge(self, outputs: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The error of steps A d, A (n, m) the outputs."""
        n = len(self.low)
        m = outputs.shape[1] // n
        difference, step = wanted[:, :m], wanted[:, m:]
        error = np.einsum("knm,km->kn", outputs.reshape(-1, n, m), difference) - step
        return error, (error[:, :, None] * difference[:, None, :]).reshape(outputs.shape)

    def jacobians(self, x: np.ndarray) -> np.ndarray:
        """Derivatives (N, m, n) of what `difference` measures by the joints."""
        q, parts = self._full(x), []
        for k, link in enumerate(self.links):
            jacobian = self.problem.robot.jacobian(link, q, self.placements[k, :3, 3])[..., self.columns]
            if self.has_position[k]:
                parts.append(jacobian[:, :3] / self.size)
            if self.has_rotation[k]:
                parts.append(jacobian[:, 3:])
        return np.concatenate(parts, axis=1)

    def configurations(self, rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Samples for "direct": poses, and the configurations that have them."""
        x = self.draw(rng, count)
        return self.seen(self.frames(x)), (x - self.middle) / self.half


def rotation_vectors(rotations: np.ndarray) -> np.ndarray:
    """Axis times angle (..., 3) of rotations (..., 3, 3)."""
    r = rotations
    sine = 0.5 * np.stack([r[..., 2, 1] - r[..., 1, 2], r[..., 0, 2] - r[..., 2, 0], r[..., 1, 0] - r[..., 0, 1]], -1)
    length = np.linalg.norm(sine, axis=-1, keepdims=True)
    cosine = 0.5 * (np.trace(r, axis1=-2, axis2=-1)[..., None] - 1.0)
    return sine * np.arctan2(length, cosine) / np.maximum(length, 1e-12)
