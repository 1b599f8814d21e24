"""Free space: which postures and motions of a robot touch nothing, with proof where there is geometry.

`space_for` gives the kind that fits: a scene with geometry (`SceneSpace`), an object of the user's with collides(q)
(`CheckerSpace`), or nothing at all (`OpenSpace`). All of them answer the same questions, so that planners, smoothing
and timing need not know which it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from memetik.errors import InvalidInputError
from memetik.motion.reach import motion_levers

if TYPE_CHECKING:
    from memetik.robot.robot import Robot
    from memetik.solve.confinement import Confinement

TOLERANCE = 5e-4
"""Metres: what bodies may come nearer than and count as colliding, as nothing could be proved."""

COARSE_TOLERANCE = 2e-3
"""Metres, likewise, for first tries and shortcuts."""

FINE_TOLERANCE = 1e-6
"""Metres, likewise, for the way out of postures that nearly touch something."""

CHECKER_STEP = 5e-3
"""Metres that no point of the robot moves farther than between two questions to a user's checker."""

CHECKER_TURN = 5e-3
"""Radians, or metres, that no joint moves farther: a checker may look at joints that move no point, such as a spin."""

PROVED, UNKNOWN, BLOCKED = 0, 1, 2


class OpenSpace:
    """Nothing is in the way."""

    def __init__(self, robot: Robot):
        self.robot = robot

    def is_free(self, q: np.ndarray) -> bool:
        """Whether a posture (dof,) touches nothing."""
        return True

    def touching(self, q: np.ndarray) -> tuple[str, str] | None:
        """Two names that touch at a posture, where they are known."""
        return None

    def edge(self, a: np.ndarray, b: np.ndarray) -> bool:
        """Whether the straight motion from a to b touches nothing."""
        return True

    def states(self, q: np.ndarray, spread: np.ndarray) -> np.ndarray:
        """Per posture (N, dof): PROVED where all within +-spread (N, dof) are free, UNKNOWN where only it itself is
        known to be, else BLOCKED."""
        return np.zeros(len(q), dtype=np.uint8)

    def way(self, difference: np.ndarray) -> np.ndarray:
        """(...) metres that no point moves farther than while the joints move by `difference` (..., dof)."""
        return np.abs(difference) @ motion_levers(self.robot)

    def first_blocked(self, points: np.ndarray) -> int | None:
        """The number of the first segment of a path (N, dof) that is not free; None where all are."""
        for index in range(len(points) - 1):
            if not self.edge(points[index], points[index + 1]):
                return index
        return None


class CheckerSpace(OpenSpace):
    """What a user's object with collides(q) says, asked so densely that no point and no joint moves far between.

    step: metres; turn: radians, or metres, of joints. What is thinner may be passed between two questions.
    """

    def __init__(self, robot: Robot, checker: Any, step: float = CHECKER_STEP, turn: float = CHECKER_TURN):
        super().__init__(robot)
        if not 0.0 < step < np.inf:
            raise InvalidInputError(f"step is in metres and must be positive, not {step!r}.")
        self.checker, self.step, self.turn = checker, step, turn
        self._takes_many: bool | None = None

    def is_free(self, q: np.ndarray) -> bool:
        return not bool(self.checker.collides(q))

    def edge(self, a: np.ndarray, b: np.ndarray) -> bool:
        count = int(np.ceil(max(self.way(b - a) / self.step, np.abs(b - a).max() / self.turn))) + 1
        rows = a + np.linspace(0.0, 1.0, count)[:, None] * (b - a)
        # The ends and the middle first: what is blocked is mostly found by few questions.
        order = np.argsort(_bit_reversed(count), kind="stable")
        return not any(self._collide(rows[order[begin : begin + 64]]).any() for begin in range(0, count, 64))

    def finer(self) -> CheckerSpace | None:
        """The same, asked ten times as densely, as paths are before they are given out; None where it is that."""
        if self.turn < CHECKER_TURN:
            return None
        return CheckerSpace(self.robot, self.checker, self.step / 10.0, self.turn / 10.0)

    def states(self, q: np.ndarray, spread: np.ndarray) -> np.ndarray:
        near = (self.way(spread) <= 0.5 * self.step) & (spread.max(axis=-1) <= 0.5 * self.turn)
        return np.where(self._collide(q), BLOCKED, np.where(near, PROVED, UNKNOWN)).astype(np.uint8)

    def _collide(self, rows: np.ndarray) -> np.ndarray:
        if self._takes_many is None and len(rows) > 1:
            try:
                answer = np.asarray(self.checker.collides(rows))
                self._takes_many = answer.shape == (len(rows),)
            except Exception:  # a checker of single postures may fail in any way on many
                self._takes_many = False
        if self._takes_many:
            return np.asarray(self.checker.collides(rows), dtype=bool)
        return np.array([bool(self.checker.collides(row)) for row in rows], dtype=bool)


class SceneSpace(OpenSpace):
    """A scene and the robot's own links. Motions are proved free by the conservative model, in lanes; where that is
    too coarse the exact geometry decides.

    A snapshot: the scene as it is when this is made.
    """

    def __init__(self, robot: Robot, confinement: Confinement, tolerance: float = TOLERANCE):
        from memetik import _core

        super().__init__(robot)
        self.confinement, self.margin, self.tolerance = confinement, confinement.margin, tolerance
        slides = np.maximum(np.abs(robot.lower), np.abs(robot.upper))
        slides = np.where(np.isfinite(slides), slides, np.where(robot.turning, 0.0, FARTHEST_SLIDE))
        world, slides = confinement.certain.world, np.ascontiguousarray(slides)
        self.core = _core.MotionModel(world, robot.core, slides, self.margin, tolerance)
        # Motions that come this near to something are not worth the effort while there may be others.
        self.coarse = _core.MotionModel(world, robot.core, slides, self.margin, max(tolerance, COARSE_TOLERANCE))
        # Starts and goals may be nearer than that: the first step away from them is proved however small it is.
        self.fine = _core.MotionModel(world, robot.core, slides, self.margin, FINE_TOLERANCE)

    def is_free(self, q: np.ndarray) -> bool:
        return self.is_surely_free(q) or not self.confinement.touches(q)

    def is_surely_free(self, q: np.ndarray) -> bool:
        """Whether the conservative model says so."""
        return not self.confinement.certain.collides(q, self.margin)

    def touching(self, q: np.ndarray) -> tuple[str, str] | None:
        if self.margin > 0.0:
            return self.confinement.exact.closest(q)[1]
        return self.confinement.exact.colliding_pair(q)

    def edge(self, a: np.ndarray, b: np.ndarray) -> bool:
        return self.quick_edge(a, b) or self.exact_edge(a, b)

    def quick_edge(self, a: np.ndarray, b: np.ndarray) -> bool:
        """Whether the conservative model proves the straight motion free."""
        return self.core.edge(np.ascontiguousarray(a), np.ascontiguousarray(b)) >= 1.0

    def clearance(self, q: np.ndarray, limit: float) -> float:
        """What the conservative model says that is left beyond the margin, metres, at most `limit`."""
        return self.confinement.certain.clearance(q, limit + self.margin) - self.margin

    def way_out(self, a: np.ndarray, b: np.ndarray) -> bool:
        """As `edge`, where a may all but touch something: by ever smaller steps."""
        fine = self.fine.edge(np.ascontiguousarray(a), np.ascontiguousarray(b)) >= 1.0
        return fine or self.exact_edge(a, b, FINE_TOLERANCE)

    def exact_edge(self, a: np.ndarray, b: np.ndarray, tolerance: float | None = None) -> bool:
        """Whether exact geometry proves it; slower, and decides what is too narrow for the conservative model."""
        from memetik.motion.certify import prove_motion

        def spread(low: float, high: float) -> np.ndarray:
            return np.abs(b - a) * (high - low) / 2

        return prove_motion(self, lambda t: a + t[:, None] * (b - a), spread, tolerance or self.tolerance)

    def states(self, q: np.ndarray, spread: np.ndarray) -> np.ndarray:
        out = np.empty(len(q), dtype=np.uint8)
        self.core.states(np.ascontiguousarray(q), np.ascontiguousarray(spread), out)
        return out

    def exact_state(self, q: np.ndarray, spread: np.ndarray) -> int:
        """As `states`, for one posture by exact geometry."""
        from memetik.scene.continuous import pair_speeds

        exact = self.confinement.exact
        if self.confinement.touches(q):
            return BLOCKED
        speeds = pair_speeds(exact, q - spread, q + spread)
        if self.margin > 0.0:
            clear = float(exact.distance(q)) - self.margin
            return PROVED if clear >= 0.5 * float(speeds.max(initial=0.0)) else UNKNOWN
        return PROVED if exact.least_time(q, speeds) >= 0.5 else UNKNOWN


FARTHEST_SLIDE = 10.0
"""Metres: how far a sliding joint without limits is taken to go at most."""


def space_for(
    robot: Robot, scene: Any = None, *, self_collision: bool = True, margin: float = 0.0, tolerance: float = TOLERANCE
) -> OpenSpace:
    """The free space of a robot in a scene: an mk.Scene, any object with collides(q), or None."""
    from memetik.solve.confinement import confined

    if hasattr(scene, "collides"):
        return CheckerSpace(robot, scene)
    if scene is None and not self_collision:
        return OpenSpace(robot)
    return SceneSpace(robot, confined(robot, scene, self_collision, float(margin)), tolerance)


def _bit_reversed(count: int) -> np.ndarray:
    """Ranks by which the numbers 0 to count - 1 are spread out evenly, coarse ones first."""
    bits = max(count - 1, 1).bit_length()
    numbers = np.arange(count)
    result = np.zeros(count, dtype=int)
    for bit in range(bits):
        result |= ((numbers >> bit) & 1) << (bits - 1 - bit)
    return result
