"""Bodies, pairs and their boxes: what the exact checks of a robot in one version of a scene work on.

A `Layout` is made from a scene's snapshot and never changed, so that threads share it; moving an object makes another
one that shares all but a pose. A `Scratch` belongs to one thread: bodies placed for coal, and the tests of pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from memetik.collision.bodies import BodyGeometry, coal
from memetik.collision.lever_arms import LeverArms
from memetik.collision.pairs import PairTest, PosedBody, Separation
from memetik.scene.scene import SceneSnapshot


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """A geometry on a link (`link` is its index) or in the world (-1), at `origin` there."""

    name: str
    link: int
    geometry: BodyGeometry
    origin: np.ndarray
    padding: float


_COSTS = {"plane": 0, "convex": 1, "points": 2, "mesh": 3}


class Layout:
    """Bodies, the pairs to check and the world's poses, for one version of the scene. Never changed."""

    def __init__(self, snapshot: SceneSnapshot, bodies: Sequence[Body], moving: int, pairs: list[tuple[int, int]]):
        self.snapshot, self.bodies, self.moving = snapshot, list(bodies), moving
        # Cheap pairs first, so that a collision found by them spares the expensive ones.
        pairs = sorted(pairs, key=lambda pair: sum(_COSTS[bodies[index].geometry.kind] for index in pair))
        table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        self.first, self.second = table[:, 0].copy(), table[:, 1].copy()
        self.link_index = np.array([body.link for body in bodies[:moving]], dtype=np.int64)
        self.origins = np.array([body.origin for body in bodies[:moving]]).reshape(-1, 4, 4)
        self.centres = np.array([body.geometry.centre for body in bodies]).reshape(-1, 3)
        self.halves = np.array([body.geometry.half for body in bodies]).reshape(-1, 3)
        paddings = np.array([body.padding for body in bodies])
        self.margins = paddings[self.first] + paddings[self.second] if len(table) else np.zeros(0)
        numbers: dict[str, list[int]] = {body.name: [] for body in bodies[:moving]}
        for number, (a, b) in enumerate(pairs):
            for name in {bodies[a].name, bodies[b].name} & numbers.keys():
                numbers[name].append(number)
        self.pairs_of = {name: np.array(own, dtype=np.int64) for name, own in numbers.items()}
        self.lever_arms: LeverArms | None = None
        """Of the bodies on links; kept, as they stay the same when the world moves."""
        count = len(self.bodies) - moving
        self.world_centres, self.world_halves = np.zeros((count, 3)), np.zeros((count, 3))
        for index in range(moving, len(self.bodies)):
            self._place_in_world(index)
        self._arrange_planes()

    def moved_to(self, snapshot: SceneSnapshot) -> Layout | None:
        """The layout for another snapshot of the scene, where nothing but poses of world objects changed; else None."""
        changed = self.snapshot.moved_to(snapshot)
        if changed is None:
            return None
        names = {item.name for item in changed}
        layout = copy(self)
        layout.snapshot, layout.bodies = snapshot, list(self.bodies)
        layout.world_centres, layout.world_halves = self.world_centres.copy(), self.world_halves.copy()
        planes_moved = False
        for index, body in enumerate(self.bodies[self.moving :], start=self.moving):
            if body.name in names:
                item = snapshot.objects[body.name]
                layout.bodies[index] = replace(body, origin=item.pose)
                layout._place_in_world(index)
                planes_moved |= body.geometry.kind == "plane"
        if planes_moved:
            layout._arrange_planes()
        return layout

    def pair_names(self, pair: int) -> tuple[str, str]:
        """The names of the two bodies of a pair."""
        return self.bodies[int(self.first[pair])].name, self.bodies[int(self.second[pair])].name

    def boxes(self, poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Centres and half extents (..., bodies, 3) of the boxes around all bodies, for poses (..., moving, 4, 4)."""
        rotations = poses[..., :3, :3]
        centres = np.einsum("...ij,...j->...i", rotations, self.centres[: self.moving]) + poses[..., :3, 3]
        halves = np.einsum("...ij,...j->...i", np.abs(rotations), self.halves[: self.moving])
        if not len(self.world_centres):
            return centres, halves
        shape = (*poses.shape[:-3], *self.world_centres.shape)
        still = np.broadcast_to(self.world_centres, shape), np.broadcast_to(self.world_halves, shape)
        return np.concatenate([centres, still[0]], axis=-2), np.concatenate([halves, still[1]], axis=-2)

    def gaps(self, centres: np.ndarray, halves: np.ndarray) -> np.ndarray:
        """Lower bounds (..., pairs) of the distances of all pairs, from the boxes around their bodies (..., bodies, 3).

        The largest gap along an axis of the world, or across the plane: negative where boxes overlap.
        """
        gap = np.abs(centres[..., self.first, :] - centres[..., self.second, :])
        gap -= halves[..., self.first, :] + halves[..., self.second, :]
        bound = gap.max(axis=-1)
        if len(self.plane_pairs):
            normals, body = self.plane_normals, self.first[self.plane_pairs]
            height = np.einsum("...pi,pi->...p", centres[..., body, :], normals) - self.plane_offsets
            height -= np.einsum("...pi,pi->...p", halves[..., body, :], np.abs(normals))
            bound[..., self.plane_pairs] = height
        return bound

    def _place_in_world(self, index: int) -> None:
        geometry, pose = self.bodies[index].geometry, self.bodies[index].origin
        self.world_centres[index - self.moving] = pose[:3, :3] @ geometry.centre + pose[:3, 3]
        # A plane's box is of no use; its pairs are bounded across the plane instead.
        halves = np.abs(pose[:3, :3]) @ geometry.half if geometry.kind != "plane" else 0.0
        self.world_halves[index - self.moving] = halves

    def _arrange_planes(self) -> None:
        is_plane = np.array([body.geometry.kind == "plane" for body in self.bodies], dtype=bool)
        self.plane_pairs = np.flatnonzero(is_plane[self.second]) if len(self.bodies) else np.zeros(0, dtype=np.int64)
        planes = [self.bodies[int(index)].origin for index in self.second[self.plane_pairs]]
        self.plane_normals = np.array([pose[:3, 2] for pose in planes]).reshape(-1, 3)
        self.plane_offsets = np.array([pose[:3, 2] @ pose[:3, 3] for pose in planes])


class Scratch:
    """One thread's placed bodies and pair tests."""

    def __init__(self, layout: Layout, before: Scratch | None):
        module = coal()
        self.layout = layout
        self._tests: dict[tuple[int, int], tuple[PairTest, BodyGeometry, BodyGeometry]] = {}
        self._ready: list[tuple[PairTest, PosedBody, PosedBody, float] | None] = [None] * len(layout.first)
        if before is not None and before.layout.first is layout.first:
            # The same bodies, some of them elsewhere in the world.
            self._placed, self._ready, self._tests = before._placed, before._ready, before._tests
            moved = [k for k, body in enumerate(layout.bodies) if body is not before.layout.bodies[k]]
        else:
            geometries = [body.geometry for body in layout.bodies]
            self._placed = [PosedBody(own, np.eye(3), np.zeros(3), module.Transform3s()) for own in geometries]
            moved = list(range(layout.moving, len(layout.bodies)))
            if before is not None:
                ids = set(map(id, geometries))
                self._tests = {key: test for key, test in before._tests.items() if ids.issuperset(key)}
        for index in moved:
            self._put(index, layout.bodies[index].origin)
        self._centres = self._halves = np.zeros((0, 3))

    def place(self, poses: np.ndarray) -> None:
        """Put the moving bodies at poses (moving, 4, 4)."""
        for index, pose in enumerate(poses):
            self._put(index, pose)
        self._centres, self._halves = self.layout.boxes(poses)

    def candidates(self, margin: float = 0.0) -> np.ndarray:
        """The pairs whose boxes come closer than their margins, and `margin` more."""
        return np.flatnonzero(self.layout.gaps(self._centres, self._halves) <= self.layout.margins + margin)

    def overlaps(self, poses: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """For poses (N, moving, 4, 4): each configuration's, and the pairs whose boxes come too close there."""
        return [(poses[row], np.flatnonzero(close)) for row, close in enumerate(self._close(poses))]

    def pair_collides(self, pair: int, more: float = 0.0) -> bool:
        """Whether a pair of placed bodies comes closer than its margin, and `more`."""
        test, first, second, margin = self._ready[pair] or self._prepare(pair)
        return test.collides(first, second, margin + more)

    def prepare(self) -> None:
        """Make the tests of all pairs."""
        for pair, ready in enumerate(self._ready):
            if ready is None:
                for body in self._prepare(pair)[1:3]:
                    if body.geometry.inside is not None:
                        body.geometry.inside.prepare()

    def separation(self, pair: int) -> Separation:
        """The signed distance of a pair of placed bodies, without padding."""
        test, first, second, _ = self._ready[pair] or self._prepare(pair)
        return test.separation(first, second)

    def nearest(self, pairs: np.ndarray, known: dict[int, Separation]) -> tuple[int | None, Separation | None]:
        """The pair of least signed distance. Boxes bound distances from below; pairs are taken in that order.

        known: the separations found so far, which grow.
        """
        bounds = self._bounds(pairs)
        best, best_pair, least = None, None, np.inf
        for position in np.argsort(bounds, kind="stable"):
            if bounds[position] >= least and bounds[position] > -self.layout.margins[pairs[position]]:
                break
            pair = int(pairs[position])
            if pair not in known:
                known[pair] = self.separation(pair)
            distance = known[pair].distance - self.layout.margins[pair]
            if distance < least:
                best, best_pair, least = known[pair], pair, distance
        return best_pair, best

    def least_ratio(self, speeds: np.ndarray) -> float:
        """The least of signed distance over speed, for pairs of positive speed (P,); infinite where there is none."""
        moving = np.flatnonzero(speeds > 0.0)
        bounds = self._bounds(moving) / speeds[moving]
        least = np.inf
        for position in np.argsort(bounds, kind="stable"):
            pair = int(moving[position])
            if bounds[position] >= least:
                break
            # Whether it collides is asked first: the depth of an overlap is expensive and of no use here.
            if bounds[position] <= 0.0 and self.pair_collides(pair):
                return -1.0
            found = self.separation(pair)
            least = min(least, (found.distance - self.layout.margins[pair]) / speeds[pair])
        return least

    def _bounds(self, pairs: np.ndarray) -> np.ndarray:
        """Lower bounds of the signed distances of these pairs, from the boxes around their bodies."""
        return np.maximum(self.layout.gaps(self._centres, self._halves)[pairs], 0.0) - self.layout.margins[pairs]

    def _close(self, poses: np.ndarray, margin: float = 0.0) -> np.ndarray:
        """(N, pairs) whether the boxes of a pair come closer than its margin, and `margin` more."""
        return self.layout.gaps(*self.layout.boxes(poses)) <= self.layout.margins + margin

    def _put(self, index: int, pose: np.ndarray) -> None:
        placed = self._placed[index]
        placed.rotation, placed.position = pose[:3, :3], pose[:3, 3]
        placed.transform.setRotation(placed.rotation)
        placed.transform.setTranslation(placed.position)

    def _prepare(self, pair: int) -> tuple[PairTest, PosedBody, PosedBody, float]:
        first, second = (self._placed[int(bodies[pair])] for bodies in (self.layout.first, self.layout.second))
        key = (id(first.geometry), id(second.geometry))
        if key not in self._tests:
            # The geometries are kept, so that their ids stay theirs.
            self._tests[key] = (PairTest(first.geometry, second.geometry), first.geometry, second.geometry)
        ready = (self._tests[key][0], first, second, float(self.layout.margins[pair]))
        self._ready[pair] = ready
        return ready
