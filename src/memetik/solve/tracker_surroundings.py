"""What a tracker keeps off: the robot itself, what stands around it, and what moves, told to the core before a step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from memetik import _core
from memetik.collision.allowed_pairs import default_pairs, pairs_always_within
from memetik.collision.mesh_checker import MeshChecker
from memetik.errors import InvalidInputError, UnknownNameError
from memetik.scene.scene import Scene

if TYPE_CHECKING:
    from memetik.robot.robot import Robot

BUFFER = 1e-3
"""Metres beyond the margin that the core keeps, so that it can prove motions along what is in the way."""

SLOWEST = 1e-6
"""Metres per second: objects that are slower stand."""


class TrackerSurroundings:
    """A scene in two parts: what stands, and what may move at up to a speed.

    speed    metres per second that no point of an object exceeds: one number for all objects, or {object: number} for
             those that move; the fastest counts for all of them. What stands may be moved too, but then nothing is
             promised: the tracker brakes for what is suddenly there.
    latency  seconds by which poses in the scene may be old.
    """

    def __init__(
        self, robot: Robot, scene: Scene | None, margin: float, speed: float | Mapping[str, float], latency: float
    ):
        if scene is not None and not isinstance(scene, Scene):  # pyright: ignore[reportUnnecessaryIsInstance]
            kind = type(scene).__name__
            raise InvalidInputError(f"a Tracker keeps off an mk.Scene, whose geometry it can prove; not {kind}.")
        self.scene = scene if scene is not None else Scene()
        speeds = speed if isinstance(speed, Mapping) else {"*": speed}
        for name, value in speeds.items():
            if not 0.0 <= value < 1e3:
                raise InvalidInputError(f"the speed of {name!r} is in metres per second, from 0 on, not {value!r}.")
            if name != "*" and name not in self.scene:
                raise UnknownNameError("object", name, "the scene", self.scene.names)
        self._all = "*" in speeds and speeds["*"] > SLOWEST
        self._named = frozenset(name for name, value in speeds.items() if value > SLOWEST)
        self.speed, self.latency = max(speeds.values(), default=0.0), latency
        self._standing_scene, self._moving_scene = Scene(), Scene()
        self._share_out()
        self._version = -1  # the core has not been told yet
        allowed = default_pairs(robot) | pairs_always_within(robot, margin + BUFFER)
        self.standing = MeshChecker(robot, self._standing_scene, allowed=allowed, margin=margin)
        self.moving = MeshChecker(robot, self._moving_scene, allowed=allowed, self_collision=False, margin=margin)

    def look(self, core: _core.Tracker) -> None:
        """Tell the core's tracker what is where now."""
        if self.scene.version == self._version:
            return
        self._share_out()
        moving = self.moving.core if self._moving_scene.world_objects else None
        core.keep_off(self.standing.core, moving, self.speed, self.latency)

    def check_start(self, q: np.ndarray) -> None:
        """A tracker starts clear of what stands."""
        pair = self.standing.first_contact(q)
        if pair is not None:
            raise InvalidInputError(
                f"a Tracker starts where it keeps off everything; here {pair[0]!r} and {pair[1]!r} touch, or are "
                "nearer than the margin."
            )

    def names(self, contact: tuple[int, int, bool, bool]) -> tuple[str, str]:
        """The names of what the core says is in the way."""
        body, other, with_object, moving = contact
        return (self.moving if moving else self.standing).names_of(body, other, with_object)

    def _share_out(self) -> None:
        """Objects that move to one scene, the others to the other, attached ones to both."""
        snapshot = self.scene.snapshot()
        for own, wanted in ((self._standing_scene, False), (self._moving_scene, True)):
            kept = {k: v for k, v in snapshot.objects.items() if v.attached or self._moves(k) is wanted}
            before = own.snapshot()
            if snapshot.allowed != before.allowed or kept.keys() != before.objects.keys():
                changed = True
            else:
                changed = any(v is not before.objects[k] for k, v in kept.items())
            if changed:
                own.restore(type(snapshot)(kept, snapshot.allowed, snapshot.version))
        self._version = snapshot.version

    def _moves(self, name: str) -> bool:
        return self._all or name in self._named
