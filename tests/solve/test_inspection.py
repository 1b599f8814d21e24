"""Inspecting surfaces: reach, sight, coverage."""

import numpy as np
import pytest

import memetik as mk
from memetik.bench.scenarios.surroundings import make_surroundings
from memetik.errors import InvalidInputError
from memetik.geometry.transforms import transform
from memetik.scene.surface_points import sample_surface
from memetik.solve.inspection import _cover, plan_inspection

pytest.importorskip("coal")


def angle(a, b) -> float:
    return float(np.arccos(np.clip(a @ b / np.linalg.norm(a) / np.linalg.norm(b), -1.0, 1.0)))


def test_configurations_see_their_spots_from_within_the_tolerances():
    robot = mk.load_robot("elise")
    found = make_surroundings("HydrogenTank", count=1)
    inner = {"low": (-0.1, 1.08, 0.4), "high": (0.1, 1.48, 0.6)}
    axis = np.array([0.0, 0.0, 0.5])

    def inwards(points, normals):
        return ((axis - points) * (1, 0, 1) * normals).sum(axis=1) > 0.0

    spots = sample_surface(found.scene, "tank", count=30, where=inwards, **inner)
    result = plan_inspection(
        robot, found.scene, spots, distance=(0.01, 0.03), view_angle=0.2, incidence_angle=0.4, timeout=5.0
    )
    assert result.reached.all()
    assert result.coverage == 1.0
    model = mk.CollisionModel(robot, found.scene)
    for q, point, normal in zip(result.q, spots.points, spots.normals, strict=True):
        pose = robot.pose("tip", q)
        way = point - pose[:3, 3]
        assert 0.01 - 1e-6 <= np.linalg.norm(way) <= 0.03 + 1e-6
        assert angle(pose[:3, 2], way) <= 0.2 + 1e-5
        assert angle(-way, normal) <= 0.4 + 1e-5
        assert not model.collides(q)
    assert len(result.views) <= 30
    assert sum(result.gains) == 30
    assert "100.0 %" in str(result)


def test_what_is_hidden_is_not_seen():
    robot = mk.load_robot("panda")
    scene = mk.Scene()
    scene.add_box("plate", (0.2, 0.2, 0.01), transform((0.5, 0.0, 0.3)))
    top = {"where": lambda p, n: n[:, 2] > 0.9}
    spots = sample_surface(scene, "plate", count=12, **top)
    options = {"link": "panda_hand_tcp", "distance": (0.05, 0.2)}
    open_ = plan_inspection(robot, scene, spots, **options, timeout=5.0)
    assert open_.reached.all()
    scene.add_box("cover", (0.3, 0.3, 0.002), transform((0.5, 0.0, 0.32)))
    hidden = plan_inspection(robot, scene, spots, **options, timeout=0.05)
    assert not hidden.reached.any()
    assert not hidden.seen.any()
    assert hidden.coverage == 0.0
    assert "not reached" in str(hidden)


def test_a_cover_takes_what_adds_most_first():
    seen = np.array([[1, 1, 0, 0, 0], [0, 1, 1, 1, 0], [0, 0, 0, 1, 0]], dtype=bool)
    assert _cover(seen) == ((1, 0), (3, 1))


def test_spots_of_another_kind_are_refused():
    with pytest.raises(InvalidInputError, match="sample_surface"):
        plan_inspection(mk.load_robot("ur5"), mk.Scene(), np.zeros((3, 3)))  # type: ignore[arg-type]
