"""As-built kinematics: offsets of joints, a maker's calibration file, and a fit of offsets from measured poses.

A joint offset o means that a joint which reports q stands at q + o. Limits, couplings and the meaning of q stay those
of the reported values: the offset goes into where the joint is mounted, origin <- origin * M(o).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from memetik.errors import DescriptionError, InvalidInputError, UnknownNameError
from memetik.files.schema import Table, as_table, parse_table
from memetik.geometry.transforms import as_pose, frozen, pose, rotation_exp, rotation_from_rpy, rotation_log
from memetik.robot.description import Description, Joint
from memetik.robot.tree import joint_pose

if TYPE_CHECKING:
    from memetik.robot.robot import Robot

MAX_BYTES = 1_000_000
MOST_MOVED, MOST_TURNED = 0.05, 0.2
"""Metres and radians by which a maker's calibration may move the origin of a joint."""

UNIVERSAL_ROBOTS = {
    "shoulder": "shoulder_pan_joint",
    "upper_arm": "shoulder_lift_joint",
    "forearm": "elbow_joint",
    "wrist_1": "wrist_1_joint",
    "wrist_2": "wrist_2_joint",
    "wrist_3": "wrist_3_joint",
}
"""The links in the kinematics file of Universal Robots' calibration, and the joints whose origins it states."""


def set_joint_offsets(description: Description, offsets: Mapping[str, float]) -> Description:
    """The description with offsets of joints with one axis."""
    joints = {joint.name: joint for joint in description.joints}
    for name, offset in offsets.items():
        if name not in joints:
            raise UnknownNameError("joint", name, f"robot {description.name!r}", joints)
        if joints[name].axes != 1:
            raise InvalidInputError(f"joint {name!r} is {joints[name].kind}; an offset needs a joint with one axis.")
        if not math.isfinite(offset):
            raise InvalidInputError(f"the offset of joint {name!r} is {offset!r}; a finite number is needed.")
    changed = {name: _moved(joints[name], float(offset)) for name, offset in offsets.items()}
    return replace(description, joints=tuple(changed.get(name, joint) for name, joint in joints.items()))


def _moved(joint: Joint, offset: float) -> Joint:
    neutral = joint_pose(replace(joint, reversed=False), (0.0,))
    moved = joint_pose(replace(joint, reversed=False), (offset,))
    # origin A M(o) A^-1 with A the anchor, so that origin' A M(q) A^-1 = origin A M(q + o) A^-1.
    return replace(joint, origin=frozen(joint.origin @ np.linalg.solve(neutral, moved)))


def apply_calibration(description: Description, given: str | Mapping[str, Any], *, source: str = "") -> Description:
    """The description with a calibration, as YAML text or the mapping it holds.

    Understood are the kinematics file of Universal Robots' calibration (`kinematics:` with x, y, z, roll, pitch, yaw of
    shoulder, upper_arm, forearm, wrist_1, wrist_2, wrist_3, as their ROS driver extracts it from an arm), and
    `joints:` with, for a joint of any robot, `offset`, or `xyz` and `rpy` of its origin.
    """
    what = source or "the calibration"
    table = _table(given, what)
    if "kinematics" in table:
        return _with_ur_kinematics(description, table.table("kinematics"))
    if "joints" not in table:
        raise table.error("a calibration has 'kinematics' (Universal Robots) or 'joints'.")
    entries = table.table("joints")
    offsets: dict[str, float] = {}
    origins: dict[str, np.ndarray] = {}
    known = {joint.name: joint for joint in description.joints}
    for name in entries:
        if name not in known:
            raise UnknownNameError("joint", str(name), f"robot {description.name!r}", known)
        entry = entries.table(name).known("offset", "xyz", "rpy")
        if "offset" in entry:
            offsets[str(name)] = entry.number("offset")
        if "xyz" in entry or "rpy" in entry:
            origins[str(name)] = _origin(entry, known[str(name)])
    return set_joint_offsets(_with_origins(description, origins), offsets)


def read_file(path: str) -> str:
    """The text of a calibration file."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            return file.read(MAX_BYTES + 1)
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise DescriptionError(f"the calibration {path!r} cannot be read: {error}.") from None


def _table(given: str | Mapping[str, Any], what: str) -> Table:
    if not isinstance(given, str):
        return as_table(given, what, error=DescriptionError, form="yaml")
    if len(given) > MAX_BYTES:
        raise DescriptionError(f"{what} has {len(given)} characters; at most {MAX_BYTES} are read.")
    return parse_table(given, "yaml", what, error=DescriptionError)


def _origin(entry: Table, joint: Joint) -> np.ndarray:
    """The stated origin of a joint; what is not stated of it stays."""
    position = entry.numbers("xyz", 3) if "xyz" in entry else joint.origin[:3, 3]
    rotation = rotation_from_rpy(*entry.numbers("rpy", 3)) if "rpy" in entry else joint.origin[:3, :3]
    return pose(rotation, position)


def _with_ur_kinematics(description: Description, kinematics: Table) -> Description:
    names = [joint.name for joint in description.joints]
    origins: dict[str, np.ndarray] = {}
    for link, wanted in UNIVERSAL_ROBOTS.items():
        entry = kinematics.table(link).known("x", "y", "z", "roll", "pitch", "yaw")
        missing = [key for key in ("x", "y", "z", "roll", "pitch", "yaw") if key not in entry]
        if missing:
            raise kinematics.error(f"{link} lacks {', '.join(missing)}.", link)
        found = [name for name in names if name == wanted or name.endswith((f"_{wanted}", f"/{wanted}"))]
        if len(found) != 1:
            what = "has no such joint" if not found else f"has several: {', '.join(found)}"
            raise kinematics.error(f"{link} is for a joint {wanted!r}; robot {description.name!r} {what}.", link)
        x, y, z, roll, pitch, yaw = (entry.number(key) for key in ("x", "y", "z", "roll", "pitch", "yaw"))
        origins[found[0]] = pose(rotation_from_rpy(roll, pitch, yaw), (x, y, z))
        _check_frames(description, found[0], origins[found[0]], kinematics)
    return _with_origins(description, origins)


def _check_frames(description: Description, name: str, origin: np.ndarray, kinematics: Table) -> None:
    """An arm is built a few millimetres off; more means that the description has other frames than the file."""
    nominal = next(joint.origin for joint in description.joints if joint.name == name)
    moved = float(np.linalg.norm(origin[:3, 3] - nominal[:3, 3]))
    turned = float(np.linalg.norm(np.asarray(rotation_log(nominal[:3, :3].T @ origin[:3, :3]))))
    if moved > MOST_MOVED or turned > MOST_TURNED:
        raise kinematics.error(
            f"the origin of joint {name!r} would move by {moved:.3g} m and turn by {turned:.3g} rad: robot "
            f"{description.name!r} has other link frames than the calibration, or is another model. The file fits the "
            "URDF that Universal Robots' ur_description makes."
        )


def _with_origins(description: Description, origins: Mapping[str, np.ndarray]) -> Description:
    joints = (replace(j, origin=origins[j.name]) if j.name in origins else j for j in description.joints)
    return replace(description, joints=tuple(joints))


@dataclass(frozen=True, slots=True)
class OffsetFit:
    """Joint offsets fitted to measured poses."""

    offsets: dict[str, float]
    """Per joint: what it stands at beyond what it reports, radians or metres."""
    base: np.ndarray
    """(4, 4) pose of the robot's base in the measuring frame, where it was fitted; else the identity."""
    tool: np.ndarray
    """(4, 4) pose of what was measured in the link, where it was fitted; else the identity."""
    before: float
    """Root mean square of the position errors without the fit, metres (with base and tool fitted alone)."""
    after: float
    """The same with it."""
    rotation_after: float
    """Root mean square of the rotation errors with it, radians; nan where positions alone were measured."""
    unobservable: tuple[str, ...]
    """Joints whose offsets these measurements cannot tell (from base, tool or one another); theirs are 0."""


def fit_joint_offsets(
    robot: Robot,
    q: ArrayLike,
    measured: ArrayLike,
    *,
    link: str | None = None,
    joints: Sequence[str] | None = None,
    base: bool = False,
    tool: bool = False,
    rotation_weight: float = 0.3,
) -> OffsetFit:
    """Fit offsets of joints so that the robot's poses are the measured ones, in the sense of least squares.

    q: (N, dof) reported configurations. measured: (N, 4, 4) poses or (N, 3) positions of `link` (the tip where None).
    joints: those that may have an offset; all with one axis that move the link where None.
    base, tool: whether the pose of the base in the measuring frame, and of what is measured in the link, are unknown.
    rotation_weight: metres that a radian counts for.

    What the measurements cannot tell apart (the first joint from a rotated base, the last from a rotated tool) is left
    out and named. robot.with_joint_offsets(fit.offsets) is the robot as built.
    """
    problem = _Fit(robot, q, measured, link, joints, (base, tool), rotation_weight)
    return problem.solve()


class _Fit:
    STEPS = 50
    DIFFERENCE = 1e-6

    def __init__(
        self,
        robot: Robot,
        q: ArrayLike,
        measured: ArrayLike,
        link: str | None,
        joints: Sequence[str] | None,
        free: tuple[bool, bool],
        rotation_weight: float,
    ):
        self.robot, self.link, self.weight = robot, robot.tip if link is None else link, float(rotation_weight)
        self.q = np.atleast_2d(robot.check_q(q))
        target = np.asarray(measured, dtype=float)
        if target.shape not in ((len(self.q), 3), (len(self.q), 4, 4)) or not np.isfinite(target).all():
            raise InvalidInputError(
                f"measured has shape {target.shape}; ({len(self.q)}, 4, 4) poses or ({len(self.q)}, 3) positions, one "
                "for each configuration, are needed."
            )
        if not self.weight > 0.0:
            raise InvalidInputError(f"rotation_weight is {rotation_weight!r}; a positive number is needed.")
        self.rotations = target.ndim == 3
        self.target = np.stack([as_pose(entry, "a measured pose") for entry in target]) if self.rotations else target
        moving = robot.moves(self.link)
        free_joints = [joint for joint in robot.description.joints if joint.axes == 1 and joint.mimic is None]
        single = {joint.name: robot.couplings[joint.name].first for joint in free_joints}
        self.names = [name for name, first in single.items() if moving[first]] if joints is None else list(joints)
        for name in self.names:
            if name not in single:
                raise UnknownNameError("joint", name, f"robot {robot.name!r} (joints with one axis)", single)
        self.columns = [single[name] for name in self.names]
        self.frames = 6 * free[0], 6 * free[1]

    def solve(self) -> OffsetFit:
        count = len(self.names)
        size = count + sum(self.frames)
        if self.residual(np.zeros(size)).size < size:
            raise InvalidInputError(f"{len(self.q)} measurements are too few for {size} unknowns.")
        frames = self.descend(np.zeros(size), np.arange(count, size))
        observable, hidden = self.observable(frames)
        fitted = self.descend(frames, np.concatenate([observable, np.arange(count, size)]))
        return OffsetFit(
            offsets={name: float(fitted[k]) for k, name in enumerate(self.names)},
            base=self.frame(fitted, 0),
            tool=self.frame(fitted, 1),
            before=self.error(frames)[0],
            after=self.error(fitted)[0],
            rotation_after=self.error(fitted)[1],
            unobservable=tuple(self.names[k] for k in hidden),
        )

    def descend(self, x: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Gauss-Newton over some of the unknowns; steps that do not help are halved."""
        x, cost = x.copy(), float(np.sum(self.residual(x) ** 2))
        for _ in range(self.STEPS if len(free) else 0):
            jacobian = self.jacobian(x, free)
            step = np.linalg.lstsq(jacobian, -self.residual(x), rcond=1e-10)[0]
            for shrink in (1.0, 0.5, 0.25, 0.1, 0.01):
                tried = x.copy()
                tried[free] += shrink * step
                value = float(np.sum(self.residual(tried) ** 2))
                if value <= cost:
                    break
            else:
                return x
            done = cost - value <= 1e-14 * cost or np.abs(step).max() < 1e-13
            x, cost = tried, value
            if done:
                return x
        return x

    def observable(self, x: np.ndarray) -> tuple[np.ndarray, list[int]]:
        """The joints that can be told apart, and the others: a joint whose column depends on those before it."""
        count = len(self.names)
        columns = self.jacobian(x, np.arange(len(x)))
        scale = np.maximum(np.linalg.norm(columns, axis=0), 1e-300)
        basis = np.linalg.qr(columns[:, count:] / scale[count:])[0] if len(x) > count else np.zeros((len(columns), 0))
        kept: list[int] = []
        hidden: list[int] = []
        # The joints in the middle of the chain are told best: those at the ends resemble a turned base or tool.
        for k in sorted(range(count), key=lambda k: abs(k - 0.5 * (count - 1))):
            column = columns[:, k] / scale[k]
            rest = column - basis @ (basis.T @ column)
            rest -= basis @ (basis.T @ rest)
            if np.linalg.norm(rest) < 1e-5 or scale[k] <= 1e-12:
                hidden.append(k)
            else:
                kept.append(k)
                basis = np.column_stack([basis, rest / np.linalg.norm(rest)])
        return np.array(sorted(kept), dtype=int), sorted(hidden)

    def residual(self, x: np.ndarray) -> np.ndarray:
        position, rotation = self.differences(x)
        return np.concatenate([position.ravel(), self.weight * rotation.ravel()])

    def differences(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        q = self.q.copy()
        q[:, self.columns] += x[: len(self.names)]
        placed = self.frame(x, 0) @ np.asarray(self.robot.pose(self.link, q)) @ self.frame(x, 1)
        if not self.rotations:
            return placed[:, :3, 3] - self.target, np.zeros((0, 3))
        turned = np.swapaxes(self.target[:, :3, :3], 1, 2) @ placed[:, :3, :3]
        return placed[:, :3, 3] - self.target[:, :3, 3], np.asarray(rotation_log(turned))

    def jacobian(self, x: np.ndarray, free: np.ndarray) -> np.ndarray:
        columns: list[np.ndarray] = []
        for k in free:
            step = np.zeros_like(x)
            step[k] = self.DIFFERENCE
            columns.append((self.residual(x + step) - self.residual(x - step)) / (2.0 * self.DIFFERENCE))
        return np.stack(columns, axis=1)

    def frame(self, x: np.ndarray, which: int) -> np.ndarray:
        """The pose of the base or the tool: a position and a rotation vector."""
        if not self.frames[which]:
            return np.eye(4)
        first = len(self.names) + (self.frames[0] if which else 0)
        return pose(np.asarray(rotation_exp(x[first + 3 : first + 6])), x[first : first + 3])

    def error(self, x: np.ndarray) -> tuple[float, float]:
        position, rotation = self.differences(x)
        return _root_mean_square(position), _root_mean_square(rotation) if len(rotation) else math.nan


def _root_mean_square(rows: np.ndarray) -> float:
    """Of the lengths of rows."""
    return float(np.linalg.norm(rows)) / math.sqrt(len(rows))
