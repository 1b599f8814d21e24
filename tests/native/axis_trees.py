"""Random trees of elementary axes, their kinematics straight from the definition, and Pinocchio's model of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from memetik import _core

GRAVITY = np.array([0.3, -1.2, -9.6])


def random_tree(rng: np.random.Generator, axes: int = 12, links: int = 16, mimic: float = 0.25) -> dict[str, Any]:
    """Arguments of `_core.Tree`: branches, slides and turns, shared variables, several bodies on an axis and none."""
    variables: list[int] = []
    for _ in range(axes):
        dof = max(variables, default=-1) + 1
        variables.append(int(rng.integers(dof)) if dof and rng.random() < mimic else dof)
    used = max(variables, default=-1) + 1
    order = rng.permutation(used + 1)[:used]  # one variable moves nothing, and they come in any order
    followers = np.array([variables.index(v) != k for k, v in enumerate(variables)], dtype=bool)
    masses = rng.uniform(0.1, 4.0, links) * (rng.random(links) < 0.8)
    spread = rng.normal(size=(links, 3, 3))
    return {
        "parents": np.array(
            [rng.integers(-1, k) if rng.random() < 0.4 else k - 1 for k in range(axes)], dtype=np.int32
        ),
        "prismatic": rng.random(axes) < 0.3,
        "placements": np.array([random_placement(rng) for _ in range(axes)]).reshape(axes, 3, 4),
        "variables": order[variables].astype(np.int32) if axes else np.zeros(0, dtype=np.int32),
        "multipliers": np.where(followers, rng.uniform(-2.0, 2.0, axes), 1.0),
        "offsets": np.where(followers, rng.uniform(-1.0, 1.0, axes), 0.0),
        "link_axes": rng.integers(-1, axes, links).astype(np.int32),
        "link_placements": np.array([random_placement(rng) for _ in range(links)]).reshape(links, 3, 4),
        "masses": masses,
        "coms": rng.uniform(-0.2, 0.2, (links, 3)),
        "inertias": 0.05 * masses[:, None, None] * (spread @ spread.transpose(0, 2, 1) + np.eye(3)),
        "dof": used + 1,
    }


def random_placement(rng: np.random.Generator) -> np.ndarray:
    """A rigid placement (3, 4); no rotation, quarter turns and zero entries are as frequent as general ones."""
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    rotation[:, 0] *= np.linalg.det(rotation)
    kind = rng.integers(4)
    if kind == 0:
        rotation = np.eye(3)
    elif kind == 1:
        rotation = quarter_turns(rng)
    elif kind == 2:
        rotation = turn(rng.normal() * 10.0 ** rng.integers(-12, 1)) @ quarter_turns(rng)
    translation = rng.uniform(-0.5, 0.5, 3) * (rng.random(3) < 0.6)
    return np.column_stack([rotation, translation])


def quarter_turns(rng: np.random.Generator) -> np.ndarray:
    x_quarter = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
    z_quarter = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    powers = rng.integers(0, 4, 3)
    powers[1:] *= rng.random(2) < 0.5
    first, second, third = (
        np.linalg.matrix_power(quarter, int(power))
        for quarter, power in zip((x_quarter, z_quarter, x_quarter), powers, strict=True)
    )
    return first @ second @ third


def turn(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def homogeneous(placement: np.ndarray) -> np.ndarray:
    return np.vstack([placement, [0.0, 0.0, 0.0, 1.0]])


def reference_poses(tree: dict[str, Any], q: np.ndarray) -> np.ndarray:
    """Poses (links, 4, 4) for one configuration: frame(parent) placement, then a turn about or a slide along z."""
    frames: list[np.ndarray] = []
    for a, parent in enumerate(tree["parents"]):
        value = tree["multipliers"][a] * q[tree["variables"][a]] + tree["offsets"][a]
        motion = np.eye(4)
        if tree["prismatic"][a]:
            motion[2, 3] = value
        else:
            motion[:3, :3] = turn(value)
        base = np.eye(4) if parent < 0 else frames[parent]
        frames.append(base @ homogeneous(tree["placements"][a]) @ motion)
    return np.array(
        [
            (np.eye(4) if axis < 0 else frames[axis]) @ homogeneous(placement)
            for axis, placement in zip(tree["link_axes"], tree["link_placements"], strict=True)
        ]
    ).reshape(-1, 4, 4)


class PinocchioTree:
    """The same tree in Pinocchio: one joint per axis, all free; variables are spread over them."""

    def __init__(self, pin: Any, tree: dict[str, Any]):
        self.pin, self.tree = pin, tree
        model = pin.Model()
        for a, parent in enumerate(tree["parents"]):
            joint = pin.JointModelPZ() if tree["prismatic"][a] else pin.JointModelRZ()
            placement = pin.SE3(homogeneous(tree["placements"][a]))
            model.addJoint(int(parent) + 1, joint, placement, f"axis{a}")
        self.frames = []
        for k, axis in enumerate(tree["link_axes"]):
            placement = pin.SE3(homogeneous(tree["link_placements"][k]))
            model.appendBodyToJoint(
                int(axis) + 1, pin.Inertia(tree["masses"][k], tree["coms"][k], tree["inertias"][k]), placement
            )
            frame = pin.Frame(f"link{k}", int(axis) + 1, 0, placement, pin.FrameType.OP_FRAME, pin.Inertia.Zero())
            self.frames.append(model.addFrame(frame, False))
        model.gravity.linear = GRAVITY
        self.model, self.data = model, model.createData()
        self.spread = np.zeros((len(tree["parents"]), tree["dof"]))
        self.spread[np.arange(len(tree["parents"])), tree["variables"]] = tree["multipliers"]

    def q(self, q: np.ndarray) -> np.ndarray:
        return self.spread @ q + self.tree["offsets"]

    def poses(self, q: np.ndarray) -> np.ndarray:
        self.pin.framesForwardKinematics(self.model, self.data, self.q(q))
        return np.array([self.data.oMf[frame].homogeneous for frame in self.frames])

    def jacobian(self, link: int, q: np.ndarray) -> np.ndarray:
        aligned = self.pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        jacobian = self.pin.computeFrameJacobian(self.model, self.data, self.q(q), self.frames[link], aligned)
        return jacobian.reshape(6, -1) @ self.spread

    def gravity_torques(self, q: np.ndarray) -> np.ndarray:
        return self.spread.T @ self.pin.computeGeneralizedGravity(self.model, self.data, self.q(q))

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        return self.spread.T @ self.pin.rnea(self.model, self.data, self.q(q), self.spread @ v, self.spread @ a)

    def mass_matrix(self, q: np.ndarray) -> np.ndarray:
        """Column by column: Pinocchio's own wants the joints of a subtree side by side, which they need not be here."""
        rest, gravity = np.zeros(len(q)), self.gravity_torques(q)
        return np.column_stack([self.inverse_dynamics(q, rest, unit) - gravity for unit in np.eye(len(q))])

    def center_of_mass(self, q: np.ndarray) -> np.ndarray:
        """Of everything: Pinocchio leaves out what is fixed to the world."""
        moving = self.pin.centerOfMass(self.model, self.data, self.q(q)).copy()
        base, mass = self.model.inertias[0], self.data.mass[0]
        return (mass * moving + base.mass * base.lever) / (mass + base.mass)


class Batch:
    """The core's functions with arrays made for their results."""

    def __init__(self, tree: dict[str, Any], threads: int = 1):
        self.core = _core.Tree(_core.TreeArrays(**tree))
        self.threads = threads

    def poses(self, links: list[int], q: np.ndarray) -> np.ndarray:
        out = np.full((len(q), len(links), 4, 4), np.nan)
        self.core.poses(np.array(links, dtype=np.int32), q, out, self.threads)
        return out

    def jacobians(self, link: int, q: np.ndarray, point: Any = None, reference: int | None = None) -> np.ndarray:
        out = np.full((len(q), 6, self.core.dof), np.nan)
        self.core.jacobians(link, q, out, point, reference, self.threads)
        return out

    def both(self, link: int, q: np.ndarray, point: Any = None, reference: int | None = None) -> tuple[np.ndarray, ...]:
        poses, jacobians = np.full((len(q), 4, 4), np.nan), np.full((len(q), 6, self.core.dof), np.nan)
        self.core.poses_and_jacobians(link, q, poses, jacobians, point, reference, self.threads)
        return poses, jacobians

    def centers_of_mass(self, q: np.ndarray) -> np.ndarray:
        out = np.full((len(q), 3), np.nan)
        self.core.centers_of_mass(q, out, self.threads)
        return out

    def center_of_mass_jacobians(self, q: np.ndarray) -> np.ndarray:
        out = np.full((len(q), 3, self.core.dof), np.nan)
        self.core.center_of_mass_jacobians(q, out, self.threads)
        return out

    def gravity_torques(self, q: np.ndarray) -> np.ndarray:
        out = np.full(q.shape, np.nan)
        self.core.gravity_torques(q, GRAVITY, out, self.threads)
        return out

    def inverse_dynamics(self, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
        out = np.full(q.shape, np.nan)
        self.core.inverse_dynamics(q, v, a, GRAVITY, out, self.threads)
        return out

    def mass_matrices(self, q: np.ndarray) -> np.ndarray:
        out = np.full((*q.shape, self.core.dof), np.nan)
        self.core.mass_matrices(q, out, self.threads)
        return out

    def everything(self, link: int, reference: int, q: np.ndarray) -> dict[str, np.ndarray]:
        """Every function on one batch."""
        poses, jacobians = self.both(link, q)
        relative_poses, relative_jacobians = self.both(link, q, np.array([0.1, -0.2, 0.3]), reference)
        return {
            "all poses": self.poses(list(range(self.core.link_count)), q),
            "poses": poses,
            "jacobians": jacobians,
            "relative poses": relative_poses,
            "relative jacobians": relative_jacobians,
            "centers of mass": self.centers_of_mass(q),
            "center of mass jacobians": self.center_of_mass_jacobians(q),
            "gravity torques": self.gravity_torques(q),
            "inverse dynamics": self.inverse_dynamics(q, np.cos(q), np.sin(3.0 * q)),
            "mass matrices": self.mass_matrices(q),
        }
