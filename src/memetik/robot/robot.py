"""The Robot: kinematics of a description, and other robots made from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Literal, TypeGuard, Unpack, cast

import numpy as np
from numpy.typing import ArrayLike

from memetik.errors import InvalidInputError
from memetik.files.paths import expanded
from memetik.geometry.shapes import Box, Capsule, Cylinder, Mesh, Shape, Sphere, TriangleMesh
from memetik.geometry.transforms import PoseLike, as_pose, frozen, transform
from memetik.robot import calibration, edit, interop, limits, loops
from memetik.robot.configuration import JointValues
from memetik.robot.description import Description, Geometry, Inertial, Semantics
from memetik.robot.groups import group_end_effectors
from memetik.robot.interop import MujocoModel, PinocchioModel, RosState
from memetik.robot.kinematics import Kinematics
from memetik.robot.limits import AxisLimits, JointLimits
from memetik.robot.load import load_description
from memetik.robot.readers.dh import DhTable
from memetik.robot.readers.sphere_file import read_spheres, spheres_of
from memetik.robot.urdf_writer import write_urdf

if TYPE_CHECKING:
    from memetik.robot.load import LoadOptions, RobotSource
    from memetik.scene.scene import Scene
    from memetik.studio.views.show import Picture

Shapes = Geometry | Shape | Sequence[Geometry | Shape | tuple[Shape, PoseLike]]
"""A shape, a shape at a pose, or several of them."""


class Robot(Kinematics):
    """A kinematic tree with limits, inertias, shapes and named parts.

    Robots are immutable: methods that change one give another. They are equal by content, hashable, and pickle.
    q, limits and Jacobian columns have `dof` entries in the order of `joint_names`.
    Metres, radians, kilograms, seconds.
    """

    __slots__ = ()

    def random(self, rng: int | np.random.Generator | None = None, n: int | None = None) -> np.ndarray:
        """Random configurations within the limits: (dof,), or (n, dof); uniform, but for loops, which are closed.

        Angles without limits are drawn within a turn (-pi to pi), distances without limits from -1 to 1 m; where only
        one limit is infinite, within a turn or 2 m of the other.
        """
        if not self.description.loops:
            return super().random(rng, n)
        generator = np.random.default_rng(rng)
        drawn = loops.random_closed(self, generator, super().random(generator, 1 if n is None else n))
        return drawn[0] if n is None else drawn

    def close(self, q: ArrayLike) -> np.ndarray:
        """The configuration (dof,), or configurations (N, dof), with closed loops: passive joints follow the others.

        Where they cannot, all joints move a little. An InvalidInputError where the loops do not close near q.
        """
        given = self.check_q(q)
        return loops.closed(self, np.atleast_2d(given).copy()).reshape(given.shape)

    def loop_error(self, q: ArrayLike) -> Any:
        """By how much the loops are open at q, metres or radians, the largest of all; 0 without loops.

        For configurations (N, dof) an array (N,).
        """
        given = self.check_q(q)
        errors = np.abs(loops.loop_residuals(self, np.atleast_2d(given))).max(axis=1, initial=0.0)
        return float(errors[0]) if given.ndim == 1 else errors

    @property
    def mobility(self) -> loops.Mobility:
        """How many independent motions the robot has, which joints drive and which follow; without loops, all drive."""
        return loops.mobility(self)

    def with_tool(
        self,
        pose: PoseLike = (0.0, 0.0, 0.0),
        *,
        name: str = "tool",
        link: str | None = None,
        collisions: Shapes = (),
        visuals: Shapes = (),
        mass: float | None = None,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: ArrayLike | None = None,
    ) -> Robot:
        """This robot with a link `name` mounted on `link` (its tip where None), which becomes a tip itself.

        pose: of the tool in that link, or only its offset (x, y, z).
        collisions, visuals: shapes, pairs (shape, pose in the tool) or Geometry objects.
        mass, com, inertia: kilograms, centre in the tool's frame, inertia (3, 3) about it, zero where not given.
        """
        inertial = None
        if mass is not None:
            matrix = np.zeros((3, 3)) if inertia is None else np.array(inertia, dtype=float)
            x, y, z = (float(v) for v in com)
            inertial = Inertial(float(mass), (x, y, z), matrix)
        return Robot(
            edit.add_tool(
                self.description,
                self.tip if link is None else link,
                _tool_pose(pose),
                name=name,
                collisions=_geometries(collisions),
                visuals=_geometries(visuals),
                inertial=inertial,
            )
        )

    def with_fixed(self, values: Mapping[str, ArrayLike]) -> Robot:
        """This robot with some joints fixed at these values; joints that mimic them are fixed too, all links stay."""
        q = self.q(values)
        return Robot(edit.fix_joints(self.description, self._values_of(self._owners(values), q)))

    def group(self, group: str | Sequence[str], values: JointValues | None = None) -> Robot:
        """The part of this robot that one of its groups, or a list of joints, moves.

        All links stay; the other joints are fixed at `values` (a mapping or a configuration), else at neutral ones.
        Joints of the group that mimic others keep their masters free. The tip is the group's.
        """
        q = self.q(values)
        topology = self.tree.topology
        effectors = None
        if isinstance(group, str):
            names = self.group_joints(group)
            effectors = group_end_effectors(self.description, topology, group)
        else:
            names = self._owners(group)
        free = {topology.master(topology.joints[name])[0].name for name in names}
        if not any(topology.joints[name].axes for name in free):
            raise InvalidInputError(f"the group {group!r} of robot {self.name!r} has no joint that moves.")
        others = [j.name for j in self.description.joints if j.axes and j.mimic is None and j.name not in free]
        part = edit.fix_joints(self.description, self._values_of(others, q))
        if effectors is not None:
            part = replace(part, semantics=replace(part.semantics, end_effectors=effectors))
        elif others:
            part = edit.keep_moved_end_effectors(part)
        return Robot(part)

    def chain(self, base: str, tip: str) -> Robot:
        """Only the links and joints between two links, with `base` as the root.

        The chain stands at the world's origin, or where the robot does if `base` is the robot's root. Joints of the
        chain that mimic one outside it become free.
        """
        return Robot(edit.extract_chain(self.description, base, tip))

    def inverted(self, base: str, pose: PoseLike | None = None) -> Robot:
        """The same robot with link `base` as its root, at `pose` in the world (its origin where None).

        All links, their frames and the meaning of q are the same: only the base is another.
        """
        return Robot(edit.reroot(self.description, base, None if pose is None else as_pose(pose)))

    def at(self, pose: PoseLike) -> Robot:
        """This robot with its root link at `pose` in the world."""
        checked = as_pose(pose, "the base pose")
        if checked.shape != (4, 4):
            raise InvalidInputError(f"the base pose must have shape (4, 4), not {checked.shape}.")
        return Robot(replace(self.description, base=frozen(checked)))

    def with_floating_base(
        self, limits: AxisLimits | None = None, *, name: str | None = None, rotation_order: str = "xyz"
    ) -> Robot:
        """This robot on a floating joint: entries x, y, z, then rotations about the moved axes in `rotation_order`.

        limits: pairs (lower, upper), six of them or by axis {"x": ..., "r1": ...}; infinite where not given.
        """
        return self._with_base("floating", limits, name, rotation_order)

    def with_planar_base(self, limits: AxisLimits | None = None, *, name: str | None = None) -> Robot:
        """This robot on a planar joint: entries x, y and yaw in the frame that its base has now.

        limits: pairs (lower, upper), three of them or by axis {"x": ..., "yaw": ...}; infinite where not given.
        """
        return self._with_base("planar", limits, name, "xyz")

    def with_limits(self, given: Mapping[str, JointLimits]) -> Robot:
        """This robot with other limits for some joints: {joint or axis: (lower, upper) or a mapping of limits}.

        The mapping has some of lower, upper, velocity, acceleration, effort, soft_lower, soft_upper.
        """
        return Robot(limits.set_limits(self.description, given))

    def with_limit_margin(self, margin: float | Mapping[str, float]) -> Robot:
        """This robot with position limits moved inwards: radians, for all turning axes, or {joint: margin}."""
        return Robot(self.description, limit_margin=margin)

    def with_joint_offsets(self, offsets: Mapping[str, float]) -> Robot:
        """This robot as built: {joint: offset}, a joint that reports q stands at q + offset, radians or metres.

        Limits and the meaning of q stay those of the reported values.
        """
        return Robot(calibration.set_joint_offsets(self.description, offsets))

    def with_calibration(self, given: str | PathLike[str] | Mapping[str, Any]) -> Robot:
        """This robot as built, by a calibration file (YAML) or the mapping that it holds.

        Understood are the kinematics file of Universal Robots' calibration and, for any robot, `joints:` with `offset`
        or with `xyz` and `rpy` of a joint's origin.
        """
        if isinstance(given, Mapping):
            return Robot(calibration.apply_calibration(self.description, given))
        path = expanded(given)
        return Robot(calibration.apply_calibration(self.description, calibration.read_file(path), source=path))

    def with_soft_limits(self) -> Robot:
        """This robot with its soft limits as position limits."""
        return Robot(self.description, use_soft_limits=True)

    def with_semantics(self, semantics: Semantics) -> Robot:
        """This robot with other groups, end effectors, named configurations and disabled pairs."""
        return Robot(edit.with_known_semantics(self.description, semantics))

    def with_disabled_pairs(self, pairs: Iterable[tuple[str, str]], reason: str = "User") -> Robot:
        """This robot with these pairs of links no longer checked for collision with each other."""
        return Robot(edit.disable_pairs(self.description, pairs, reason))

    def with_collisions(self, shapes: Mapping[str, Shapes] | str | PathLike[str], *, keep: bool = False) -> Robot:
        """This robot with other collision shapes for some links: {link: shapes in its frame}, or a file of spheres:
        cuRobo's, an XRDF, a spherised URDF.

        The links are then these shapes, in every check; links that are not named stay as they are.
        keep: the links keep their own shapes beside them.
        """
        if isinstance(shapes, Mapping):
            given = {name: _geometries(own) for name, own in shapes.items()}
        elif fspath(shapes).endswith((".urdf", ".xacro")):
            given = spheres_of(load_description(fspath(shapes)))
        else:
            given = read_spheres(expanded(shapes))
        return Robot(edit.set_collisions(self.description, given, keep=keep))

    def renamed(self, name: str) -> Robot:
        """This robot under another name."""
        return Robot(replace(self.description, name=name))

    def to_urdf(self, *, meshes: Literal["found", "given"] = "found") -> str:
        """URDF text. Joints that URDF does not have are written in the way the URDF writer documents."""
        return write_urdf(self.description, meshes=meshes)

    def to_mujoco(self, q: ArrayLike, model: MujocoModel | None = None) -> np.ndarray:
        """MuJoCo's qpos for q: its order, mimic joints, free bases; of `model`, else as MuJoCo reads the same file."""
        return interop.to_mujoco(self, q, model)

    def from_mujoco(self, qpos: ArrayLike, model: MujocoModel | None = None) -> np.ndarray:
        """The configuration q of MuJoCo's qpos."""
        return interop.from_mujoco(self, qpos, model)

    def to_pinocchio(self, q: ArrayLike, model: PinocchioModel | None = None) -> np.ndarray:
        """Pinocchio's q: its order, continuous joints as (cos, sin), free bases; of `model`, else as it reads the same
        URDF."""
        return interop.to_pinocchio(self, q, model)

    def from_pinocchio(self, q: ArrayLike, model: PinocchioModel | None = None) -> np.ndarray:
        """The configuration of Pinocchio's q."""
        return interop.from_pinocchio(self, q, model)

    def to_ros(self, q: ArrayLike, *, mimic: bool = True) -> RosState:
        """Names and positions as in ROS's JointState, and poses of joints with several axes."""
        return interop.to_ros(self, q, mimic=mimic)

    def from_ros(
        self,
        name: Sequence[str],
        position: Sequence[float],
        poses: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
        default: ArrayLike | None = None,
    ) -> np.ndarray:
        """The configuration of a joint state; joints that it lacks are those of `default`, or an error without."""
        return interop.from_ros(self, name, position, poses, default)

    def show(
        self,
        q: ArrayLike | None = None,
        scene: Scene | None = None,
        *,
        collision: bool = False,
        height: int = 480,
    ) -> Picture:
        """The robot at q, or at several configurations, to look at: shown by itself in a notebook; `.open()` opens a
        browser. `collision`: its exact collision shapes, the bodies that the search takes for them over these, and by
        how many millimetres they reach beyond, per link."""
        show_robot = import_module("memetik.studio.views.show").show_robot
        return show_robot(self, q, scene, collision=collision, height=height)

    def _with_base(
        self, kind: Literal["floating", "planar"], given: AxisLimits | None, name: str | None, order: str
    ) -> Robot:
        lower, upper = limits.axis_limits(kind, given)
        added = edit.add_base(self.description, kind, name=name, lower=lower, upper=upper, rotation_order=order)
        return Robot(added)

    def _owners(self, names: Iterable[str]) -> list[str]:
        """The joints of these names, which may be those of single axes if all of a joint's are there."""
        joints = self.tree.topology.joints
        owner_of = {axis: joint.name for joint in joints.values() for axis in joint.axis_names}
        names = list(names)
        owners = dict.fromkeys(name if name in joints else owner_of.get(name, name) for name in names)
        for owner in owners:
            joint = self.joint(owner)
            missing = [axis for axis in joint.axis_names if axis not in names]
            if owner not in names and missing:
                raise InvalidInputError(
                    f"joint {owner!r} can be taken only as a whole: {', '.join(missing)} must be named too."
                )
        return list(owners)

    def _values_of(self, joints: Iterable[str], q: np.ndarray) -> dict[str, tuple[float, ...]]:
        result: dict[str, tuple[float, ...]] = {}
        for name in joints:
            joint = self.joint(name)
            first = self.tree.couplings[name].first
            result[name] = tuple(q[first : first + joint.axes].tolist())
        return result


def load_robot(
    source: RobotSource,
    *,
    limit_margin: float | Mapping[str, float] = 0.0,
    use_soft_limits: bool = False,
    **options: Unpack[LoadOptions],
) -> Robot:
    """Load a robot.

    source: the name of a bundled robot, the path of a URDF, xacro or MJCF file, URDF text or a yourdfpy object.
    limit_margin: moves position limits inwards: radians, for every turning axis; or a mapping from joint to margin.
    use_soft_limits: takes the description's soft limits where they are tighter.
    options: those of `memetik.robot.load.load_description`: srdf=, arguments=, search_path=, joint_limits=.
    """
    description = load_description(source, **options)
    return Robot(description, limit_margin=limit_margin, use_soft_limits=use_soft_limits)


def robot_from_dh(
    table: Sequence[Sequence[float] | Mapping[str, float]],
    convention: str = "standard",
    *,
    limits: Sequence[tuple[float, float] | None] | None = None,
    kinds: Sequence[str] | None = None,
    velocity: Sequence[float] | float | None = None,
    columns: Sequence[str] = ("theta", "d", "a", "alpha"),
    name: str = "robot",
    joint_names: Sequence[str] | None = None,
    link_names: Sequence[str] | None = None,
    base: ArrayLike | None = None,
    tool: ArrayLike | None = None,
) -> Robot:
    """The robot of a Denavit-Hartenberg table. Metres and radians.

    table: a row per joint, four numbers in the order of `columns`, or a mapping with those names (missing ones are 0).
    convention: "standard" or "modified".
    limits: (lower, upper) per joint, None for none; a revolute joint without limits is continuous.
    kinds: "revolute" or "prismatic" per joint, or a word such as "RRPRRR"; revolute where not given.
    velocity: largest speed, one for all joints or one per joint.
    joint_names, link_names: joint1, joint2, ... and base, link1, link2, ... where not given.
    base: pose of the robot in the world; tool: pose of a further link "tool" in the last frame.
    """
    named = joint_names, link_names
    return Robot(DhTable(table, convention, limits, kinds, velocity, columns, name, *named, base, tool).description())


def combine(robots: Mapping[str, Robot], name: str = "cell") -> Robot:
    """Several robots in one: names become "left/panda_joint1" and so on, each robot keeps its own base pose.

    Their common root is a link "world"; each part is also a group of that name.
    """
    parts: dict[str, Description] = {}
    for key, robot in robots.items():
        if not isinstance(robot, Robot):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInputError(f"combine takes robots by name; {key!r} is a {type(robot).__name__}.")
        parts[key] = robot.description
    return Robot(edit.combine(parts, name))


def _tool_pose(pose: PoseLike) -> np.ndarray:
    return transform(pose) if _is_offset(pose) else as_pose(pose, "the tool's pose")


def _is_offset(pose: PoseLike) -> TypeGuard[Sequence[float]]:
    entries = cast("Sequence[float]", pose if isinstance(pose, Sequence | np.ndarray) else ())
    return len(entries) == 3 and np.ndim(entries[0]) == 0


def _geometries(given: Shapes) -> tuple[Geometry, ...]:
    items = (given,) if isinstance(given, Geometry | Shape) else given
    return tuple(_geometry(item) for item in items)


def _geometry(item: Geometry | Shape | tuple[Shape, PoseLike]) -> Geometry:
    match item:
        case Geometry():
            return item
        case Box() | Sphere() | Cylinder() | Capsule() | Mesh() | TriangleMesh():
            return Geometry(item)
        case (Box() | Sphere() | Cylinder() | Capsule() | Mesh() | TriangleMesh() as shape, placed):
            return Geometry(shape, as_pose(placed, "the pose of a shape"))
        case _:
            raise InvalidInputError(f"a shape, a pair (shape, pose) or a Geometry is needed, not {item!r:.80}.")
