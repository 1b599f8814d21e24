"""Motions: thin walls are not jumped, what is proved free is free, and the speeds are true bounds."""

import numpy as np
import pytest
import trimesh
from gantry import gantry

from memetik.collision.continuous import check_motion, pair_speeds
from memetik.collision.exact import CollisionModel
from memetik.errors import InvalidInputError
from memetik.geometry.shapes import Box, Capsule, Sphere
from memetik.geometry.transforms import transform
from memetik.robot.description import Description, Geometry, Joint, Link, Mimic
from memetik.robot.robot import Robot, load_robot
from memetik.scene.scene import Scene

pytest.importorskip("coal")


def at(x: float, y: float = 0.0, z: float = 0.0, turn: float = 0.0) -> np.ndarray:
    return np.array([x, y, z, 0.0, 0.0, turn])


@pytest.mark.parametrize("thickness", [1e-1, 1e-3, 1e-6])
def test_a_thin_wall_is_not_jumped(thickness):
    scene = Scene()
    scene.add_box("wall", (thickness, 1, 1), transform((0.1234, 0, 0)))
    model = CollisionModel(gantry(Sphere(0.01)), scene)
    assert not model.collides(np.stack([at(-2), at(2)])).any()
    found = check_motion(model, at(-2), at(2))
    assert not found
    assert found.pair == ("body", "wall")
    centre = -2 + 4 * found.collision
    assert abs(centre - 0.1234) < 0.01 + 0.5 * thickness + 2e-4


def test_a_sheet_without_thickness_is_not_jumped():
    sheet = trimesh.Trimesh([[0, -1, -1], [0, 1, -1], [0, 0, 2]], [[0, 1, 2]], process=False)
    scene = Scene()
    scene.add_mesh("sheet", sheet, solid=False)
    model = CollisionModel(gantry(Sphere(1e-3)), scene)
    assert not check_motion(model, at(-1), at(1))
    assert check_motion(model, at(-1), at(-0.1))


def test_a_narrow_gap_is_passed():
    scene = Scene()
    scene.add_box("left", (0.2, 1, 1), transform((0, 0.5 + 0.051, 0)))
    scene.add_box("right", (0.2, 1, 1), transform((0, -0.5 - 0.051, 0)))
    model = CollisionModel(gantry(Sphere(0.05)), scene)
    found = check_motion(model, at(-1), at(1))
    assert found.free
    assert found.collision is None
    assert found.pair is None
    assert not check_motion(model, at(-1, 0.002), at(1, 0.002))


def test_closer_than_the_tolerance_counts_as_touching():
    scene = Scene()
    scene.add_box("rail", (4, 0.1, 1), transform((0, 0.1, 0)))
    model = CollisionModel(gantry(Sphere(0.05)), scene)
    q0, q1 = at(-0.01, -1e-5), at(0.01, -1e-5)  # 1e-5 from the rail all the way
    assert not check_motion(model, q0, q1)
    assert check_motion(model, q0, q1, tolerance=1e-6)


def test_colliding_ends_are_told():
    scene = Scene()
    scene.add_box("wall", (0.1, 1, 1))
    model = CollisionModel(gantry(Sphere(0.05)), scene)
    assert check_motion(model, at(0), at(1)).collision == 0.0
    assert check_motion(model, at(1), at(0)).collision == 1.0


def test_a_turning_rod_meets_a_post():
    scene = Scene()
    scene.add_cylinder("post", 0.001, 1.0, transform((0.0, 0.4, 0.0)))
    rod = gantry(Capsule(0.005, 1.0), origin=transform(rpy=(0, np.pi / 2, 0)))
    model = CollisionModel(rod, scene)
    found = check_motion(model, at(0, turn=0.1), at(0, turn=3.0))
    assert not found
    assert 0.1 + 2.9 * found.collision == pytest.approx(np.pi / 2, abs=0.02)
    assert check_motion(model, at(0, turn=-1.5), at(0, turn=1.5))


def test_no_motion_and_no_obstacles_are_free():
    scene = Scene()
    model = CollisionModel(gantry(Sphere(0.05)), scene)
    assert check_motion(model, at(0), at(5)).free
    scene.add_box("wall", (0.1, 1, 1), transform((1, 0, 0)))
    assert check_motion(model, at(0), at(0)).free


def test_random_motions_proved_free_are_free_when_sampled_densely():
    robot = load_robot("panda")
    scene = Scene()
    scene.add_box("blade", (0.002, 0.6, 0.8), transform((0.5, 0, 0.6)))
    scene.add_plane("floor")
    model = CollisionModel(robot, scene)
    configurations = robot.random(1, 200)
    configurations = configurations[~model.collides(configurations)]
    free = hit = 0
    for start, end in zip(configurations[0:60:2], configurations[1:60:2], strict=True):
        end = start + 0.4 * (end - start)
        found = check_motion(model, start, end)
        sampled = model.collides(start + np.linspace(0, 1, 300)[:, None] * (end - start))
        if found:
            free += 1
            assert not sampled.any()
        else:
            hit += 1
            assert model.distance(start + found.collision * (end - start)) < 1e-4
    assert free > 5
    assert hit > 2


def test_the_speeds_bound_every_point_of_every_body():
    robot = load_robot("panda")
    scene = Scene()
    scene.add_sphere("far", 0.01, transform((9, 9, 9)))
    check_bounds(CollisionModel(robot, scene, self_collision=False), 12)


def odd_tree() -> Robot:
    """Slides, a spherical joint in swing and twist, a planar one, mimicry, and joints walked backwards."""
    box = (Geometry(Box((0.1, 0.2, 0.3)), transform((0.1, 0, 0.2))),)
    links = tuple(Link(name, collisions=box) for name in "abcdef")
    joints = (
        Joint("slide", "prismatic", "a", "b", transform((0.1, 0.2, 0.3)), (0, 0.6, 0.8), lower=(-1,), upper=(1,)),
        Joint("ball", "spherical", "b", "c", transform((0.3, 0, 0)), lower=(-2,) * 3, upper=(2,) * 3, swing_twist=True),
        Joint("follow", "revolute", "c", "d", transform((0, 0.2, 0)), (1, 0, 0), mimic=Mimic("slide", -2.0, 0.3)),
        Joint("flat", "planar", "d", "e", transform((0, 0, 0.1)), (0, 0, 1), lower=(-1,) * 3, upper=(1,) * 3),
        Joint(
            "hinge",
            "revolute",
            "e",
            "f",
            transform((0.2, 0.1, 0)),
            (0, 1, 0),
            (0.1, 0.1, 0.1),
            (-2,),
            (2,),
            reversed=True,
        ),
    )
    return Robot(Description("odd", links, joints))


def test_the_speeds_hold_for_every_kind_of_joint():
    scene = Scene()
    scene.add_sphere("far", 0.01, transform((9, 9, 9)))
    check_bounds(CollisionModel(odd_tree(), scene, allowed=(), self_collision=True), 5)


def check_bounds(model: CollisionModel, motions: int) -> None:
    """Points of the first body seen from the second must not move faster than the pair's bound."""
    configurations = model.robot.random(2, 2 * motions)
    layout = model.layout
    times = np.linspace(0, 1, 150)
    tightest = 0.0
    for start, end in zip(configurations[::2], configurations[1::2], strict=True):
        speeds = pair_speeds(model, start, end)
        poses = model._poses(layout, start + times[:, None] * (end - start))
        for pair, (a, b) in enumerate(zip(layout.first, layout.second, strict=True)):
            points = layout.bodies[a].geometry.probes[::9]
            world = np.einsum("tij,pj->tpi", poses[:, a, :3, :3], points) + poses[:, a, None, :3, 3]
            if b < layout.moving:
                # The rate at which points of both bodies approach: difference of their velocities at the nearest ones.
                other = np.einsum("tij,pj->tpi", poses[:, b, :3, :3], layout.bodies[b].geometry.probes[::9])
                other += poses[:, b, None, :3, 3]
                gaps = np.linalg.norm(world[:, :, None] - other[:, None], axis=3)
                speed = np.abs(np.diff(gaps, axis=0)).max() * (len(times) - 1)
            else:
                speed = np.linalg.norm(np.diff(world, axis=0), axis=2).max() * (len(times) - 1)
            assert speed <= speeds[pair] * (1.0 + 1e-9) + 1e-9
            tightest = max(tightest, speed / max(speeds[pair], 1e-12))
    assert tightest > 0.4  # a bound that is never approached would be of little use


def test_an_impossible_tolerance_is_refused():
    model = CollisionModel(gantry(Sphere(0.05)))
    with pytest.raises(InvalidInputError, match="tolerance"):
        check_motion(model, at(0), at(1), tolerance=0.0)
    with pytest.raises(InvalidInputError, match="one configuration"):
        check_motion(model, np.zeros((2, 6)), at(1))


def test_work_is_bounded_and_what_is_not_proved_is_not_free():
    scene = Scene()
    scene.add_box("rail", (40, 0.1, 1), transform((0, 0.1, 0)))
    model = CollisionModel(gantry(Sphere(0.05)), scene)
    found = check_motion(model, at(-1, -1e-3), at(1, -1e-3), most_checks=50)
    assert not found
    assert found.checks <= 52
