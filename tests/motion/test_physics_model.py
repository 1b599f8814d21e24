"""Robots under physics against closed forms: masses, servos, ties, pendulums, welds; and a scene that changes."""

from __future__ import annotations

import numpy as np
import pytest

import memetik as mk
from memetik.errors import InvalidInputError, MissingExtraError, UnknownNameError
from memetik.geometry.shapes import Box, Sphere
from memetik.motion.execution.physics_model import (
    DENSITY,
    LEAST_MASS,
    SPARE,
    STIFFNESS,
    build_model,
)
from memetik.motion.execution.physics_model import mujoco as load_mujoco
from memetik.motion.execution.simulation import Simulation
from memetik.robot.description import Description, Geometry, Inertial, Joint, Link, Mimic
from memetik.robot.robot import Robot

mujoco = pytest.importorskip("mujoco")
WITHOUT_WEIGHT = {"gravity": (0.0, 0.0, 0.0)}


def hinge(name: str, parent: str, child: str, **options) -> Joint:
    given = {"axis": (0.0, 1.0, 0.0), "lower": (-3.0,), "upper": (3.0,), "effort": (100.0,), **options}
    return Joint(name, "revolute", parent, child, **given)


def pendulum(**options) -> Robot:
    """A kilogram at half a metre below a horizontal axis."""
    bob = Link("bob", Inertial(1.0, (0.0, 0.0, -0.5), 1e-3 * np.eye(3)))
    return Robot(Description("pendulum", (Link("base"), bob), (hinge("swing", "base", "bob", **options),)))


def test_bodies_have_the_mass_and_the_inertia_of_their_links(turntable):
    model = build_model(turntable).model
    body = model.body("link table")
    assert body.mass[0] == pytest.approx(2.0)
    np.testing.assert_allclose(np.sort(body.inertia), [0.3, 0.3, 0.4], rtol=1e-9)


def test_a_link_without_inertia_weighs_what_its_shapes_do_and_a_note_says_so():
    links = (Link("base"), Link("bar", collisions=(Geometry(Box((0.1, 0.2, 0.5))),)), Link("bare"))
    joints = (hinge("turn", "base", "bar"), Joint("fix", "fixed", "bar", "bare"))
    physics = build_model(Robot(Description("unweighed", links, joints)))
    assert physics.model.body("link bar").mass[0] == pytest.approx(DENSITY * 0.01)
    assert physics.model.body("link bare").mass[0] == pytest.approx(LEAST_MASS)
    assert any("no inertia given" in note and "bar" in note for note in physics.notes)


def test_shapes_add_no_mass_where_the_inertia_is_given(elbow):
    assert build_model(elbow).model.body("link upper").mass[0] == pytest.approx(1.0)


def test_servos_are_critically_damped_at_their_stiffness(turntable):
    """force = kp (u - q) - kv dq/dt with kp = s^2 I, kv = 2 s I, the rotor's inertia counted in."""
    physics = build_model(turntable)
    inertia = 0.4 + physics.model.dof_armature[physics.velocities[0]]
    assert physics.kp[0] == pytest.approx(STIFFNESS**2 * inertia)
    assert physics.kv[0] == pytest.approx(2.0 * STIFFNESS * inertia)
    np.testing.assert_allclose(physics.model.actuator_gainprm[0, 0], physics.kp[0])
    np.testing.assert_allclose(physics.model.actuator_biasprm[0, 1:3], [-physics.kp[0], -physics.kv[0]])


def test_a_servo_returns_like_a_critically_damped_oscillator(turntable):
    """q(t) = q0 (1 + s t) exp(-s t)."""
    strong = turntable.with_limits({"turn": {"effort": 1e6}})
    simulation = Simulation(strong, q=[0.01], feed_forward=0.0, timestep=2e-5)
    simulation.command(np.zeros(1))
    for _ in range(5):
        simulation.step(100)
        t = simulation.time
        expected = 0.01 * (1.0 + STIFFNESS * t) * np.exp(-STIFFNESS * t)
        assert simulation.q[0] == pytest.approx(expected, abs=1e-4)


def test_with_feed_forward_the_arm_holds_its_weight_and_without_it_sags():
    robot = pendulum()
    out = np.array([np.pi / 2.0])
    for share, least, most in ((1.0, 0.0, 1e-5), (0.0, 1e-4, 0.1)):
        simulation = Simulation(robot, q=out, feed_forward=share)
        simulation.step(400)
        sag = abs(simulation.q[0] - out[0])
        assert least <= sag <= most
        if share == 0.0:
            torque = 1.0 * 9.81 * 0.5
            assert sag == pytest.approx(torque / simulation.physics.kp[0], rel=0.05)


def test_gravity_points_where_it_is_told_to():
    robot = pendulum()
    physics = build_model(robot, gravity=(0.0, 0.0, 9.81))
    np.testing.assert_allclose(physics.model.opt.gravity, [0.0, 0.0, 9.81])
    simulation = Simulation(robot, q=[0.3], feed_forward=0.0, **WITHOUT_WEIGHT)
    simulation.step(200)
    assert simulation.q[0] == pytest.approx(0.3, abs=1e-9)


def test_a_reference_is_followed_with_its_velocity_and_acceleration(turntable):
    simulation = Simulation(turntable, q=[0.0])
    worst = 0.0
    for k in range(500):
        t = k * simulation.timestep
        simulation.command([0.5 * np.sin(2.0 * t)], [np.cos(2.0 * t)], [-2.0 * np.sin(2.0 * t)])
        if k > 100:
            worst = max(worst, abs(simulation.q[0] - 0.5 * np.sin(2.0 * t)))
        simulation.step()
    assert worst < 5e-3
    assert simulation.velocity[0] == pytest.approx(np.cos(2.0 * simulation.time), rel=0.05)


def test_an_effort_that_cannot_hold_the_arm_is_raised_and_a_note_says_so():
    """The weight is 4.9 newton metres; 1.5 times that are needed at least."""
    enough, weak = build_model(pendulum(effort=(8.0,))), build_model(pendulum(effort=(6.0,)))
    assert enough.effort[0] == 8.0
    assert not enough.notes
    assert weak.effort[0] > SPARE * 4.9
    assert any("too weak" in note and "swing" in note for note in weak.notes)
    np.testing.assert_allclose(enough.model.actuator_forcerange, [[-8.0, 8.0]])


def test_a_motor_that_gives_all_it_can_is_saturated(turntable):
    simulation = Simulation(turntable.with_limits({"turn": {"effort": 1.0}}), q=[0.0])
    simulation.step()
    assert not simulation.saturated.any()
    simulation.command([1.0])
    simulation.step()
    assert simulation.saturated.all()


def geared() -> Robot:
    """A joint, and one that follows it: value = -2 q + 0.3."""
    links = (Link("base"), *(Link(name, Inertial(1.0, inertia=0.01 * np.eye(3))) for name in ("one", "two")))
    follower = Joint(
        "second",
        "revolute",
        "base",
        "two",
        axis=(0.0, 0.0, 1.0),
        lower=(-3.0,),
        upper=(3.0,),
        mimic=Mimic("first", -2.0, 0.3),
    )
    return Robot(Description("geared", links, (hinge("first", "base", "one", axis=(0.0, 0.0, 1.0)), follower)))


def test_joints_that_mimic_others_are_tied_to_them():
    robot = geared()
    assert robot.dof == 1
    simulation = Simulation(robot, q=[0.2])
    simulation.command([0.8])
    simulation.step(1000)
    assert simulation.q[0] == pytest.approx(0.8, abs=2e-3)
    for link in ("one", "two"):
        np.testing.assert_allclose(simulation.pose(link), robot.pose(link, [0.8]), atol=5e-3)


def test_both_fingers_of_a_hand_close(panda):
    simulation = Simulation(panda, q=panda.q({"panda_finger_joint1": 0.04}, panda.state("ready")))
    closed = panda.q({"panda_finger_joint1": 0.01}, panda.state("ready"))
    simulation.command(closed)
    simulation.step(500)
    for finger in ("panda_leftfinger", "panda_rightfinger"):
        np.testing.assert_allclose(simulation.pose(finger), panda.pose(finger, closed), atol=3e-3)


def test_values_and_rates_of_all_axes_follow_from_q():
    physics = build_model(geared())
    np.testing.assert_allclose(sorted(physics.axis_values(np.array([0.5]))), [-0.7, 0.5])
    np.testing.assert_allclose(sorted(physics.axis_rates(np.array([1.0]))), [-2.0, 1.0])


def test_standing_still_again_keeps_time_and_forgets_velocities(turntable):
    simulation = Simulation(turntable, q=[0.0])
    simulation.command([1.0])
    simulation.step(50)
    time = simulation.time
    simulation.reset([0.5])
    assert (simulation.q[0], simulation.velocity[0], simulation.time) == (0.5, 0.0, time)
    simulation.step(100)
    assert simulation.q[0] == pytest.approx(0.5, abs=1e-6)


def table_scene() -> mk.Scene:
    scene = mk.Scene()
    scene.add_box("table", (1.0, 1.0, 0.1), mk.transform((0.0, 0.0, -0.55)))
    scene.add_box("cube", (0.1, 0.1, 0.1), mk.transform((0.3, 0.3, -0.44)))
    return scene


def test_what_is_loose_falls_and_what_is_not_stays(turntable):
    scene = table_scene()
    scene.add_box("shelf", (0.2, 0.2, 0.02), mk.transform((-0.3, -0.3, 0.2)))
    simulation = Simulation(turntable, scene, loose=["cube"])
    simulation.step(300)
    assert simulation.pose("cube")[2, 3] == pytest.approx(-0.45, abs=2e-3)
    np.testing.assert_allclose(simulation.pose("shelf"), scene["shelf"].pose, atol=1e-12)
    assert scene["cube"].pose[2, 3] == -0.44  # until it is taken over
    simulation.take_over()
    assert scene["cube"].pose[2, 3] == pytest.approx(simulation.pose("cube")[2, 3])


@pytest.mark.parametrize(("masses", "expected"), [({}, DENSITY * 1e-3), ({"cube": 2.5}, 2.5)])
def test_loose_objects_weigh_what_is_given_or_what_wood_does(turntable, masses, expected):
    physics = build_model(turntable, table_scene(), loose=["cube"], masses=masses)
    assert physics.model.body("object cube").mass[0] == pytest.approx(expected)


def test_a_held_object_goes_with_the_link_and_a_released_one_falls(gantry):
    scene = mk.Scene()
    scene.add_sphere("load", 0.03, mk.transform((0.0, 0.0, -0.2)))
    simulation = Simulation(gantry, scene, q=[0.0, 0.0], loose=["load"], grips=["ball"], masses={"load": 0.1})
    simulation.hold("load", "ball")
    simulation.command([0.0, 0.0])
    simulation.step(200)
    np.testing.assert_allclose(simulation.pose("load")[:3, 3], [0.0, 0.0, -0.2], atol=2e-3)
    for share in np.linspace(0.0, 1.0, 400):
        simulation.command([0.5 * share, 0.0])
        simulation.step()
    simulation.step(300)
    np.testing.assert_allclose(simulation.pose("load")[:3, 3], [0.5, 0.0, -0.2], atol=5e-3)
    simulation.release("load")
    simulation.step(100)
    assert simulation.pose("load")[2, 3] < -0.3


def test_only_what_was_named_can_be_held(gantry):
    scene = mk.Scene()
    scene.add_sphere("load", 0.03, mk.transform((0.0, 0.0, -0.2)))
    simulation = Simulation(gantry, scene, loose=["load"], grips=["ball"])
    with pytest.raises(InvalidInputError, match="name it in loose= and the link in grips="):
        simulation.hold("load", "bridge")
    with pytest.raises(UnknownNameError, match="ghost"):
        Simulation(gantry, scene, loose=["ghost"])
    with pytest.raises(UnknownNameError, match="hook"):
        Simulation(gantry, scene, loose=["load"], grips=["hook"])


def test_a_plane_cannot_be_loose(gantry):
    scene = mk.Scene()
    scene.add_plane("floor", offset=-1.0)
    with pytest.raises(InvalidInputError, match="'floor' is a plane"):
        build_model(gantry, scene, loose=["floor"])


def test_contacts_are_noted_with_names_times_and_forces(gantry):
    scene = mk.Scene()
    scene.add_box("wall", (0.1, 1.0, 1.0), mk.transform((0.3, 0.0, 0.0)))
    simulation = Simulation(gantry, scene, q=[0.0, 0.0])
    for k in range(400):
        simulation.command([min(0.21, 0.001 * k), 0.0])
        simulation.step()
    assert simulation.touching() == {("ball", "wall")}
    (touch,) = simulation.touches
    assert (touch.first, touch.second) == ("ball", "wall")
    assert 0.35 < touch.begin < 0.45  # at 0.2 m, half a metre a second
    assert touch.end == pytest.approx(simulation.time)
    assert touch.force > 1.0
    assert simulation.q[0] < 0.206
    for _ in range(200):
        simulation.command([0.0, 0.0])
        simulation.step()
    assert not simulation.touching()
    assert touch.end < simulation.time - 0.1


def test_links_that_overlap_at_the_start_do_not_push_and_a_note_says_so(gantry):
    scene = mk.Scene()
    scene.add_box("cradle", (0.2, 0.2, 0.2), mk.transform((0.0, 0.0, 0.0)))
    simulation = Simulation(gantry, scene, q=[0.0, 0.0])
    assert any("overlap at the start" in note and "cradle" in note for note in simulation.notes)
    simulation.step(100)
    np.testing.assert_allclose(simulation.q, 0.0, atol=1e-6)


def test_a_scene_that_changes_keeps_the_motion_and_the_held_object(gantry):
    scene = mk.Scene()
    scene.add_sphere("load", 0.03, mk.transform((0.0, 0.0, -0.2)))
    simulation = Simulation(gantry, scene, q=[0.0, 0.0], loose=["load"], grips=["ball"], masses={"load": 0.1})
    simulation.hold("load", "ball")
    for k in range(100):
        simulation.command([0.001 * k, 0.0], [0.5, 0.0])
        simulation.step()
    time, q, velocity = simulation.time, simulation.q, simulation.velocity
    scene.add_box("late", (0.1, 0.1, 0.1), mk.transform((1.5, 1.5, 0.0)))
    simulation.command([0.1, 0.0], [0.5, 0.0])
    simulation.step()
    assert simulation.time == pytest.approx(time + simulation.timestep)
    np.testing.assert_allclose(simulation.q, q + velocity * simulation.timestep, atol=1e-4)
    np.testing.assert_allclose(simulation.velocity, velocity, atol=0.05)
    simulation.step(100)
    assert simulation.pose("load")[2, 3] == pytest.approx(-0.2, abs=5e-3)
    scene.move("late", mk.transform((1.5, -1.5, 0.0)))
    simulation.step()
    np.testing.assert_allclose(simulation.pose("late")[:3, 3], [1.5, -1.5, 0.0])


def test_names_that_are_not_there_are_refused(turntable):
    with pytest.raises(UnknownNameError, match="tabel"):
        Simulation(turntable).pose("tabel")


def test_without_the_package_its_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "mujoco", None)
    with pytest.raises(MissingExtraError, match="motion"):
        load_mujoco()


def test_attached_objects_weigh_on_the_link_that_carries_them(gantry):
    scene = mk.Scene()
    scene.add("load", Sphere(0.1), mk.transform((0.0, 0.0, 0.0)))
    before = build_model(gantry, mk.Scene()).model.body("link ball").mass[0]
    scene.attach("load", link="ball", pose=mk.transform((0.0, 0.0, -0.2)))
    after = build_model(gantry, scene).model
    assert "object load" not in [after.body(k).name for k in range(after.nbody)]
    geoms = [k for k in range(after.ngeom) if after.body(after.geom_bodyid[k]).name == "link ball"]
    assert len(geoms) == 2
    assert before == pytest.approx(1.0)
