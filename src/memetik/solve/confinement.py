"""What a problem's robot must not touch, as the search sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from memetik.errors import InvalidInputError

if TYPE_CHECKING:
    from memetik.robot.robot import Robot


class Confinement:
    """A scene and the robot's own links, three times: as fast bodies that are a little too small, as fast bodies that
    are nowhere too small, and exactly. The search moves among the first; an answer that is free among the second is
    certain; between the two the exact geometry decides.

    The scene is seen as it is at each solve. Fields and fits are prepared here, once, and kept on disk.
    """

    def __init__(self, robot: Robot, scene: Any, self_collision: bool, margin: float):
        from memetik.scene.fast import FastModel
        from memetik.scene.scene import Scene

        if scene is not None and not isinstance(scene, Scene):
            raise InvalidInputError(
                f"scene= is an mk.Scene or an object with a method collides(q), not {type(scene).__name__}."
            )
        self.robot, self.scene, self.self_collision, self.margin = robot, scene, self_collision, margin
        self.tight = FastModel(robot, scene, "tight", self_collision=self_collision)
        self.certain = FastModel(robot, scene, "conservative", self_collision=self_collision)
        self.preparation_time = self.tight.preparation_time + self.certain.preparation_time
        self._exact: Any = None

    @property
    def exact(self) -> Any:
        """The exact model (coal), made when it is first asked."""
        if self._exact is None:
            from memetik.scene.exact import CollisionModel

            self._exact = CollisionModel(self.robot, self.scene, self_collision=self.self_collision)
        return self._exact

    def touches(self, q: np.ndarray) -> bool:
        """Whether the exact geometry at a posture is nearer than the margin to anything."""
        if self.margin > 0.0:
            return bool(self.exact.distance(q) < self.margin)
        return bool(self.exact.collides(q))

    def arguments(self) -> tuple[Any, Any, float, Any]:
        """What `_core.Problem.solve` takes: the two worlds as they are now, the margin and the exact verdict."""
        return self.tight.world, self.certain.world, self.margin, self.touches


_in_use: WeakValueDictionary[Any, Confinement] = WeakValueDictionary()


def confined(robot: Robot, scene: Any, self_collision: bool, margin: float) -> Confinement:
    """The confinement of a robot in a scene: the one that others use already, where there is one."""
    key = (robot, id(scene), self_collision, margin)
    found = _in_use.get(key)
    if found is None:
        found = _in_use[key] = Confinement(robot, scene, self_collision, margin)
    return found
