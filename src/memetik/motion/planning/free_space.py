"""Free space: which configurations and motions of a robot are free of collision, with proof where there is geometry.

`space_for` gives the kind that fits: a scene with geometry (`SceneSpace`), an object of the user's with collides(q)
(`CheckerSpace`), or nothing at all (`OpenSpace`). All of them answer the same questions, so that planners, smoothing
and timing need not know which it is.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from memetik import _core
from memetik.collision.lever_arms import LeverArms
from memetik.errors import InvalidInputError
from memetik.solve.problem import ExternalChecker

if TYPE_CHECKING:
    from memetik.collision.context import CollisionContext
    from memetik.geometry.shapes import Shape
    from memetik.robot.robot import Robot
    from memetik.scene.scene import Scene

TOLERANCE = 5e-4
"""Metres: clearances below this cannot be certified and count as collision."""

COARSE_TOLERANCE = 2e-3
"""Metres, likewise, for first tries and shortcuts."""

FINE_TOLERANCE = 1e-6
"""Metres, likewise, for motions out of configurations that are nearly in collision."""

CHECKER_STEP = 5e-3
"""Metres that no point of the robot moves farther than between two questions to an external checker."""

CHECKER_JOINT_STEP = 5e-3
"""Radians, or metres, that no joint moves farther: a checker may look at joints that move no point, such as a spin."""

FARTHEST_SLIDE = 10.0
"""Metres: how far a sliding joint without limits is taken to go at most."""

PROVED, UNKNOWN, BLOCKED = (int(state) for state in _core.MotionState)


SceneLike: TypeAlias = "Scene | ExternalChecker | None"
"""What a robot moves in: a scene, an external checker, or nothing."""


class OpenSpace:
    """Nothing is in the way."""

    first_work = 2000
    """What a planner of the core may look at in its first try: as much as takes some tens of milliseconds."""

    def __init__(self, robot: Robot):
        self.robot = robot

    def is_free(self, q: np.ndarray) -> bool:
        """Whether a configuration (dof,) is free of collision."""
        return True

    def colliding_pair(self, q: np.ndarray) -> tuple[str, str] | None:
        """The names of two bodies that collide at a configuration, where they are known."""
        return None

    def edge(self, a: np.ndarray, b: np.ndarray) -> bool:
        """Whether the straight motion from a to b is free."""
        return True

    def quick_edge(self, a: np.ndarray, b: np.ndarray) -> bool:
        """As `edge`, by what is found out quickly; a motion that is free may be refused."""
        return self.edge(a, b)

    def states(self, q: np.ndarray, spread: np.ndarray) -> np.ndarray:
        """Per configuration (N, dof): PROVED where all within +-spread (N, dof) are free, UNKNOWN where only it itself
        is known to be, else BLOCKED."""
        return np.zeros(len(q), dtype=np.uint8)

    def travel(self, difference: np.ndarray) -> np.ndarray:
        """(...) metres that no point moves farther than while the joints move by `difference` (..., dof)."""
        return np.abs(difference) @ motion_levers(self.robot)

    def search_path(self, request: _core.PathRequest, stop: _core.StopFlag | None = None) -> _core.PathResult:
        """The core's planner in this space."""
        return self.search_exactly(request, stop)

    def search_exactly(self, request: _core.PathRequest, stop: _core.StopFlag | None = None) -> _core.PathResult:
        """The core's planner, which asks this space about every motion."""
        request = request.replace(local_share=0.5)
        return _core.search_path(self.is_free, self.edge, self.is_proved, request, stop)

    def is_proved(self, a: np.ndarray, b: np.ndarray) -> bool:
        """Whether the straight motion from a to b, which `edge` lets pass, is free beyond doubt."""
        return True

    def shorten_path(self, request: _core.ShortcutRequest) -> np.ndarray:
        """A path (N, dof) with shortcuts, by the core."""
        return _core.shorten_path(self.edge, request)


class CheckerSpace(OpenSpace):
    """What an external checker says, asked so densely that no point and no joint moves far between.

    step: metres; joint_step: radians, or metres, of joints. What is thinner may be passed between two questions.
    """

    def __init__(
        self, robot: Robot, checker: ExternalChecker, step: float = CHECKER_STEP, joint_step: float = CHECKER_JOINT_STEP
    ):
        super().__init__(robot)
        if not 0.0 < step < np.inf:
            raise InvalidInputError(f"step is in metres and must be positive, not {step!r}.")
        self.checker, self.step, self.joint_step = checker, step, joint_step
        self._takes_many: bool | None = None

    def is_free(self, q: np.ndarray) -> bool:
        return not bool(self.checker.collides(q))

    def edge(self, a: np.ndarray, b: np.ndarray) -> bool:
        count = int(np.ceil(max(self.travel(b - a) / self.step, np.abs(b - a).max() / self.joint_step))) + 1
        rows = a + np.linspace(0.0, 1.0, count)[:, None] * (b - a)
        # The ends and the middle first: what is blocked is mostly found by few questions.
        order = np.argsort(_bit_reversed(count), kind="stable")
        return not any(self._collide(rows[order[begin : begin + 64]]).any() for begin in range(0, count, 64))

    def finer(self) -> CheckerSpace:
        """The same, asked ten times as densely, as paths are before they are given out."""
        return CheckerSpace(self.robot, self.checker, self.step / 10.0, self.joint_step / 10.0)

    def is_proved(self, a: np.ndarray, b: np.ndarray) -> bool:
        return self.finer().edge(a, b)

    def states(self, q: np.ndarray, spread: np.ndarray) -> np.ndarray:
        near = (self.travel(spread) <= 0.5 * self.step) & (spread.max(axis=-1) <= 0.5 * self.joint_step)
        return np.where(self._collide(q), BLOCKED, np.where(near, PROVED, UNKNOWN)).astype(np.uint8)

    def _collide(self, rows: np.ndarray) -> np.ndarray:
        if self._takes_many is None and len(rows) > 1:
            try:
                answer = np.asarray(self.checker.collides(rows))
                self._takes_many = answer.shape == (len(rows),)
            except Exception:  # a checker of single configurations may fail in any way on many
                self._takes_many = False
        if self._takes_many:
            return np.asarray(self.checker.collides(rows), dtype=bool)
        return np.array([bool(self.checker.collides(row)) for row in rows], dtype=bool)


class SceneSpace(OpenSpace):
    """A scene and the robot's own links. Motions are proved free by the conservative model, in lanes; where that is
    too coarse the exact geometry decides.

    A snapshot: the scene as it is when this is made.
    """

    first_work = 200_000

    def __init__(self, robot: Robot, collision_context: CollisionContext, tolerance: float = TOLERANCE):
        super().__init__(robot)
        self.collision_context, self.margin, self.tolerance = collision_context, collision_context.margin, tolerance
        slides = np.maximum(np.abs(robot.lower), np.abs(robot.upper))
        slides = np.where(np.isfinite(slides), slides, np.where(robot.turning, 0.0, FARTHEST_SLIDE))
        model, slides = collision_context.conservative.core, np.ascontiguousarray(slides)
        self.core = _core.MotionModel(model, robot.core, slides, self.margin, tolerance)
        # Motions that come this near to something are not worth the effort while there may be others.
        self.coarse = _core.MotionModel(model, robot.core, slides, self.margin, max(tolerance, COARSE_TOLERANCE))
        # Starts and goals may be nearer than that: the first step away from them is proved however small it is.
        self.fine = _core.MotionModel(model, robot.core, slides, self.margin, FINE_TOLERANCE)

    def is_free(self, q: np.ndarray) -> bool:
        return self.is_surely_free(q) or not self.collision_context.in_collision(q)

    def is_surely_free(self, q: np.ndarray) -> bool:
        """Whether the conservative model says so."""
        return not self.collision_context.conservative.collides(q, self.margin)

    def colliding_pair(self, q: np.ndarray) -> tuple[str, str] | None:
        if self.margin > 0.0:
            return self.collision_context.exact.closest(q)[1]
        return self.collision_context.exact.colliding_pair(q)

    def edge(self, a: np.ndarray, b: np.ndarray) -> bool:
        return self.quick_edge(a, b) or self.exact_edge(a, b)

    def quick_edge(self, a: np.ndarray, b: np.ndarray) -> bool:
        return self.core.edge(np.ascontiguousarray(a), np.ascontiguousarray(b)) >= 1.0

    def search_path(self, request: _core.PathRequest, stop: _core.StopFlag | None = None) -> _core.PathResult:
        return self.core.search_path(request, stop)

    def shorten_path(self, request: _core.ShortcutRequest) -> np.ndarray:
        return self.coarse.shorten_path(request)

    def clearance(self, q: np.ndarray, limit: float) -> float:
        """The clearance beyond the margin by the conservative model, metres, at most `limit`."""
        return self.collision_context.conservative.clearance(q, limit + self.margin) - self.margin

    def is_escape_free(self, a: np.ndarray, b: np.ndarray) -> bool:
        """As `edge`, where a may be all but in collision: by ever smaller steps."""
        fine = self.fine.edge(np.ascontiguousarray(a), np.ascontiguousarray(b)) >= 1.0
        return fine or self.exact_edge(a, b, FINE_TOLERANCE)

    def exact_edge(self, a: np.ndarray, b: np.ndarray, tolerance: float | None = None) -> bool:
        """Whether exact geometry proves it; slower, and decides what is too narrow for the conservative model."""
        from memetik.motion.planning.proofs import is_straight_free

        return is_straight_free(self, a, b, tolerance)

    def states(self, q: np.ndarray, spread: np.ndarray) -> np.ndarray:
        out = np.empty(len(q), dtype=np.uint8)
        self.core.states(np.ascontiguousarray(q), np.ascontiguousarray(spread), out)
        return out

    def exact_state(self, q: np.ndarray, spread: np.ndarray) -> int:
        """As `states`, for one configuration by exact geometry."""
        from memetik.collision.continuous import pair_speeds

        exact = self.collision_context.exact
        if self.collision_context.in_collision(q):
            return BLOCKED
        speeds = pair_speeds(exact, q - spread, q + spread)
        if self.margin > 0.0:
            clear = float(exact.distance(q)) - self.margin
            return PROVED if clear >= 0.5 * float(speeds.max(initial=0.0)) else UNKNOWN
        return PROVED if exact.least_time(q, speeds) >= 0.5 else UNKNOWN


def space_for(
    robot: Robot,
    scene: SceneLike = None,
    *,
    self_collision: bool = True,
    margin: float = 0.0,
    tolerance: float = TOLERANCE,
) -> OpenSpace:
    """The free space of a robot in a scene: an mk.Scene, any object with collides(q), or None."""
    from memetik.collision.context import CollisionContext

    if isinstance(scene, ExternalChecker):
        return CheckerSpace(robot, scene)
    if scene is None and not self_collision:
        return OpenSpace(robot)
    return SceneSpace(robot, CollisionContext.shared(robot, scene, self_collision, float(margin)), tolerance)


class LiveSpace:
    """The free space of a robot in a scene, made anew when the scene has changed."""

    def __init__(self, robot: Robot, scene: SceneLike, self_collision: bool = True, margin: float = 0.0):
        self.robot, self.scene, self.self_collision, self.margin = robot, scene, self_collision, margin
        self._space: OpenSpace | None = None
        self._seen: _core.FastCollisionModel | None = None

    @property
    def current(self) -> OpenSpace:
        """The free space in the scene as it is now."""
        space = self._space
        is_old = isinstance(space, SceneSpace) and space.collision_context.conservative.core is not self._seen
        if space is None or is_old:
            space = space_for(self.robot, self.scene, self_collision=self.self_collision, margin=self.margin)
            self._seen = space.collision_context.conservative.core if isinstance(space, SceneSpace) else None
            self._space = space
        return space


@lru_cache(maxsize=64)
def motion_levers(robot: Robot) -> np.ndarray:
    """(dof,) metres per radian, or 1 for slides: while q moves by dq, no point of the robot moves farther than
    sum of |dq_k| lever_k, in any configuration within the limits."""
    links = robot.description.links
    largest = np.maximum(np.abs(robot.lower), np.abs(robot.upper))
    shapes = [[(_radius(g.shape), g.origin[:3, 3]) for g in link.collisions] for link in links]
    radii = [max((radius + float(np.linalg.norm(at)) for radius, at in each), default=0.0) for each in shapes]
    arms = LeverArms(robot.tree, range(len(links)), radii)
    return arms.by_variable(np.where(np.isfinite(largest), largest, FARTHEST_SLIDE))


def _radius(shape: Shape) -> float:
    """Of a ball about the shape's origin that holds it."""
    from memetik.geometry.shapes import Box, Capsule, Cylinder, Sphere

    if isinstance(shape, Box):
        return 0.5 * float(np.linalg.norm(shape.size))
    if isinstance(shape, Sphere):
        return float(shape.radius)
    if isinstance(shape, Capsule):
        return float(shape.radius + 0.5 * shape.length)
    if isinstance(shape, Cylinder):
        return float(np.hypot(shape.radius, 0.5 * shape.length))
    from memetik.geometry.tessellate import as_mesh

    return float(np.linalg.norm(as_mesh(shape).vertices, axis=1).max(initial=0.0))


def _bit_reversed(count: int) -> np.ndarray:
    """Ranks by which the numbers 0 to count - 1 are spread out evenly, coarse ones first."""
    bits = max(count - 1, 1).bit_length()
    return np.array([int(f"{number:0{bits}b}"[::-1], 2) for number in range(count)])
