"""Free space of robots with closed loops: searched in the driving joints, while the passive ones follow.

Motions are straight in the driving joints. The passive ones are closed from one configuration to the next, so that a
path stays on one branch of the mechanism, and every short step between closed configurations is asked about in the
space below.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from memetik import _core
from memetik.motion.planning.free_space import OpenSpace
from memetik.robot.loop_motion import LoopFollower


class LoopSpace(OpenSpace):
    """The free space `inner` of a robot, of which only configurations with closed loops count."""

    can_optimise = False

    def __init__(self, inner: OpenSpace, follower: LoopFollower):
        super().__init__(inner.robot)
        self.inner, self.follower = inner, follower

    @property
    def is_open(self) -> bool:
        return self.inner.is_open

    def is_free(self, q: np.ndarray) -> bool:
        return self.inner.is_free(q)

    def colliding_pair(self, q: np.ndarray) -> tuple[str, str] | None:
        return self.inner.colliding_pair(q)

    def edge(self, a: np.ndarray, b: np.ndarray) -> bool:
        if not self.follower.moves_loops(np.stack([a, b])):
            return self.inner.edge(a, b)
        arrived = self.followed(a, b[self.follower.driving])
        return arrived is not None and self.follower.agree(arrived, b)

    def followed(self, a: np.ndarray, goal: np.ndarray) -> np.ndarray | None:
        """Where a motion from `a` to driving values `goal` arrives; None where it is not free or leaves the branch."""
        rows = self.follower.march(a, goal)
        if rows is None or not all(self.inner.edge(first, second) for first, second in pairwise(rows)):
            return None
        return rows[-1]

    def states(self, q: np.ndarray, spread: np.ndarray) -> np.ndarray:
        return self.inner.states(q, spread)

    def search_path(
        self,
        request: _core.PathRequest,
        stop: _core.StopFlag | None = None,
        held: _core.HeldGoals | None = None,
        progress: Callable[[float, float], object] | None = None,
    ) -> _core.PathResult:
        start, goals, dof = np.array(request.start), np.array(request.goals), self.robot.dof
        rows = np.vstack([start, goals.reshape(-1, dof)])
        wide = np.array(request.upper) > np.array(request.lower)
        driving = self.follower.driving
        if not self.follower.moves_loops(rows) and not (wide & self.follower.entries)[driving].any():
            return self.inner.search_path(request, stop)
        search = _Search(self, rows)
        narrow = {name: np.array(getattr(request, name))[driving] for name in ("start", "lower", "upper", "weights")}
        velocity = np.array(request.velocity)
        reduced = request.replace(  # pyright: ignore[reportUnknownMemberType]
            **narrow,
            goals=np.ascontiguousarray(rows[1:, driving]),
            velocity=velocity[driving] if len(velocity) else velocity,
            local_share=0.5,
        )
        found = _core.search_path(search.is_free, search.edge, search.is_proved, reduced, stop)  # pyright: ignore[reportUnknownMemberType]
        if found.end != _core.PlannerEnd.found:
            return found
        points = self._closed(np.array(found.points).reshape(-1, len(driving)), start, rows[1 + found.goal])
        if points is None:
            return found.replace(end=_core.PlannerEnd.unproved)  # pyright: ignore[reportUnknownMemberType]
        return found.replace(points=np.ascontiguousarray(points))  # pyright: ignore[reportUnknownMemberType]

    def search_exactly(
        self,
        request: _core.PathRequest,
        stop: _core.StopFlag | None = None,
        held: _core.HeldGoals | None = None,
        progress: Callable[[float, float], object] | None = None,
    ) -> _core.PathResult:
        return self.search_path(request, stop)

    def shorten_path(self, request: _core.ShortcutRequest) -> np.ndarray:
        return np.array(request.points).reshape(-1, self.robot.dof)

    def _closed(self, rows: np.ndarray, start: np.ndarray, goal: np.ndarray) -> np.ndarray | None:
        """A path of driving values with its passive ones, followed from the start; None where it does not lead to the
        goal."""
        points = [start]
        for row in rows[1:]:
            arrived = self.followed(points[-1], row)
            if arrived is None:
                return None
            points.append(arrived)
        return np.array(points) if self.follower.agree(points[-1], goal) else None


class _Search:
    """One search in the driving joints. It knows the closed configurations that it has come by; the trees of start and
    goals may lie on different branches, and meet only where these agree."""

    def __init__(self, space: LoopSpace, known: np.ndarray):
        self.space, self.follower = space, space.follower
        self.known: dict[bytes, np.ndarray] = {q[self.follower.driving].tobytes(): q for q in known}

    def is_free(self, _driven: np.ndarray) -> bool:
        return True  # which passive values it has is known by the motion that leads to it

    def edge(self, a: np.ndarray, b: np.ndarray) -> bool:
        begin, end = self.known.get(a.tobytes()), self.known.get(b.tobytes())
        if begin is None and end is not None:
            (a, begin), (b, end) = (b, end), (a, begin)
        if begin is None:  # a point on a motion that was followed: the nearest known one leads to it
            near = min(self.known.values(), key=lambda q: float(np.abs(q[self.follower.driving] - a).max()))
            begin = self.space.followed(near, a)
            if begin is None:
                return False
            self.known[a.tobytes()] = begin
        arrived = self.space.followed(begin, b)
        if arrived is None:
            return False
        if end is None:
            self.known[b.tobytes()] = arrived
            return True
        return self.follower.agree(arrived, end)

    def is_proved(self, a: np.ndarray, b: np.ndarray) -> bool:
        return self.edge(a, b)
