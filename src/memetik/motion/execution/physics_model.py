"""A robot in a scene as a MuJoCo model, whatever format it came from.

The model follows the compiled tree: every elementary axis is a body with one joint about or along its z, every link a
body fixed to its axis, under its own name. Mimic joints are tied to their masters by equality constraints. What
descriptions leave out is filled in by rules, and `notes` says where:

- A link with shapes and no inertia gets that of its shapes at `DENSITY`; one with neither weighs `LEAST_MASS`.
- An effort limit that is missing or cannot hold the arm up (less than `SPARE` times its weight in some configuration)
  becomes `SPARE` times what weight and the acceleration limits ask for.
- Every joint has a rotor inertia (MuJoCo's armature): what a tenth of its effort accelerates at its acceleration limit.
- Joints are position servos  force = kp (u - q) - kv dq/dt,  critically damped at `STIFFNESS` rad/s against the largest
  inertia that the joint sees in sampled configurations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from memetik.collision.allowed_pairs import default_pairs
from memetik.errors import InvalidInputError, UnknownNameError
from memetik.geometry.shapes import Plane
from memetik.motion.execution.physics_shapes import GeomWriter, Setting, mujoco, wxyz
from memetik.robot.robot import Robot
from memetik.scene.scene import Scene

DENSITY = 700.0
"""Of links and loose objects that state no mass, kg/m^3: metal castings with air in them, wood."""
LEAST_MASS = 1e-3
SPARE = 1.5
STIFFNESS = 100.0
_SAMPLES = 128
_LEAST_FORCE = 20.0  # of a slide without effort limit, newton: most of them are fingers
_ARMATURE = {True: (1e-5, 2.0), False: (0.2, 20.0)}  # by whether it turns: least and most, kg m^2 or kg


@dataclass(frozen=True, eq=False)
class PhysicsModel:
    """A compiled MuJoCo model and where the robot is in it.

    Axes are those of the robot's tree: value = multiplier * q[variable] + offset.
    """

    robot: Robot
    model: Any
    positions: np.ndarray
    """(axes,) index of each axis in MuJoCo's qpos."""
    velocities: np.ndarray
    """(axes,) index of each axis in MuJoCo's qvel."""
    readers: np.ndarray
    """(dof,) the axis from which each entry of q is read."""
    kp: np.ndarray
    kv: np.ndarray
    effort: np.ndarray
    """(axes,) newton metres or newtons."""
    loose: tuple[str, ...] = ()
    """Objects that can move on their own."""
    welds: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """(object, link) to the number of the equality constraint that can hold them together."""
    notes: tuple[str, ...] = ()
    """What was filled in."""

    def axis_values(self, q: np.ndarray) -> np.ndarray:
        """Values of all axes for a configuration (dof,)."""
        tree = self.robot.tree
        return tree.multipliers * q[tree.variables] + tree.offsets

    def axis_rates(self, velocity: np.ndarray) -> np.ndarray:
        """Velocities or accelerations of all axes for those of q."""
        tree = self.robot.tree
        return tree.multipliers * velocity[tree.variables]


def build_model(
    robot: Robot,
    scene: Scene | None = None,
    *,
    q: ArrayLike | Mapping[str, float] | None = None,
    loose: Sequence[str] = (),
    grips: Sequence[str] = (),
    masses: Mapping[str, float] | None = None,
    timestep: float = 0.002,
    gravity: Sequence[float] = (0.0, 0.0, -9.81),
) -> PhysicsModel:
    """Build the model of a robot in a scene.

    q: the configuration at which links that overlap already are taken not to collide.
    loose: names of objects that can be moved; the others stand still.
    grips: links to which a loose object may be welded while it is held.
    masses: of loose objects, kilograms; others have `DENSITY`.
    """
    builder = _Builder(robot, scene)
    spec = builder.spec
    spec.option.timestep, spec.option.gravity = timestep, list(gravity)
    builder.add_axes()
    builder.add_links()
    builder.add_objects(loose, dict(masses or {}))
    welds = builder.add_welds(loose, grips)
    builder.exclude_pairs()
    start = robot.neutral if q is None else robot.q(q)
    return builder.finish(start, tuple(loose), welds)


class _Builder:
    def __init__(self, robot: Robot, scene: Scene | None):
        self.mujoco = mujoco()
        self.robot, self.scene = robot, scene
        self.spec = self.mujoco.MjSpec()
        self.spec.option.integrator = self.mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        self.spec.option.cone = self.mujoco.mjtCone.mjCONE_ELLIPTIC
        self.spec.option.impratio = 10.0  # makes held things creep less
        self.spec.compiler.boundmass, self.spec.compiler.boundinertia = 1e-6, 1e-9  # of axes without a link
        self.geoms = GeomWriter(self.spec)
        self.spec.visual.global_.offwidth, self.spec.visual.global_.offheight = 1920, 1200
        sky = {"type": self.mujoco.mjtTexture.mjTEXTURE_SKYBOX, "builtin": self.mujoco.mjtBuiltin.mjBUILTIN_GRADIENT}
        self.spec.add_texture(name="sky", width=64, height=64, rgb1=[0.95, 0.97, 1.0], rgb2=[0.7, 0.78, 0.85], **sky)
        self.spec.visual.headlight.ambient = [0.4, 0.4, 0.4]
        self.spec.visual.headlight.diffuse = [0.6, 0.6, 0.6]
        self.notes: list[str] = []
        self.axes: list[Any] = []
        self.joints: list[Any] = []
        self.links: dict[str, Any] = {}
        self.objects: dict[str, Any] = {}

    def add_axes(self) -> None:
        tree, kinds = self.robot.tree, self.mujoco.mjtJoint
        for index, parent in enumerate(tree.parents.tolist()):
            body = self._body(parent, f"axis {index}", tree.placements[index])
            kind = kinds.mjJNT_SLIDE if tree.prismatic[index] else kinds.mjJNT_HINGE
            self.joints.append(body.add_joint(name=f"axis {index}", type=kind, axis=[0.0, 0.0, 1.0]))
            self.axes.append(body)

    def add_links(self) -> None:
        tree = self.robot.tree
        without: list[str] = []
        for index, link in enumerate(self.robot.description.links):
            axis = int(tree.link_axes[index])
            body = self.links[link.name] = self._body(axis, f"link {link.name}", tree.link_placements[index])
            has_mass = link.inertial is not None and link.inertial.mass > 0.0
            for geometry in link.collisions:
                settings: dict[str, Setting] = {"mass": 0.0} if has_mass else {"density": DENSITY}
                settings["rgba"] = geometry.color or (0.85, 0.85, 0.88, 1.0)
                self.geoms.add(body, geometry.shape, np.asarray(geometry.origin), link.name, hull=True, **settings)
            if has_mass:
                assert link.inertial is not None
                _set_inertia(body, link.inertial.mass, link.inertial.com, link.inertial.inertia)
            elif not link.collisions:
                _set_inertia(body, LEAST_MASS, (0.0, 0.0, 0.0), np.zeros((3, 3)))
            elif axis >= 0:
                without.append(link.name)
        for item in self.scene.attached_objects if self.scene is not None else ():
            self.geoms.add(self._link(item.link), item.shape, item.pose, item.name, density=DENSITY)
        if without:
            self.notes.append(f"no inertia given, that of the shapes at {DENSITY:g} kg/m^3: {', '.join(without)}")

    def add_objects(self, loose: Sequence[str], masses: dict[str, float]) -> None:
        scene = self.scene
        for name in loose:
            if scene is None or name not in scene:
                raise UnknownNameError("loose object", name, "the scene", scene.names if scene is not None else ())
        for item in scene.world_objects if scene is not None else ():
            body = self.objects[item.name] = self._body(-1, f"object {item.name}", item.pose)
            if item.name not in loose:
                self.geoms.add(body, item.shape, np.eye(4), item.name, rgba=item.color or (0.55, 0.6, 0.65, 1.0))
                continue
            if isinstance(item.shape, Plane):
                raise InvalidInputError(f"{item.name!r} is a plane, which has no end; it cannot be loose.")
            body.add_freejoint()
            weight: dict[str, Setting] = {"mass": masses[item.name]} if item.name in masses else {"density": DENSITY}
            weight["rgba"] = item.color or (0.9, 0.5, 0.2, 1.0)
            self.geoms.add(body, item.shape, np.eye(4), item.name, False, **weight)

    def add_welds(self, loose: Sequence[str], grips: Sequence[str]) -> dict[tuple[str, str], int]:
        welds = {}
        for item in loose:
            for link in grips:
                self._link(link)
                weld = self.spec.add_equality(name=f"weld {item} {link}")
                weld.type, weld.objtype = self.mujoco.mjtEq.mjEQ_WELD, self.mujoco.mjtObj.mjOBJ_BODY
                weld.name1, weld.name2, weld.active = f"link {link}", self.objects[item].name, False
                weld.solref = [0.004, 1.0]
                welds[item, link] = len(welds)
        return welds

    def exclude_pairs(self) -> None:
        """Links that may overlap do not push each other; objects allowed to touch do: they have surfaces."""
        shaped = {link.name for link in self.robot.description.links if link.collisions}
        allowed = default_pairs(self.robot) | (self.scene.allowed if self.scene is not None else frozenset())
        for first, second in sorted(allowed):
            if first in shaped and second in shaped:
                self.spec.add_exclude(bodyname1=f"link {first}", bodyname2=f"link {second}")

    def finish(self, q: np.ndarray, loose: tuple[str, ...], welds: dict[tuple[str, str], int]) -> PhysicsModel:
        readers = self._tie_axes()
        effort, armature, inertia = self._ratings()
        kp = STIFFNESS**2 * (inertia + armature)
        kv = 2.0 * STIFFNESS * (inertia + armature)
        for index, joint in enumerate(self.joints):
            joint.armature = armature[index]
            servo = self.spec.add_actuator(name=f"axis {index}", target=f"axis {index}")
            servo.trntype = self.mujoco.mjtTrn.mjTRN_JOINT
            servo.gaintype, servo.biastype = self.mujoco.mjtGain.mjGAIN_FIXED, self.mujoco.mjtBias.mjBIAS_AFFINE
            servo.gainprm[0], servo.biasprm[1], servo.biasprm[2] = kp[index], -kp[index], -kv[index]
            servo.forcelimited, servo.forcerange = True, [-effort[index], effort[index]]
        model = self._without_first_contacts(q)
        numbers = self._numbers(model)
        return PhysicsModel(
            robot=self.robot,
            model=model,
            positions=model.jnt_qposadr[numbers],
            velocities=model.jnt_dofadr[numbers],
            readers=readers,
            kp=kp,
            kv=kv,
            effort=effort,
            loose=loose,
            welds={key: model.equality(f"weld {key[0]} {key[1]}").id for key in welds},
            notes=tuple(self.notes),
        )

    def _tie_axes(self) -> np.ndarray:
        """For each entry of q the axis it is read from; the other axes of that entry are tied to it."""
        tree = self.robot.tree
        readers = np.full(self.robot.dof, -1)
        own = (tree.multipliers == 1.0) & (tree.offsets == 0.0)
        for index in [*np.flatnonzero(own), *np.flatnonzero(~own)]:
            variable = tree.variables[index]
            if readers[variable] < 0:
                readers[variable] = index
                continue
            master = readers[variable]
            ratio = float(tree.multipliers[index] / tree.multipliers[master])
            tie = self.spec.add_equality(name=f"tie {index}")
            tie.type, tie.objtype = self.mujoco.mjtEq.mjEQ_JOINT, self.mujoco.mjtObj.mjOBJ_JOINT
            tie.name1, tie.name2 = f"axis {index}", f"axis {master}"
            tie.data[0], tie.data[1] = float(tree.offsets[index] - ratio * tree.offsets[master]), ratio
            tie.solref = [0.004, 1.0]
        return readers

    def _numbers(self, model: Any) -> np.ndarray:
        """MuJoCo's numbers of the axes' joints."""
        return np.array([model.joint(f"axis {k}").id for k in range(len(self.joints))], dtype=int)

    def _ratings(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Effort, armature and largest inertia of each axis, from sampled configurations."""
        robot, tree = self.robot, self.robot.tree
        model = self.spec.compile()
        data = self.mujoco.MjData(model)
        model.opt.disableflags |= int(self.mujoco.mjtDisableBit.mjDSBL_CONTACT)
        numbers, count = self._numbers(model), len(tree.variables)
        position, rate = model.jnt_qposadr[numbers], model.jnt_dofadr[numbers]
        acceleration = np.where(np.isfinite(robot.acceleration), robot.acceleration, 5.0)[tree.variables]
        acceleration = np.abs(tree.multipliers) * acceleration
        weight, inertia, load = (np.zeros(count) for _ in range(3))
        full = np.zeros((model.nv, model.nv))
        for q in robot.random(0, _SAMPLES):
            data.qpos[position] = tree.multipliers * q[tree.variables] + tree.offsets
            self.mujoco.mj_forward(model, data)
            self.mujoco.mj_fullM(model, data, full)
            matrix = full[np.ix_(rate, rate)]
            weight = np.maximum(weight, np.abs(data.qfrc_bias[rate]))
            inertia = np.maximum(inertia, np.diagonal(matrix))
            load = np.maximum(load, np.abs(data.qfrc_bias[rate]) + np.abs(matrix) @ acceleration)
        effort = robot.effort[tree.variables].astype(float)
        weak = ~np.isfinite(effort) | (effort < SPARE * weight)
        least_force = np.where(tree.prismatic, _LEAST_FORCE, 1e-3)
        effort = np.where(weak, np.maximum(SPARE * load, least_force), effort)
        if weak.any():
            names = dict.fromkeys(robot.joint_names[tree.variables[k]] for k in np.flatnonzero(weak))
            self.notes.append(
                f"effort limits missing or too weak to hold the arm, {SPARE:g} times what its motion needs: "
                + ", ".join(names)
            )
        least, most = np.array([_ARMATURE[not slides] for slides in tree.prismatic]).reshape(-1, 2).T
        return effort, np.clip(0.1 * effort / acceleration, least, most), inertia

    def _without_first_contacts(self, q: np.ndarray) -> Any:
        """Shapes of links are often larger than the links: what overlaps at the start is not to push."""
        model, tree = self.spec.compile(), self.robot.tree
        data = self.mujoco.MjData(model)
        data.qpos[model.jnt_qposadr[self._numbers(model)]] = tree.multipliers * q[tree.variables] + tree.offsets
        self.mujoco.mj_forward(model, data)
        loose = {body.name for name, body in self.objects.items() if body.joints}
        found = set()
        for contact in data.contact[: data.ncon]:
            first, second = (model.body(model.geom_bodyid[geom]).name for geom in contact.geom)
            if contact.dist < 0.0 and not {first, second} & loose:
                found.add((first, second))
        for first, second in sorted(found):
            self.spec.add_exclude(bodyname1=first, bodyname2=second)
            names = " and ".join(name.split(" ", 1)[1] for name in (first, second))
            self.notes.append(f"overlap at the start and do not push each other: {names}")
        return self.spec.compile() if found else model

    def _body(self, axis: int, name: str, placement: np.ndarray) -> Any:
        above = self.spec.worldbody if axis < 0 else self.axes[axis]
        return above.add_body(name=name, pos=placement[:3, 3], quat=wxyz(placement[:3, :3]))

    def _link(self, name: str | None) -> Any:
        if name not in self.links:
            raise UnknownNameError("link", name, f"robot {self.robot.name!r}", self.links)
        return self.links[name]


def _set_inertia(body: Any, mass: float, com: Sequence[float], inertia: np.ndarray) -> None:
    """MuJoCo wants principal moments that a real body can have; small ones are raised to those of a 1 cm ball."""
    matrix = 0.5 * (np.asarray(inertia) + np.asarray(inertia).T)
    moments, axes = np.linalg.eigh(matrix)
    moments = np.maximum(moments, 0.4 * mass * 0.01**2)
    moments[2] = min(moments[2], moments[0] + moments[1])
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] = -axes[:, 0]
    body.explicitinertial, body.mass = True, mass
    body.ipos, body.iquat, body.inertia = list(com), wxyz(axes), moments.tolist()
