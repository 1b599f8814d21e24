"""Shapes of links and obstacles. Metres; each is centred at its own origin, lengths run along z."""

from __future__ import annotations

from dataclasses import dataclass

from memetik.errors import GeometryError


def _positive(shape: object, **values: float) -> None:
    for name, value in values.items():
        if not (0.0 < value < float("inf")):
            raise GeometryError(f"{name} of a {type(shape).__name__} must be positive and finite, not {value!r}.")


@dataclass(frozen=True, slots=True)
class Box:
    """A box of full edge lengths `size` = (x, y, z)."""

    size: tuple[float, float, float]

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", tuple(float(v) for v in self.size))
        if len(self.size) != 3:
            raise GeometryError(f"the size of a Box has three edges (x, y, z), not {len(self.size)}.")
        for value in self.size:
            _positive(self, size=value)


@dataclass(frozen=True, slots=True)
class Sphere:
    """A sphere of `radius`."""

    radius: float

    def __post_init__(self) -> None:
        _positive(self, radius=self.radius)


@dataclass(frozen=True, slots=True)
class Cylinder:
    """A cylinder of `radius` and full `length` along z."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        _positive(self, radius=self.radius, length=self.length)


@dataclass(frozen=True, slots=True)
class Capsule:
    """A capsule: the points within `radius` of a segment of `length` along z."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        _positive(self, radius=self.radius, length=self.length)


@dataclass(frozen=True, slots=True)
class Mesh:
    """A triangle mesh in a file.

    `uri` is the reference as the description gives it; `path` the file found for it, None where it is missing.
    """

    uri: str
    path: str | None = None
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)


Shape = Box | Sphere | Cylinder | Capsule | Mesh
