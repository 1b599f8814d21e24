"""Kinematics and dynamics of a robot: thin, checked calls into the native core.

Every method takes one configuration (dof,) or many (N, dof) and adds the same leading axis to its result. `out=` is an
array of the result's shape, float64 and C-contiguous, that is written and returned. `threads=` shares many
configurations out; the interpreter's lock is released meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from memetik.errors import InvalidInputError
from memetik.robot import manipulability as measures
from memetik.robot.configuration import ConfigurationSpace

STANDARD_GRAVITY = (0.0, 0.0, -9.81)
"""Acceleration of free fall in the world, m/s^2."""

_REMEMBERED_LISTS = 1000


class Kinematics(ConfigurationSpace):
    """Where links are and how they move with q."""

    __slots__ = ()

    def pose(
        self,
        link: str | Sequence[str],
        q: ArrayLike,
        out: np.ndarray | None = None,
        *,
        relative_to: str | None = None,
        threads: int = 1,
    ) -> np.ndarray:
        """Pose of a link in the world (4, 4), or in the frame of the link `relative_to`.

        With a list of k links the result is (k, 4, 4); with N configurations (N, 4, 4) or (N, k, 4, 4).
        """
        q = self.check_q(q, finite=False)
        if relative_to is not None:
            return self._relative_pose(link, q, out, relative_to, threads)
        if isinstance(link, str):
            out = _output(out, (*q.shape[:-1], 4, 4))
            self._call(
                {"q": q}, self.core.poses, self._link_indices((link,)), _rows(q, 1), _rows(out, 2)[:, None], threads
            )
        else:
            indices = self._link_indices(tuple(link))
            out = _output(out, (*q.shape[:-1], len(indices), 4, 4))
            self._call({"q": q}, self.core.poses, indices, _rows(q, 1), _rows(out, 3), threads)
        return out

    def jacobian(
        self,
        link: str,
        q: ArrayLike,
        point: ArrayLike | None = None,
        relative_to: str | None = None,
        out: np.ndarray | None = None,
        *,
        threads: int = 1,
    ) -> np.ndarray:
        """Geometric Jacobian (6, dof) of a point of a link: linear rows first, axes of the world.

        point: in the link's frame; None is the link's origin.
        relative_to: a link; the motion is that seen from this link, in its axes.
        """
        q = self.check_q(q, finite=False)
        out = _output(out, (*q.shape[:-1], 6, self.dof))
        reference = None if relative_to is None else self.link_index(relative_to)
        index = self.link_index(link)
        self._call({"q": q}, self.core.jacobians, index, _rows(q, 1), _rows(out, 2), _point(point), reference, threads)
        return out

    def pose_and_jacobian(
        self,
        link: str,
        q: ArrayLike,
        point: ArrayLike | None = None,
        relative_to: str | None = None,
        out: tuple[np.ndarray, np.ndarray] | None = None,
        *,
        threads: int = 1,
    ) -> tuple[np.ndarray, np.ndarray]:
        """`pose` of one link and `jacobian` in one pass; `out` is a pair of arrays."""
        q = self.check_q(q, finite=False)
        poses, jacobians = (None, None) if out is None else out
        poses = _output(poses, (*q.shape[:-1], 4, 4))
        jacobians = _output(jacobians, (*q.shape[:-1], 6, self.dof))
        self._call(
            {"q": q},
            self.core.poses_and_jacobians,
            self.link_index(link),
            _rows(q, 1),
            _rows(poses, 2),
            _rows(jacobians, 2),
            _point(point),
            None if relative_to is None else self.link_index(relative_to),
            threads,
        )
        return poses, jacobians

    def center_of_mass(self, q: ArrayLike, out: np.ndarray | None = None, *, threads: int = 1) -> np.ndarray:
        """Centre of mass of all links in the world (3,), metres."""
        self._require_mass()
        q = self.check_q(q, finite=False)
        out = _output(out, (*q.shape[:-1], 3))
        self._call({"q": q}, self.core.centers_of_mass, _rows(q, 1), _rows(out, 1), threads)
        return out

    def center_of_mass_jacobian(self, q: ArrayLike, out: np.ndarray | None = None, *, threads: int = 1) -> np.ndarray:
        """Jacobian (3, dof) of the centre of mass in the world."""
        self._require_mass()
        q = self.check_q(q, finite=False)
        out = _output(out, (*q.shape[:-1], 3, self.dof))
        self._call({"q": q}, self.core.center_of_mass_jacobians, _rows(q, 1), _rows(out, 2), threads)
        return out

    def gravity_torques(
        self, q: ArrayLike, gravity: ArrayLike = STANDARD_GRAVITY, out: np.ndarray | None = None, *, threads: int = 1
    ) -> np.ndarray:
        """Torques and forces (dof,) that hold the robot still; N m for angles, N for distances."""
        q = self.check_q(q, finite=False)
        out = _output(out, q.shape)
        self._call(
            {"q": q}, self.core.gravity_torques, _rows(q, 1), _vector("gravity", gravity), _rows(out, 1), threads
        )
        return out

    def inverse_dynamics(
        self,
        q: ArrayLike,
        velocity: ArrayLike,
        acceleration: ArrayLike,
        gravity: ArrayLike = STANDARD_GRAVITY,
        out: np.ndarray | None = None,
        *,
        threads: int = 1,
    ) -> np.ndarray:
        """Torques and forces (dof,) that move the robot with these joint velocities and accelerations."""
        q = self.check_q(q, finite=False)
        velocity = self.check_q(velocity, "velocity", finite=False)
        acceleration = self.check_q(acceleration, "acceleration", finite=False)
        for name, array in (("velocity", velocity), ("acceleration", acceleration)):
            if array.shape != q.shape:
                raise InvalidInputError(f"{name} has shape {array.shape}, but q has {q.shape}; they must be the same.")
        out = _output(out, q.shape)
        rows = (_rows(array, 1) for array in (q, velocity, acceleration))
        inputs = {"q": q, "velocity": velocity, "acceleration": acceleration}
        self._call(inputs, self.core.inverse_dynamics, *rows, _vector("gravity", gravity), _rows(out, 1), threads)
        return out

    def mass_matrix(self, q: ArrayLike, out: np.ndarray | None = None, *, threads: int = 1) -> np.ndarray:
        """Joint-space mass matrix (dof, dof): kinetic energy is v^T M v / 2."""
        q = self.check_q(q, finite=False)
        out = _output(out, (*q.shape, self.dof))
        self._call({"q": q}, self.core.mass_matrices, _rows(q, 1), _rows(out, 2), threads)
        return out

    def manipulability(
        self,
        link: str,
        q: ArrayLike,
        measure: measures.Measure = "product",
        part: measures.Part = "all",
        *,
        point: ArrayLike | None = None,
        relative_to: str | None = None,
    ) -> float | np.ndarray:
        """How well the link can move: "product" of the singular values of its Jacobian, "condition" or "ratio".

        part: "all" six rows, "translation" or "rotation". Only the joints that move the link are counted.
        """
        jacobian = self.jacobian(link, q, point, relative_to)
        moving = self.moves(link)
        if relative_to is not None:
            moving = moving | self.moves(relative_to)
        if not moving.any():
            raise InvalidInputError(f"no joint of robot {self.name!r} moves link {link!r}.")
        return measures.manipulability(jacobian[..., moving], measure, part)

    def _relative_pose(
        self, link: str | Sequence[str], q: np.ndarray, out: np.ndarray | None, relative_to: str, threads: int
    ) -> np.ndarray:
        names = (link,) if isinstance(link, str) else tuple(link)
        poses = self.pose((relative_to, *names), q, threads=threads)
        reference = poses[..., :1, :, :]
        result = np.zeros((*q.shape[:-1], len(names), 4, 4))
        transposed = np.swapaxes(reference[..., :3, :3], -1, -2)
        result[..., :3, :3] = transposed @ poses[..., 1:, :3, :3]
        result[..., :3, 3:] = transposed @ (poses[..., 1:, :3, 3:] - reference[..., :3, 3:])
        result[..., 3, 3] = 1.0
        if isinstance(link, str):
            result = result[..., 0, :, :]
        if out is None:
            return result
        out = _output(out, result.shape)
        out[...] = result
        return out

    def _link_indices(self, names: tuple[str, ...]) -> np.ndarray:
        indices = self._indices.get(names)
        if indices is None:
            indices = np.array([self.link_index(name) for name in names], dtype=np.int32)
            if len(self._indices) < _REMEMBERED_LISTS:
                self._indices[names] = indices
        return indices

    def _call(
        self, inputs: dict[str, np.ndarray], function: Callable[..., None], *arguments: np.ndarray | int | None
    ) -> None:
        """Call into the core. It notices values that are not finite while it reads them; they are named here."""
        try:
            function(*arguments)
        except ValueError as error:
            for name, array in inputs.items():
                self.check_q(array, name)
            raise InvalidInputError(str(error)) from None

    def _require_mass(self) -> None:
        if not self.mass > 0.0:
            raise InvalidInputError(
                f"robot {self.name!r} has no mass, so it has no centre of mass; its description gives no inertias."
            )


def _rows(array: np.ndarray, axes: int) -> np.ndarray:
    """The array with a leading axis of configurations, whose single ones have `axes` axes."""
    return array if array.ndim > axes else array[None]


def _output(out: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray:
    if out is None:
        return np.empty(shape)
    found = type(out).__name__
    if isinstance(out, np.ndarray):  # pyright: ignore[reportUnnecessaryIsInstance]
        if out.shape == shape and out.dtype == np.float64 and out.flags.c_contiguous and out.flags.writeable:
            return out
        found = f"{out.dtype} array of shape {out.shape}"
        if out.shape == shape:
            found += " that is not contiguous or not writeable"
    raise InvalidInputError(f"out must be a writeable, C-contiguous float64 array of shape {shape}, not a {found}.")


def _point(point: ArrayLike | None) -> np.ndarray | None:
    return None if point is None else _vector("point", point)


def _vector(name: str, value: ArrayLike) -> np.ndarray:
    try:
        array = np.ascontiguousarray(value, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInputError(f"{name} must be three numbers, not {value!r}.") from None
    if array.shape != (3,) or not np.isfinite(array).all():
        raise InvalidInputError(f"{name} must be three finite numbers, not {value!r}.")
    return array
