"""Trackers among obstacles: they slide, brake in time, and are themselves where nothing is in the way."""

from __future__ import annotations

import numpy as np
import pytest

import memetik as mk
from memetik.geometry.shapes import Sphere
from memetik.robot.description import Description, Geometry, Joint, Link

DT = 0.005


def gantry() -> mk.Robot:
    """Slides along x and y that carry a ball of 0.05 m: q is where the ball is."""

    def slide(name: str, parent: str, child: str, axis: tuple[float, float, float]) -> Joint:
        return Joint(name, "prismatic", parent, child, axis=axis, lower=(-2.0,), upper=(2.0,), velocity=(1.0,),
                     acceleration=(2.0,))  # fmt: skip

    links = (Link("frame"), Link("bridge"), Link("ball", collisions=(Geometry(Sphere(0.05)),)))
    joints = (slide("x", "frame", "bridge", (1.0, 0.0, 0.0)), slide("y", "bridge", "ball", (0.0, 1.0, 0.0)))
    return mk.Robot(Description("gantry", links, joints))


def tracker(scene: mk.Scene, start=(-1.0, 0.0), margin: float = 0.0, **options) -> mk.Tracker:
    problem = mk.Problem(gantry(), [mk.Position("ball")], scene=scene, margin=margin)
    return mk.Tracker(problem, seed=start, dt=DT, **options)


def walled() -> mk.Scene:
    scene = mk.Scene()
    scene.add_box("wall", (0.2, 3.0, 0.2), mk.transform((0.2, 0.0, 0.0)))  # its face is at x = 0.1
    return scene


def test_a_target_behind_a_wall_is_followed_along_the_wall():
    moves = tracker(walled(), margin=0.01)
    obstacles = set()
    for _ in range(1200):
        step = moves.step([0.8, 0.7, 0.0])
        obstacles.add(step.obstacle)
        assert step.q[0] <= 0.1 - 0.05 - 0.01 + 1e-9
    assert step.q[1] == pytest.approx(0.7, abs=0.01)  # slid to where it is nearest
    assert step.q[0] > 0.03  # as near to the wall as it may
    assert ("ball", "wall") in obstacles


def test_the_limits_hold_while_it_slides_and_brakes():
    moves, rng = tracker(walled()), np.random.default_rng(0)
    last = np.zeros(2)
    for k in range(2000):
        if k % 100 == 0:
            target = [*rng.uniform(-1.5, 1.5, 2), 0.0]
        step = moves.step(target)
        assert (np.abs(step.velocity) <= 1.0 + 1e-9).all()
        assert (np.abs(step.velocity - last) <= 2.0 * DT + 1e-9).all()
        assert step.q[0] < 0.05
        last = step.velocity


def test_at_full_speed_it_stops_short_of_what_stands():
    """From full speed a joint needs 0.25 m to stop."""
    moves = tracker(walled(), start=(-1.8, 0.0))
    speeds = [moves.step([1.8, 0.0, 0.0]).velocity[0] for _ in range(1200)]
    assert max(speeds) > 0.85
    assert 0.04 < moves.q[0] < 0.05


@pytest.mark.parametrize("speed", [0.3, 1.0])
def test_what_moves_as_fast_as_was_said_touches_a_robot_at_rest_only(speed):
    scene, rng = mk.Scene(), np.random.default_rng(4)
    scene.add_sphere("fly", 0.1, mk.transform((1.0, 0.0, 0.0)))
    moves = tracker(scene, obstacle_speed={"fly": speed})
    touched_at_rest = moved = 0
    for k in range(4000):
        if k % 150 == 0:
            target = [*rng.uniform(-1.0, 1.0, 2), 0.0]
        step = moves.step(target)
        at = scene["fly"].pose[:3, 3]
        way = np.array([*step.q, 0.0]) - at  # it hunts the robot
        at = at + speed * DT * way / max(np.linalg.norm(way), 1e-9)
        if k % 1000 > 800:  # and lets go of it now and then
            at = at - 2.0 * speed * DT * way / max(np.linalg.norm(way), 1e-9)
        scene.move("fly", mk.transform(at))
        touches = np.linalg.norm(at[:2] - step.q) <= 0.15
        moving = np.abs(step.velocity).max() > 0.0
        assert not (touches and moving)
        touched_at_rest, moved = touched_at_rest + touches, moved + moving
    assert touched_at_rest > 0  # it was caught, but at rest
    assert moved > 200


def test_where_nothing_is_in_the_way_steps_are_those_of_a_free_tracker():
    robot = mk.load_robot("panda")
    scene = mk.Scene()
    scene.add_box("far", (0.2, 0.2, 0.2), mk.transform((3.0, 3.0, 3.0)))
    start = robot.state("ready")
    pair = [
        mk.Tracker(mk.Problem(robot, [mk.Pose("panda_hand")], **world), seed=start, dt=0.004)
        for world in ({}, {"scene": scene, "self_collision": True, "margin": 0.01})
    ]
    home = robot.pose("panda_hand", start)
    for k in range(400):
        target = mk.transform((0.1 * np.sin(0.02 * k), 0.1 - 0.1 * np.cos(0.02 * k), 0.0)) @ home
        first, second = (own.step(target) for own in pair)
        assert np.array_equal(first.q, second.q)
        assert second.obstacle is None


def test_an_arm_among_obstacles_never_touches_by_exact_geometry():
    pytest.importorskip("coal")
    robot = mk.load_robot("panda")
    scene, rng = mk.Scene(), np.random.default_rng(2)
    scene.add_box("table", (1.0, 1.6, 0.1), mk.transform((0.75, 0.0, -0.06)))
    scene.add_cylinder("post", 0.05, 0.8, mk.transform((0.4, -0.45, 0.4)))
    scene.add_box("shelf", (0.4, 0.4, 0.02), mk.transform((0.5, 0.2, 0.35)))
    problem = mk.Problem(robot, [mk.Pose("panda_hand")], scene=scene, self_collision=True)
    moves = mk.Tracker(problem, seed=robot.state("ready"), dt=0.004)
    model, changed = mk.CollisionModel(robot, scene), 0
    for k in range(1500):
        if k % 150 == 0:
            target = robot.pose("panda_hand", robot.random(rng))
        elif k % 150 == 75:
            target = scene["shelf"].pose
        step = moves.step(target)
        changed += step.obstacle is not None
        assert not model.collides(step.q)
    assert changed > 50


def test_an_object_that_appears_and_goes_is_seen_at_the_next_step():
    scene = mk.Scene()
    moves = tracker(scene)
    for _ in range(20):
        moves.step([1.0, 0.0, 0.0])
    wall = scene.add_box("wall", (0.2, 3.0, 0.2), mk.transform((0.2, 0.0, 0.0)))
    for _ in range(1000):
        step = moves.step([1.0, 0.0, 0.0])
    assert step.q[0] < 0.05
    scene.remove(wall.name)
    for _ in range(1000):
        step = moves.step([1.0, 0.0, 0.0])
    assert step.within


def test_what_cannot_be_kept_off_is_said():
    class Checker:
        def collides(self, q):
            return False

    robot = gantry()
    with pytest.raises(mk.InvalidInputError, match=r"keeps off an mk\.Scene"):
        mk.Tracker(mk.Problem(robot, [mk.Position("ball")], scene=Checker()))
    with pytest.raises(mk.InvalidInputError, match="'ball' and 'wall' touch"):
        tracker(walled(), start=(0.06, 0.0))
    with pytest.raises(mk.UnknownNameError, match="'fly'"):
        tracker(walled(), obstacle_speed={"fly": 1.0})
    with pytest.raises(mk.InvalidInputError, match="metres per second"):
        tracker(walled(), obstacle_speed=-1.0)
    with pytest.raises(mk.InvalidInputError, match="'ball' and 'wall' touch"):
        tracker(walled()).reset((0.06, 0.0))
