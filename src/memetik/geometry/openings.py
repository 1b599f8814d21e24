"""Openings of hollow bodies, such as the mouth of a tank, found without any annotation.

In a grid of distances to the walls, every place inside has a widest path out: the one whose narrowest point is as far
from the walls as can be. That narrowest point is the opening, where it is notably narrower than the room it leads from.
Whoever wants to reach a place inside passes through it.
"""

from __future__ import annotations

import math
from typing import NamedTuple, cast

import numpy as np

from memetik import _core
from memetik.geometry import cache
from memetik.geometry.distance_field import DistanceField

MOST_CELLS = 500_000
"""Cells of the grid; its step follows from them and from the body's size."""

NOTABLE = 0.9
"""An opening counts where it is narrower than this share of the room behind it."""

_LEAST_STEP = 1e-3  # metres
_PADDING = 2  # cells around the body


class Opening(NamedTuple):
    """A narrow place: its middle (3,), and the distance from there to the nearest wall, metres."""

    point: np.ndarray
    radius: float


class Openings:
    """The openings of one body, in its own coordinates.

    points: (K, 3) their middles. radii: (K,) distances to the nearest wall there.
    """

    def __init__(self, origin: np.ndarray, step: float, labels: np.ndarray, points: np.ndarray, radii: np.ndarray):
        self._origin, self._step, self._labels = origin, step, labels
        self.points, self.radii = points, radii

    @classmethod
    def of_field(cls, field: DistanceField, bounds: np.ndarray, key: str = "") -> Openings:
        """The openings of the body within `bounds` (2, 3) that a distance field stands for.

        key: of its content, by which they are kept on disk.
        """
        kept = cache.load("openings", key) if key else None
        if kept is not None:
            return cls(kept["origin"], float(kept["step"]), kept["labels"], kept["points"], kept["radii"])
        low, high = bounds[0], bounds[1]
        edges: list[float] = (high - low).tolist()
        step = max(_LEAST_STEP, (math.prod(edges) / MOST_CELLS) ** (1.0 / 3.0))
        while True:
            counts = [math.ceil(edge / step) + 2 * _PADDING for edge in edges]
            if math.prod(counts) <= 2 * MOST_CELLS:
                break
            step *= 1.25  # flat bodies have more cells around them than in them
        origin = 0.5 * (low + high) - 0.5 * step * np.array(counts)  # corner of the first cell
        axes: list[np.ndarray] = [origin[k] + step * (np.arange(counts[k]) + 0.5) for k in range(3)]
        z, y, x = np.meshgrid(axes[2], axes[1], axes[0], indexing="ij")
        values = field.value(np.stack([x, y, z], axis=-1).reshape(-1, 3)).reshape(z.shape)
        labels, cells, radii = cast(
            "tuple[np.ndarray, list[int], list[float]]",
            _core.openings(np.ascontiguousarray(values), NOTABLE),  # pyright: ignore[reportUnknownMemberType]
        )
        where = np.unravel_index(np.array(cells, dtype=np.int64), z.shape)
        points = np.stack([axes[0][where[2]], axes[1][where[1]], axes[2][where[0]]], axis=-1).reshape(-1, 3)
        labels = labels.astype(np.int16 if len(cells) < 2**15 else np.int32)
        found = cls(origin, step, labels, points, np.array(radii, dtype=float))
        if key:
            arrays = {"origin": origin, "step": np.array(step), "labels": labels}
            cache.store("openings", key, {**arrays, "points": points, "radii": found.radii})
        return found

    def __len__(self) -> int:
        return len(self.points)

    def behind(self, point: np.ndarray) -> Opening | None:
        """The opening through which a point (3,) is reached; None where there is none, or the point is outside."""
        x, y, z = ((point - self._origin) / self._step).tolist()
        depth, width, length = self._labels.shape
        if not (0.0 <= x < length and 0.0 <= y < width and 0.0 <= z < depth):
            return None
        label = int(self._labels[int(z), int(y), int(x)])
        return None if label < 0 else Opening(self.points[label], float(self.radii[label]))
