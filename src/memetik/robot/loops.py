"""Closed loops: how far a configuration is from closing them, the nearest one that does, and how freely it moves.

A loop holds a frame of one link to a frame of another. With J the Jacobian of all residuals at a closed configuration,
the mechanism has dof - rank J independent motions; as many joints as the rank follow the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from memetik.errors import InvalidInputError
from memetik.robot.description import Loop

if TYPE_CHECKING:
    from memetik.robot.kinematics import Kinematics

TOLERANCE = 1e-6
"""Metres, and radians: loops within it are closed."""
_CONVERGED = 1e-9
_STEPS = 60
_LARGEST_STEP = 0.3
"""Radians or metres that a joint moves in one step."""
_RANK_TOLERANCE = 1e-6
_SAMPLES = 8


@dataclass(frozen=True, slots=True)
class Mobility:
    """How a mechanism with loops moves: `count` independent motions; `passive` joints follow the `driving` ones."""

    count: int
    driving: tuple[str, ...]
    passive: tuple[str, ...]


def loop_residuals(robot: Kinematics, q: np.ndarray) -> np.ndarray:
    """(N, rows): metres, then radians, by which the loops are open at configurations (N, dof), loop by loop."""
    parts: list[np.ndarray] = []
    for loop in robot.description.loops:
        first, second = _frames(robot, loop, q)
        parts.append(second[:, :3, 3] - first[:, :3, 3])
        if loop.kind == "frame":
            relative = first[:, :3, :3].transpose(0, 2, 1) @ second[:, :3, :3]
            parts.append(np.einsum("nij,nj->ni", first[:, :3, :3], _rotation_vectors(relative)))
    return np.concatenate(parts, axis=1) if parts else np.zeros((len(q), 0))


def loop_jacobians(robot: Kinematics, q: np.ndarray) -> np.ndarray:
    """(N, rows, dof): the derivative of `loop_residuals` at configurations that are nearly closed."""
    parts: list[np.ndarray] = []
    for loop in robot.description.loops:
        rows = 6 if loop.kind == "frame" else 3
        second = robot.jacobian(loop.second, q, point=loop.second_pose[:3, 3])
        first = robot.jacobian(loop.first, q, point=loop.first_pose[:3, 3])
        parts.append((second - first)[:, :rows])
    return np.concatenate(parts, axis=1) if parts else np.zeros((len(q), 0, robot.dof))


def loop_entries(robot: Kinematics) -> np.ndarray:
    """Per entry of q: whether it may open or close a loop."""
    found = np.zeros(robot.dof, dtype=bool)
    for loop in robot.description.loops:
        found |= robot.moves(loop.first) != robot.moves(loop.second)
    return found


def project(robot: Kinematics, q: np.ndarray, *, kept: Sequence[int] = ()) -> tuple[np.ndarray, np.ndarray]:
    """Configurations (N, dof) moved by Newton steps of least norm until the loops close, within the limits.

    `kept` are entries of q that do not move. Returns the configurations and which of them closed (N,).
    """
    q = np.clip(q, robot.lower, robot.upper)
    free = np.setdiff1d(np.arange(robot.dof), np.asarray(kept, dtype=int))
    open_ones = np.arange(len(q))
    for _ in range(_STEPS):
        residuals = loop_residuals(robot, q[open_ones])
        wide = np.abs(residuals).max(axis=1, initial=0.0) > _CONVERGED
        open_ones = open_ones[wide]
        if not len(open_ones):
            break
        jacobians = loop_jacobians(robot, q[open_ones])[:, :, free]
        at = q[open_ones][:, free]
        step = _step(jacobians, residuals[wide], np.zeros(at.shape, dtype=bool))
        # Joints that would leave their limits stay, and the others take over.
        beyond = (at + step < robot.lower[free]) | (at + step > robot.upper[free])
        step = _step(jacobians, residuals[wide], beyond)
        largest = np.abs(step).max(axis=1, keepdims=True, initial=1e-300)
        moved = at + step * np.minimum(1.0, _LARGEST_STEP / largest)
        q[np.ix_(open_ones, free)] = np.clip(moved, robot.lower[free], robot.upper[free])
    return q, np.abs(loop_residuals(robot, q)).max(axis=1, initial=0.0) <= TOLERANCE


def closed(robot: Kinematics, q: np.ndarray) -> np.ndarray:
    """Configurations (N, dof) with the loops closed: the passive joints follow the driving ones as they are, or, where
    they cannot, all joints move as little as Newton steps need. An error where that does not close them either."""
    if not robot.description.loops:
        return q
    driving = [robot.joint_index(name) for name in mobility(robot).driving]
    result, good = project(robot, q, kept=driving)
    if not good.all():
        result[~good], good[~good] = project(robot, q[~good])
    if not good.all():
        worst = float(np.abs(loop_residuals(robot, result[~good])).max())
        raise InvalidInputError(
            f"the loops of robot {robot.name!r} cannot be closed near the given configuration: they stay open by "
            f"{worst:.2g} m or rad. Give one nearer to a configuration that the mechanism can take."
        )
    return result


def random_closed(robot: Kinematics, generator: np.random.Generator, draw: np.ndarray) -> np.ndarray:
    """The drawn configurations (N, dof) with the loops closed; those that do not close are drawn anew."""
    low, high = robot.sampling_range
    result, good = project(robot, draw)
    for _ in range(50):
        if good.all():
            return result
        again = generator.uniform(low, high, size=(int((~good).sum()), robot.dof))
        result[~good], good[~good] = project(robot, again)
    raise InvalidInputError(
        f"the loops of robot {robot.name!r} close in hardly any configuration within its limits; robot.close(q) tells "
        "by how much they stay open near one."
    )


@lru_cache(maxsize=64)
def mobility(robot: Kinematics) -> Mobility:
    """Counts the independent motions, and says which joints follow: those that nothing drives before others."""
    names = robot.joint_names
    if not robot.description.loops:
        return Mobility(robot.dof, names, ())
    low, high = robot.sampling_range
    draw = np.random.default_rng(0).uniform(low, high, size=(64, robot.dof))
    q, good = project(robot, np.concatenate([robot.neutral[None], draw]))
    if not good.any():
        return Mobility(0, (), names)
    jacobians = loop_jacobians(robot, q[good][:_SAMPLES])
    ranks = [int(np.linalg.matrix_rank(jacobian, tol=_RANK_TOLERANCE)) for jacobian in jacobians]
    jacobian, rank = jacobians[int(np.argmax(ranks))], max(ranks)
    undriven = set(robot.description.semantics.passive_joints)
    owners = [name.split("/")[0] for name in names]
    order = sorted(range(robot.dof), key=lambda k: not (owners[k] in undriven or names[k] in undriven))
    passive = _independent_columns(jacobian, order, rank)
    driving = tuple(name for k, name in enumerate(names) if k not in passive)
    return Mobility(robot.dof - rank, driving, tuple(names[k] for k in sorted(passive)))


def _independent_columns(jacobian: np.ndarray, order: Sequence[int], rank: int) -> set[int]:
    """Columns that span those of the Jacobian, the first of `order` that do."""
    chosen: set[int] = set()
    basis = np.zeros((jacobian.shape[0], 0))
    for column in order:
        vector = jacobian[:, column] - basis @ (basis.T @ jacobian[:, column])
        length = np.linalg.norm(vector)
        if length > 1e3 * _RANK_TOLERANCE * max(1.0, float(np.linalg.norm(jacobian[:, column]))) and len(chosen) < rank:
            basis = np.column_stack([basis, vector / length])
            chosen.add(column)
    return chosen


def _step(jacobians: np.ndarray, residuals: np.ndarray, held: np.ndarray) -> np.ndarray:
    """Steps (N, n) of least norm that close the loops to first order; held entries stay."""
    reduced = jacobians * ~held[:, None, :]
    return -np.einsum("nij,nj->ni", np.linalg.pinv(reduced, rcond=1e-9), residuals)


def _frames(robot: Kinematics, loop: Loop, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    poses = robot.pose((loop.first, loop.second), q)
    return poses[:, 0] @ loop.first_pose, poses[:, 1] @ loop.second_pose


def _rotation_vectors(rotations: np.ndarray) -> np.ndarray:
    """(N, 3) rotation vectors of rotations (N, 3, 3)."""
    skew = np.stack(
        [
            rotations[:, 2, 1] - rotations[:, 1, 2],
            rotations[:, 0, 2] - rotations[:, 2, 0],
            rotations[:, 1, 0] - rotations[:, 0, 1],
        ],
        axis=1,
    )
    sine, cosine = 0.5 * np.linalg.norm(skew, axis=1), 0.5 * (np.trace(rotations, axis1=1, axis2=2) - 1.0)
    angle = np.arctan2(sine, cosine)
    # Half a turn has no unique axis; any step away from it serves.
    scale = np.where(sine > 1e-9, angle / np.maximum(2.0 * sine, 1e-300), 0.5)
    return scale[:, None] * skew
