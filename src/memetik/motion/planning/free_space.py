"""Free space: which configurations and motions of a robot are free of collision, with proof where there is geometry.

`space_for` gives the kind that fits: a scene with geometry (`SceneSpace`), an object of the user's with collides(q)
(`CheckerSpace`), or nothing at all (`OpenSpace`). All of them answer the same questions, so that planners, smoothing
and timing need not know which it is.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from memetik import _core
from memetik.collision.lever_arms import LeverArms
from memetik.errors import InvalidInputError
from memetik.robot.loop_motion import loop_follower
from memetik.solve.problem import ExternalChecker

if TYPE_CHECKING:
    from memetik.collision.context import CollisionContext
    from memetik.collision.mesh_checker import MeshChecker
    from memetik.geometry.shapes import Shape
    from memetik.robot.robot import Robot
    from memetik.scene.scene import Scene

TOLERANCE = 1e-5
"""Metres: clearances below this cannot be certified and count as collision."""

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

    can_optimise = True
    """Whether paths can be shortened for as long as asked."""

    def __init__(self, robot: Robot):
        self.robot = robot

    @property
    def is_open(self) -> bool:
        """Whether every motion is free."""
        return type(self) is OpenSpace

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

    def misses(self, q: np.ndarray) -> str:
        """Which goal that is held along motions a configuration (dof,) does not meet; empty where it meets all."""
        return ""

    def search_path(
        self,
        request: _core.PathRequest,
        stop: _core.StopFlag | None = None,
        held: _core.HeldGoals | None = None,
        progress: Callable[[float, float], object] | None = None,
    ) -> _core.PathResult:
        """The core's planner in this space, with goals `held` along the path."""
        return self.search_exactly(request, stop, held, progress)

    def search_exactly(
        self,
        request: _core.PathRequest,
        stop: _core.StopFlag | None = None,
        held: _core.HeldGoals | None = None,
        progress: Callable[[float, float], object] | None = None,
    ) -> _core.PathResult:
        """The core's planner, which asks this space about every motion."""
        request = request.replace(local_share=0.5)  # pyright: ignore[reportUnknownMemberType]
        return _core.search_path(self.is_free, self.edge, self.is_proved, request, stop, held, progress)  # pyright: ignore[reportUnknownMemberType]

    def is_proved(self, a: np.ndarray, b: np.ndarray) -> bool:
        """Whether the straight motion from a to b, which `edge` lets pass, is free beyond doubt."""
        return True

    def shorten_path(self, request: _core.ShortcutRequest) -> np.ndarray:
        """A path (N, dof) with shortcuts, by the core."""
        return _core.shorten_path(self.edge, request)  # pyright: ignore[reportUnknownMemberType]


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
    """A scene and the robot's own links, by their real geometry, in lanes.

    Searches look at samples of motions; what they find is proved by a bound on how far each body can move between.
    A snapshot: the scene as it is when this is made.
    """

    first_work = 200_000
    tolerance = TOLERANCE

    def __init__(self, checker: MeshChecker):
        super().__init__(checker.robot)
        self.checker, self.margin, self.model = checker, checker.margin, checker.core
        self.core = _core.MeshMotionModel(self.model)

    def is_free(self, q: np.ndarray) -> bool:
        return not self.model.collides(np.ascontiguousarray(q, dtype=float)[None])[0]

    def colliding_pair(self, q: np.ndarray) -> tuple[str, str] | None:
        return self.checker.first_contact(q)

    def edge(self, a: np.ndarray, b: np.ndarray) -> bool:
        return self.core.is_edge_proved(np.ascontiguousarray(a), np.ascontiguousarray(b))

    def search_path(
        self,
        request: _core.PathRequest,
        stop: _core.StopFlag | None = None,
        held: _core.HeldGoals | None = None,
        progress: Callable[[float, float], object] | None = None,
    ) -> _core.PathResult:
        return self.core.search_path(request, stop, held, progress)

    def search_exactly(
        self,
        request: _core.PathRequest,
        stop: _core.StopFlag | None = None,
        held: _core.HeldGoals | None = None,
        progress: Callable[[float, float], object] | None = None,
    ) -> _core.PathResult:
        proving = request.replace(prove_edges=True)  # pyright: ignore[reportUnknownMemberType]
        return self.core.search_path(proving, stop, held, progress)

    def shorten_path(self, request: _core.ShortcutRequest) -> np.ndarray:
        return self.core.shorten_path(request)

    def states(self, q: np.ndarray, spread: np.ndarray) -> np.ndarray:
        out = np.empty(len(q), dtype=np.uint8)
        self.core.states(np.ascontiguousarray(q), np.ascontiguousarray(spread), out)
        return out


def space_for(robot: Robot, scene: SceneLike = None, *, self_collision: bool = True, margin: float = 0.0) -> OpenSpace:
    """The free space of a robot in a scene: an mk.Scene, any object with collides(q), or None."""
    if isinstance(scene, ExternalChecker):
        return with_loops(CheckerSpace(robot, scene))
    if scene is None and not self_collision:
        return with_loops(OpenSpace(robot))
    return with_loops(SceneSpace(_mesh_checker(robot, scene, self_collision, float(margin))))


def with_loops(space: OpenSpace) -> OpenSpace:
    """A space in which the closed loops of its robot hold."""
    follower = loop_follower(space.robot)
    if follower is None:
        return space
    from memetik.motion.planning.loop_space import LoopSpace

    return LoopSpace(space, follower)


def without_loops(space: OpenSpace | None) -> OpenSpace | None:
    """What `with_loops` was given."""
    return getattr(space, "inner", space)


def _mesh_checker(robot: Robot, scene: Scene | None, self_collision: bool, margin: float) -> MeshChecker:
    from memetik.collision.allowed_pairs import default_pairs, pairs_always_within
    from memetik.collision.mesh_checker import MeshChecker
    from memetik.scene.scene import Scene

    if scene is not None and not isinstance(scene, Scene):  # pyright: ignore[reportUnnecessaryIsInstance]
        kind = type(scene).__name__
        raise InvalidInputError(f"scene= is an mk.Scene or an object with a method collides(q), not {kind}.")
    allowed = default_pairs(robot) | pairs_always_within(robot, margin) if self_collision and margin > 0.0 else None
    return MeshChecker(robot, scene, allowed=allowed, self_collision=self_collision, margin=margin)


class LiveSpace:
    """The free space of a robot in a scene, made anew when the scene has changed."""

    def __init__(self, robot: Robot, scene: SceneLike, self_collision: bool = True, margin: float = 0.0):
        self.robot, self.scene, self.self_collision, self.margin = robot, scene, self_collision, margin
        self.collision_context: CollisionContext | None = None
        """Of problems in this space: kept so that the next one need not make it again."""
        self._space: OpenSpace | None = None

    @property
    def current(self) -> OpenSpace:
        """The free space in the scene as it is now."""
        space = self._space
        if space is None:
            space = space_for(self.robot, self.scene, self_collision=self.self_collision, margin=self.margin)
        else:
            inner = without_loops(space)
            if isinstance(inner, SceneSpace) and inner.checker.core is not inner.model:
                space = with_loops(SceneSpace(inner.checker))
        self._space = space
        return space


_MOST_KEPT = 8
_kept: OrderedDict[tuple[Robot, int, bool, float], LiveSpace] = OrderedDict()


def kept_space(robot: Robot, scene: SceneLike, self_collision: bool, margin: float) -> LiveSpace:
    """The free space of a robot in a scene; the last few are kept."""
    key = (robot, id(scene), self_collision, margin)
    space = _kept.get(key)
    if space is None or space.scene is not scene:
        space = _kept[key] = LiveSpace(robot, scene, self_collision, margin)
        while len(_kept) > _MOST_KEPT:
            _kept.popitem(last=False)
    _kept.move_to_end(key)
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
