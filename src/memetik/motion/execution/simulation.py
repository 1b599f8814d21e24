"""A robot under physics: MuJoCo steps it, servos follow a reference, and the truth can be read off.

The servos are those of `physics_model`. Their input carries what a good controller adds to a position command:

    u = q_ref + (kv dq_ref + M(q) ddq_ref + h(q, dq)) / kp

with the joint-space inertia M and the bias h (weight, Coriolis) of the model, so that the servo itself only has to work
against what is not modelled: contacts, held objects, saturated motors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from memetik.errors import InvalidInputError, UnknownNameError
from memetik.geometry.transforms import inverse
from memetik.motion.execution.physics_model import PhysicsModel, build_model
from memetik.motion.execution.physics_shapes import HELD_BITS, ROBOT_BITS, WORLD_BITS, mujoco, wxyz
from memetik.robot.robot import Robot
from memetik.scene.scene import Scene
from memetik.scene.scene_object import SceneObject


@dataclass(slots=True)
class Touch:
    """Two bodies that touched: names of links or objects, when first and last (seconds), how hard at most (newtons)."""

    first: str
    second: str
    begin: float
    end: float
    force: float


class Simulation:
    """A robot in a scene under gravity, at rest at the configuration `q` at first.

    loose: objects of the scene that can be moved; the others stand still. They keep their place in `scene` until
        `take_over` is called. Objects that are added to, moved in or removed from the scene later appear, move and
        vanish here too.
    grips: links that can hold a loose object by a weld; see `hold`.
    feed_forward: the share of weight and inertia that the servos are told: 1 all, as by a perfect model of the arm; 0.9
        with a model that is off by a tenth; 0 nothing, so that they lag and sag.
    timestep: seconds per step. Other options are those of `build_model`.
    """

    def __init__(
        self,
        robot: Robot,
        scene: Scene | None = None,
        *,
        q: ArrayLike | Mapping[str, float] | None = None,
        loose: Sequence[str] = (),
        grips: Sequence[str] = (),
        feed_forward: float = 1.0,
        **options: Any,
    ):
        self._mujoco = mujoco()
        self.robot, self.scene, self.feed_forward = robot, scene, feed_forward
        start = robot.neutral if q is None else robot.q(q)
        self._build = partial(build_model, robot, loose=tuple(loose), grips=tuple(grips), **options)
        self._set_model(scene, start)
        self._version = scene.version if scene is not None else 0
        self._world = _world_objects(scene)
        self.touches: list[Touch] = []
        self._open: dict[tuple[str, str], Touch] = {}
        self.reset(start)

    def _set_model(self, scene: Scene | None, q: np.ndarray) -> None:
        self.physics: PhysicsModel = self._build(scene, q=q)
        model = self.physics.model
        self.data = self._mujoco.MjData(model)
        # the name of the link or object that each body of the model is
        self._names: list[str] = [model.body(number).name.split(" ", 1)[-1] for number in range(model.nbody)]

    def reset(self, q: ArrayLike | Mapping[str, float]) -> None:
        """Stand still at the configuration q (dof,), time and objects as they are."""
        configuration = self.robot.q(q)
        self.data.qpos[self.physics.positions] = self.physics.axis_values(configuration)
        self.data.qvel[self.physics.velocities] = 0.0
        self._mujoco.mj_forward(self.physics.model, self.data)
        self.command(configuration)

    @property
    def time(self) -> float:
        """Seconds since the beginning."""
        return float(self.data.time)

    @property
    def timestep(self) -> float:
        """Seconds per step."""
        return float(self.physics.model.opt.timestep)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the robot's description left out and was filled in."""
        return self.physics.notes

    @property
    def q(self) -> np.ndarray:
        """The configuration (dof,) as it really is."""
        tree, readers = self.robot.tree, self.physics.readers
        values = self.data.qpos[self.physics.positions[readers]]
        return (values - tree.offsets[readers]) / tree.multipliers[readers]

    @property
    def velocity(self) -> np.ndarray:
        """Joint velocities (dof,) as they really are."""
        readers = self.physics.readers
        return self.data.qvel[self.physics.velocities[readers]] / self.robot.tree.multipliers[readers]

    @property
    def saturated(self) -> np.ndarray:
        """Per entry of q: whether its motor gives all it can."""
        force = np.abs(self.data.actuator_force[self.physics.readers])
        return force >= 0.999 * self.physics.effort[self.physics.readers]

    def pose(self, name: str) -> np.ndarray:
        """The pose (4, 4) in the world of a link or of an object of the scene, as it really is."""
        body = self._body(name)
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = self.data.xmat[body].reshape(3, 3), self.data.xpos[body]
        return pose

    def command(self, q: ArrayLike, velocity: ArrayLike | None = None, acceleration: ArrayLike | None = None) -> None:
        """Give the servos a reference; they follow it in the steps to come."""
        self._reference = self.physics.axis_values(np.asarray(q, dtype=float))
        nothing = np.zeros(len(self._reference))
        self._rate = nothing if velocity is None else self.physics.axis_rates(np.asarray(velocity, dtype=float))
        self._push = nothing if acceleration is None else self.physics.axis_rates(np.asarray(acceleration, dtype=float))

    def step(self, count: int = 1) -> None:
        """Advance by `count` time steps under the present reference."""
        self._follow_scene()
        model, data, physics = self.physics.model, self.data, self.physics
        for _ in range(count):
            forward = physics.kv * self._rate
            if self.feed_forward:
                wanted, torque = np.zeros(model.nv), np.zeros(model.nv)
                wanted[physics.velocities] = self._push
                self._mujoco.mj_mulM(model, data, torque, wanted)
                forward = forward + self.feed_forward * (torque + data.qfrc_bias)[physics.velocities]
            data.ctrl[:] = self._reference + forward / physics.kp
            self._mujoco.mj_step(model, data)
            if data.ncon:
                self._note_touches()

    def hold(self, item: str, link: str) -> None:
        """Weld a loose object to a link where it is now. This is a weld and not a grasp: the robot feels its weight and
        does not touch it."""
        if (item, link) not in self.physics.welds:
            raise InvalidInputError(
                f"{item!r} cannot be welded to {link!r}: name it in loose= and the link in grips= of the Simulation."
            )
        number = self.physics.welds[item, link]
        relative = inverse(self.pose(link)) @ self.pose(item)
        data = self.physics.model.eq_data[number]
        # anchor (in the object), position and orientation of the object in the link, torque scale
        data[:3], data[3:6], data[6:10], data[10] = 0.0, relative[:3, 3], wxyz(relative[:3, :3]), 1.0
        self.data.eq_active[number] = 1
        self._set_bits(item, HELD_BITS)

    def release(self, item: str) -> None:
        """Open all welds of a loose object."""
        for (name, _), number in self.physics.welds.items():
            if name == item:
                self.data.eq_active[number] = 0
        self._set_bits(item, WORLD_BITS)

    def take_over(self) -> None:
        """Write where the loose objects are into the scene; those attached to a link are left alone."""
        if self.scene is None:
            return
        for name in self.physics.loose:
            if name in self.scene and self.scene[name].link is None:
                self.scene.move(name, self.pose(name))
        self._version, self._world = self.scene.version, _world_objects(self.scene)

    def touching(self) -> set[tuple[str, str]]:
        """The pairs of names that touch now, each in alphabetical order."""
        return set(self._contacts())

    def render(self, width: int = 640, height: int = 480, *, camera: Mapping[str, Any] | None = None) -> np.ndarray:
        """A picture (height, width, 3). camera: lookat (3,), distance, azimuth, elevation (degrees)."""
        view = self._mujoco.MjvCamera()
        settings = {"lookat": (0.3, 0.0, 0.3), "distance": 2.0, "azimuth": 135.0, "elevation": -25.0, **(camera or {})}
        for key, value in settings.items():
            setattr(view, key, value)
        try:
            with self._mujoco.Renderer(self.physics.model, height, width) as renderer:
                renderer.update_scene(self.data, view)
                return renderer.render()
        except (RuntimeError, ImportError, AttributeError, self._mujoco.FatalError) as error:
            raise InvalidInputError(
                f"no picture can be made here: {error}. MuJoCo renders with EGL, OSMesa or a screen; see MUJOCO_GL."
            ) from None

    def _body(self, name: str) -> int:
        model = self.physics.model
        for label in (f"link {name}", f"object {name}"):
            number = self._mujoco.mj_name2id(model, self._mujoco.mjtObj.mjOBJ_BODY, label)
            if number >= 0:
                return number
        choices = (*self.robot.links, *(self.scene.names if self.scene is not None else ()))
        raise UnknownNameError("link or object", name, "the simulation", choices)

    def _set_bits(self, item: str, bits: tuple[int, int]) -> None:
        geoms = self.physics.model.geom_bodyid == self._body(item)
        self.physics.model.geom_contype[geoms], self.physics.model.geom_conaffinity[geoms] = bits

    def _contacts(self) -> dict[tuple[str, str], float]:
        """Pairs of names that touch, with the forces between them in newtons; objects that lie on others left out."""
        model, data, wrench = self.physics.model, self.data, np.zeros(6)
        found: dict[tuple[str, str], float] = {}
        geoms = data.contact.geom
        robots = model.geom_contype[geoms] == ROBOT_BITS[0]
        for number in np.flatnonzero(robots.any(axis=1) & (data.contact.dist <= 0.0)):
            self._mujoco.mj_contactForce(model, data, number, wrench)
            first, second = sorted(self._names[model.geom_bodyid[geom]] for geom in geoms[number])
            found[first, second] = found.get((first, second), 0.0) + float(np.linalg.norm(wrench[:3]))
        return found

    def _note_touches(self) -> None:
        now = self._contacts()
        for pair, force in now.items():
            touch = self._open.get(pair)
            if touch is None:
                touch = self._open[pair] = Touch(*pair, self.time, self.time, force)
                self.touches.append(touch)
            touch.end, touch.force = self.time, max(touch.force, force)
        for pair in [pair for pair in self._open if pair not in now]:
            del self._open[pair]

    def _follow_scene(self) -> None:
        """Objects that the scene gained, moved or lost appear, move or vanish; the robot's state is kept."""
        if self.scene is None or self.scene.version == self._version:
            return
        world = _world_objects(self.scene)
        self._version = self.scene.version
        loose = set(self.physics.loose)
        now, before = ({k: item for k, item in each.items() if k not in loose} for each in (world, self._world))
        self._world = world
        if now != before:
            self._rebuild(now)

    def _rebuild(self, still: Mapping[str, SceneObject]) -> None:
        """The same state in a model with other fixed objects. Loose ones that are attached now stay loose here."""
        old, old_data, q, velocity = self.physics, self.data, self.q, self.velocity
        around = Scene(still.values())
        for name in old.loose:
            assert self.scene is not None
            around.add(name, self.scene[name].shape, self.pose(name))
        self._set_model(around, q)
        self.data.time = old_data.time
        self.data.qpos[self.physics.positions] = self.physics.axis_values(q)
        self.data.qvel[self.physics.velocities] = self.physics.axis_rates(velocity)
        for key, number in self.physics.welds.items():
            self.data.eq_active[number] = old_data.eq_active[old.welds[key]]
            self.physics.model.eq_data[number] = old.model.eq_data[old.welds[key]]
            if self.data.eq_active[number]:
                self._set_bits(key[0], HELD_BITS)
        self._mujoco.mj_forward(self.physics.model, self.data)


def _world_objects(scene: Scene | None) -> dict[str, SceneObject]:
    return {} if scene is None else {item.name: item for item in scene.world_objects}
