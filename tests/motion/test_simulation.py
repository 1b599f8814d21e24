"""Robots under physics: geometry against Pinocchio, weight against closed forms, tracking against the trajectory."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

import memetik as mk
from memetik.geometry.transforms import rotation_log
from memetik.motion.execution.driver import SimulatedDriver
from memetik.motion.execution.execute import execute
from memetik.motion.execution.physics_model import build_model
from memetik.motion.execution.simulation import Simulation
from memetik.motion.timing.rest_segments import straight

mujoco = pytest.importorskip("mujoco")
pin = pytest.importorskip("pinocchio")


@pytest.mark.parametrize("name", ["panda", "pr2", "shadow_hand"])
def test_links_are_where_pinocchio_has_them(name):
    robot = mk.load_robot(name)
    model = pin.buildModelFromXML(robot.to_urdf())
    data = model.createData()
    simulation = Simulation(robot)
    for q in robot.random(1, 5):
        simulation.reset(q)
        values = robot.joints(q, mimic=True)
        full = pin.neutral(model)
        for joint, joint_name in zip(model.joints[1:], list(model.names)[1:], strict=True):
            value = values[joint_name]
            full[joint.idx_q : joint.idx_q + joint.nq] = [np.cos(value), np.sin(value)] if joint.nq == 2 else [value]
        pin.framesForwardKinematics(model, data, full)
        for link in robot.links:
            expected = data.oMf[model.getFrameId(link)].homogeneous
            np.testing.assert_allclose(simulation.pose(link), robot.base_pose @ expected, atol=1e-6)


def test_weight_and_inertia_are_those_of_pinocchio():
    robot = mk.load_robot("ur10")
    model = pin.buildModelFromXML(robot.to_urdf())
    data = model.createData()
    physics = build_model(robot)
    state = mujoco.MjData(physics.model)
    for q in robot.random(2, 5):
        state.qpos[physics.positions] = physics.axis_values(q)
        mujoco.mj_forward(physics.model, state)
        expected = pin.computeGeneralizedGravity(model, data, q)
        np.testing.assert_allclose(state.qfrc_bias[physics.velocities], expected, atol=0.02, rtol=1e-3)


@pytest.mark.parametrize(("name", "share"), [("panda", 1.0), ("ur10", 1.0), ("panda", 0.9), ("ur10", 0.9)])
def test_the_tool_ends_within_two_millimetres_and_half_a_degree(name, share):
    robot = mk.load_robot(name)
    collision = mk.CollisionModel(robot)
    rng = np.random.default_rng(5)
    start = robot.state("ready")
    simulation = Simulation(robot, q=start, feed_forward=share)
    driver = SimulatedDriver(simulation)
    reached = 0
    while reached < 3:
        goal = robot.random(rng)
        postures = start + np.linspace(0, 1, 200)[:, None] * (goal - start)
        if collision.collides(postures).any():
            continue
        way = straight(robot.joint_names, start, goal, (robot.velocity, robot.acceleration))
        report = execute(way, driver, background=False, goal_tolerance=5e-3).result()
        assert report.success, report.explain()
        found, wanted = simulation.pose(robot.tip), robot.pose(robot.tip, goal)
        assert np.linalg.norm(found[:3, 3] - wanted[:3, 3]) < 2e-3
        assert np.linalg.norm(rotation_log(wanted[:3, :3].T @ found[:3, :3])) < np.radians(0.5)
        start = goal
        driver.simulation.reset(goal)
        reached += 1


def test_a_wall_is_felt():
    robot = mk.load_robot("ur5")
    start = robot.state("ready")
    goal = start + np.array([1.2, 0, 0, 0, 0, 0])
    scene = mk.Scene()
    half = robot.pose("wrist_3_link", start + 0.5 * (goal - start))
    scene.add_box("wall", (0.05, 0.05, 0.6), mk.transform(half[:3, 3]))
    simulation = Simulation(robot, scene, q=start)
    driver = SimulatedDriver(simulation)
    way = straight(robot.joint_names, start, goal, (robot.velocity, robot.acceleration))
    report = execute(way, driver, background=False, recoveries=0).result()
    assert not report.success
    assert report.reason == "left the way"
    assert report.at_rest
    assert any("wall" in (touch.first, touch.second) and touch.force > 1.0 for touch in simulation.touches)


def test_what_appears_in_the_scene_appears_under_physics():
    robot = mk.load_robot("ur5")
    scene = mk.Scene()
    simulation = Simulation(robot, scene, q=robot.state("ready"))
    simulation.step(10)
    before = simulation.q
    scene.add_box("crate", (0.2, 0.2, 0.2), mk.transform((1.5, 0.0, 0.1)))
    simulation.step(10)
    np.testing.assert_allclose(simulation.pose("crate")[:3, 3], (1.5, 0.0, 0.1))
    np.testing.assert_allclose(simulation.q, before, atol=1e-6)
    scene.remove("crate")
    simulation.step()
    with pytest.raises(mk.UnknownNameError):
        simulation.pose("crate")


def test_loose_objects_fall_and_lie():
    scene = mk.Scene()
    scene.add_plane("floor")
    scene.add_box("cube", (0.04, 0.04, 0.04), mk.transform((0.8, 0.3, 0.1)))
    robot = mk.load_robot("ur5").at(mk.transform((0, 0, 0.02)))
    simulation = Simulation(robot, scene, q=robot.state("ready"), loose=["cube"])
    height = simulation.pose("cube")[2, 3]
    simulation.step(20)
    fallen = height - simulation.pose("cube")[2, 3]
    assert fallen == pytest.approx(0.5 * 9.81 * simulation.time**2, rel=0.1)
    simulation.step(500)
    assert simulation.pose("cube")[2, 3] == pytest.approx(0.02, abs=1e-3)
    simulation.take_over()
    np.testing.assert_allclose(scene["cube"].pose, simulation.pose("cube"), atol=1e-12)


def test_a_weld_carries_an_object():
    scene = mk.Scene()
    robot = mk.load_robot("ur5")
    start = robot.state("ready")
    tool = robot.pose("tool0", start)
    scene.add_sphere("ball", 0.02, tool @ mk.transform((0, 0, 0.03)))
    simulation = Simulation(robot, scene, q=start, loose=["ball"], grips=["tool0"])
    simulation.hold("ball", "tool0")
    driver = SimulatedDriver(simulation)
    goal = start + np.array([0.8, 0, 0, 0, 0.3, 0])
    way = straight(robot.joint_names, start, goal, (robot.velocity, robot.acceleration))
    execute(way, driver, background=False).result()
    expected = robot.pose("tool0", goal) @ mk.transform((0, 0, 0.03))
    np.testing.assert_allclose(simulation.pose("ball")[:3, 3], expected[:3, 3], atol=2e-3)
    simulation.release("ball")
    simulation.step(100)
    assert simulation.pose("ball")[2, 3] < expected[2, 3] - 0.05


def test_every_shape_of_a_scene_has_a_place_under_physics():
    scene = mk.Scene()
    scene.add_plane("floor", offset=-1.0)
    scene.add_cone("cone", 0.1, 0.2, mk.transform((2, 0, 0)))
    scene.add_heightmap("ground", np.random.default_rng(0).uniform(0, 0.1, (6, 5)), (1.0, 1.0), mk.transform((3, 0, 0)))
    scene.add_points("cloud", np.eye(3), 0.05, mk.transform((4, 0, 0)))
    occupied = np.zeros((4, 3, 3), dtype=bool)
    occupied[1:3, 1, 1] = occupied[0, 0, 0] = True
    scene.add_voxels("cells", occupied, 0.1, mk.transform((5, 0, 0)))
    box = trimesh.creation.box((0.4, 0.4, 0.4))
    keep = box.face_normals[:, 2] < 0.5  # open at the top: its hull would fill it
    scene.add_mesh("open box", trimesh.Trimesh(box.vertices, box.faces[keep]), mk.transform((6, 0, 0)))
    scene.add_sphere("drop", 0.02, mk.transform((6, 0, 0.3)))
    simulation = Simulation(mk.load_robot("ur5"), scene, loose=["drop"])
    simulation.step(400)
    assert simulation.pose("drop")[2, 3] == pytest.approx(-0.18, abs=5e-3)
