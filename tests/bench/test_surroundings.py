"""Surroundings made by code: dimensions, volumes against closed forms, targets on surfaces."""

import math

import numpy as np
import pytest

from memetik.bench.scenarios.surroundings import (
    MOVED_TANK_POSE,
    SURROUNDINGS,
    allow_touch,
    barrel,
    corridor,
    hydrogen_tank,
    hydrogen_tank_small,
    make_surroundings,
    revolve,
    shelf,
    small_table,
    table,
    table_objects,
)
from memetik.errors import InvalidInputError, UnknownNameError
from memetik.geometry.closed_surface import InsideTest, analyse
from memetik.geometry.shapes import Sphere
from memetik.geometry.surface_points import surface_frames
from memetik.geometry.transforms import inverse, transform
from memetik.robot.description import Description, Geometry, Joint, Link
from memetik.robot.robot import Robot
from memetik.scene.scene import Scene


def tank_volume(mouth: float) -> float:
    """The smooth tank: two concentric capsules, one within the other, a neck around the hole."""
    radius, cavity, straight, neck_radius = 0.083, 0.043, 1.091 - 2 * 0.083, 0.5 * mouth + 0.01
    mouth = 0.5 * mouth
    outer = math.pi * radius**2 * straight + 4 / 3 * math.pi * radius**3
    inner = math.pi * cavity**2 * straight + 4 / 3 * math.pi * cavity**3

    def cap(ball: float, hole: float) -> float:
        """What a hole of radius `hole` along the axis cuts off a ball's end."""
        height = ball - math.sqrt(ball**2 - hole**2)
        return math.pi * height**2 * (ball - height / 3)

    neck = math.pi * neck_radius**2 * (0.086 - math.sqrt(radius**2 - neck_radius**2)) - cap(radius, neck_radius)
    hole = math.pi * mouth**2 * (0.086 - math.sqrt(cavity**2 - mouth**2)) - cap(cavity, mouth)
    return outer - inner + neck - hole


@pytest.mark.parametrize(("make", "mouth"), [(hydrogen_tank, 0.07), (hydrogen_tank_small, 0.035)])
def test_the_tank_is_a_closed_solid_of_the_stated_dimensions(make, mouth):
    mesh = make(count=1).scene["tank"].shape
    surface = analyse(mesh)
    assert surface.closed.tolist() == [True]
    assert surface.rewound == 0
    assert surface.lidded == 0
    assert 4400 <= len(mesh.faces) <= 4600
    assert np.allclose(mesh.bounds[:, 1] + 1.0, (1.0, 2.094))
    assert np.allclose(mesh.bounds[:, [0, 2]], [[-0.083] * 2, [0.083] * 2], atol=1e-3)
    # A polygon of n corners has n/(2 pi) sin(2 pi/n) of the circle's area; the arcs are a little flat besides.
    facets = 36 / (2 * math.pi) * math.sin(2 * math.pi / 36)
    assert mesh.volume == pytest.approx(tank_volume(mouth) * facets, rel=3e-3)


def test_the_tank_has_its_cavity_wall_and_mouth_where_they_should_be():
    tank = hydrogen_tank(count=1)
    inside = InsideTest(analyse(tank.scene["tank"].shape).boundary)

    def solid(y: float, radius: float) -> bool:
        point = np.array([radius * math.cos(0.3), y, 0.5 + radius * math.sin(0.3)])
        return inside.contains(inverse(tank.scene["tank"].pose)[:3, :3] @ (point - tank.scene["tank"].pose[:3, 3]))

    assert not solid(1.5, 0.0)
    assert not solid(1.5, 0.042)
    assert solid(1.5, 0.0435)
    assert solid(1.5, 0.0815)
    assert not solid(1.5, 0.0835)
    assert not solid(2.053, 0.0)
    assert solid(2.055, 0.0)
    assert solid(2.093, 0.0)
    assert not solid(1.0005, 0.034)
    assert solid(1.0005, 0.036)
    assert not solid(0.9995, 0.036)
    assert not solid(1.03, 0.034)
    assert solid(1.03, 0.036)


def test_the_small_mouth_is_half_as_wide():
    small = InsideTest(analyse(hydrogen_tank_small(count=1).scene["tank"].shape).boundary)
    assert small.contains(np.array([0.018, 0.02, 0.0]))
    assert not small.contains(np.array([0.017, 0.02, 0.0]))
    assert not small.contains(np.array([0.042, 0.2, 0.0]))


def check_frames(targets: np.ndarray, normals: np.ndarray) -> None:
    assert np.allclose(targets[:, :3, 2], -normals)
    assert np.allclose(np.swapaxes(targets[:, :3, :3], 1, 2) @ targets[:, :3, :3], np.eye(3))
    assert np.allclose(np.linalg.det(targets), 1.0)
    assert np.allclose(np.linalg.norm(normals, axis=1), 1.0)


def test_tank_targets_lie_on_the_inner_wall_between_the_stated_depths():
    tank = hydrogen_tank()
    points, normals = tank.metadata["points"], tank.metadata["normals"]
    assert tank.targets.shape == (1000, 4, 4)
    assert 1.08 <= points[:, 1].min() < 1.085
    assert 1.475 < points[:, 1].max() <= 1.48
    radial = points - (0, 1, 0.5)
    radial[:, 1] = 0.0
    assert (np.einsum("ij,ij->i", radial, normals) < 0.0).all()
    assert np.allclose(np.linalg.norm(radial, axis=1), 0.0428, atol=6e-4)
    check_frames(tank.targets, normals)


def test_a_moved_tank_is_the_same_tank_elsewhere():
    here, there = hydrogen_tank(count=50), hydrogen_tank(count=50, pose=MOVED_TANK_POSE)
    change = MOVED_TANK_POSE @ inverse(transform((0, 1.0, 0.5)))
    moved = here.metadata["points"] @ change[:3, :3].T + change[:3, 3]
    assert np.allclose(there.metadata["points"], moved)
    assert here.scene["tank"].shape == there.scene["tank"].shape
    assert MOVED_TANK_POSE[2, 1] == pytest.approx(-math.sin(math.radians(25)))
    check_frames(there.targets, there.metadata["normals"])


def test_the_frame_has_its_x_along_the_worlds_or_else_y():
    frames = surface_frames(np.zeros((2, 3)), np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]))
    assert np.allclose(frames[0, :3, :3], np.diag([1, -1, -1]))
    assert np.allclose(frames[1, :3, 0], (0, 1, 0))


def test_the_barrel_is_a_hexagonal_cup():
    found = barrel()
    mesh = found.scene["barrel"].shape
    surface = analyse(mesh)
    assert surface.closed.tolist() == [True]
    assert surface.rewound == 0

    def hexagon(across: float) -> float:
        return across**2 * math.sqrt(3) / 2

    assert mesh.volume == pytest.approx(hexagon(0.36) * 0.35 - hexagon(0.32) * 0.33)
    assert np.ptp(mesh.bounds[:, 2]) == pytest.approx(0.35)
    assert np.allclose(found.scene["barrel"].pose[:3, 3], (0, 0.5, 0))
    inside = InsideTest(surface.boundary)
    assert not inside.contains(np.array([0.0, 0.0, 0.17]))
    assert inside.contains(np.array([0.0, 0.0, -0.16]))
    normals = found.metadata["normals"]
    assert len(np.unique(np.round(normals, 6), axis=0)) == 7
    local = found.metadata["points"] - (0, 0.5, 0)
    assert np.abs(np.einsum("ij,ij->i", local, normals)[normals[:, 2] < 0.5]) == pytest.approx(0.16)
    check_frames(found.targets, normals)


def on_surface(scene: Scene, names: tuple[str, ...], points: np.ndarray) -> np.ndarray:
    """The least distance of each point to the named objects, by the exact model."""
    pytest.importorskip("coal")
    from memetik.collision.exact import CollisionModel

    probe = Link("probe", collisions=(Geometry(Sphere(1e-6), np.eye(4)),))
    joint = Joint("float", "floating", "base", "probe", lower=(-10.0,) * 6, upper=(10.0,) * 6)
    robot = Robot(Description("probe", (Link("base"), probe), (joint,)))

    some = scene.copy()
    for name in set(some.names) - set(names):
        some.remove(name)
    model = CollisionModel(robot, some)
    return model.distance(np.concatenate([points, np.zeros_like(points)], axis=1))


@pytest.mark.parametrize("name", [name for name in SURROUNDINGS if name != "Corridor"])
def test_targets_lie_on_the_named_surfaces_and_normals_lead_out_of_them(name):
    found = make_surroundings(name, count=60)
    points, normals = found.metadata["points"], found.metadata["normals"]
    assert np.abs(on_surface(found.scene, found.metadata["surfaces"], points)).max() < 3e-6
    outside = on_surface(found.scene, found.metadata["surfaces"], points + 1e-3 * normals)
    assert (outside > 0.0).all()
    assert (on_surface(found.scene, found.metadata["surfaces"], points - 1e-3 * normals) < 0.0).all()
    check_frames(found.targets, normals)


@pytest.mark.parametrize("name", list(SURROUNDINGS))
def test_the_same_seed_gives_the_same_targets(name):
    first, again, other = (make_surroundings(name, count=20, rng=rng) for rng in (3, 3, 4))
    assert np.array_equal(first.targets, again.targets)
    assert first.scene == again.scene
    assert not np.array_equal(first.targets, other.targets)


def test_the_shelf_has_its_size_and_grid():
    found = shelf()
    lows = np.array([item.pose[:3, 3] - 0.5 * np.array(item.shape.size) for item in found.scene]).min(axis=0)
    highs = np.array([item.pose[:3, 3] + 0.5 * np.array(item.shape.size) for item in found.scene]).max(axis=0)
    assert np.allclose(lows, (0.33, -0.475, 0.0))
    assert np.allclose(highs - lows, (0.47, 0.95, 0.87))
    assert len(found.scene) == 6
    assert len(shelf(compartments=3).scene) == 8
    points = found.metadata["points"]
    assert points[:, 0].min() >= 0.33
    assert points[:, 0].max() <= 0.80


def test_tables_stand_where_they_should():
    for make, size, height, centre in (
        (table, (1.0, 0.96), 0.74, (0, 0.98)),
        (small_table, (0.5, 0.48), 0.37, (0, 0.59)),
    ):
        found = make()
        points = found.metadata["points"]
        assert np.allclose(points[:, 2], height)
        assert (np.abs(points[:, :2] - centre) <= 0.5 * np.array(size)).all()
        top = found.scene["top"]
        assert top.pose[2, 3] + 0.5 * top.shape.size[2] == pytest.approx(height)
        assert found.scene["leg_1"].pose[2, 3] == pytest.approx(0.5 * found.scene["leg_1"].shape.size[2])


def test_six_cylinders_of_about_nine_centimetres_stand_on_the_small_table():
    found = table_objects()
    cylinders = [found.scene[name] for name in found.metadata["surfaces"]]
    assert len(cylinders) == 6
    for item in cylinders:
        assert item.shape.length == pytest.approx(0.09, abs=0.006)
        assert item.pose[2, 3] - 0.5 * item.shape.length == pytest.approx(0.37)
    normals = found.metadata["normals"]
    caps = np.isclose(normals[:, 2], 1.0)
    assert 50 < caps.sum() < 500
    assert np.allclose(normals[~caps, 2], 0.0)


def test_the_corridor_is_the_sources():
    found = corridor()
    assert {item.name: item.pose[:3, 3].tolist() for item in found.scene} == {
        "left_wall": [0.6, 0.2, 0.1],
        "right_wall": [0.6, -0.2, 0.1],
    }
    assert found.metadata["gap"] == pytest.approx(0.3)
    assert found.targets.shape == (501, 4, 4)
    assert np.allclose(found.targets[0], transform((0.6, 0, 0.08), rpy=(math.pi, 0, 0)))
    assert np.allclose(found.targets[:, :3, 2], (0, 0, -1))
    points = found.targets[1:, :3, 3]
    assert ((points >= (0.45, -0.03, 0.06)) & (points <= (0.75, 0.03, 0.16))).all()
    carried = corridor(plate_link="tool0", touch=["flange"]).scene["plate"]
    assert carried.shape.size == (0.35, 0.1, 0.04)
    assert carried.link == "tool0"
    assert carried.touch == ("flange",)


def test_a_link_may_be_let_touch_what_is_inspected():
    found = shelf(count=1)
    allowed = allow_touch(found, ["tip"])
    assert ("board_1", "tip") in allowed.allowed
    assert len(allowed.allowed) == len(found.scene)
    assert not found.scene.allowed


def test_a_cylinder_of_revolution_has_the_volume_of_its_prism():
    mesh = revolve(np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 1.0], [2.0, 0.0]]), 12)
    assert mesh.volume == pytest.approx(2.0 * 12 * 0.5 * math.sin(2 * math.pi / 12))
    assert analyse(mesh).rewound == 0


def test_impossible_dimensions_and_unknown_names_are_refused():
    with pytest.raises(InvalidInputError, match="does not fit"):
        hydrogen_tank(mouth=0.2)
    with pytest.raises(InvalidInputError, match="do not fit"):
        barrel(wall=0.3)
    with pytest.raises(InvalidInputError, match="do not fit"):
        shelf(compartments=60)
    with pytest.raises(UnknownNameError, match="did you mean 'Barrel'"):
        make_surroundings("barel")
