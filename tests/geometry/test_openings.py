"""Openings of hollow bodies."""

import numpy as np
import pytest

from memetik.bench.scenarios.surroundings import hydrogen_tank, revolve
from memetik.geometry.distance_field import DistanceField
from memetik.geometry.openings import Openings
from memetik.geometry.shapes import TriangleMesh


def openings_of(mesh: TriangleMesh) -> Openings:
    return Openings.of_field(DistanceField(mesh.vertices, mesh.faces, 0.004, solid=True), mesh.bounds)


@pytest.mark.parametrize("mouth", [0.03, 0.05])
def test_a_tank_has_one_opening_of_the_size_of_its_mouth(mouth):
    found = openings_of(hydrogen_tank(mouth=mouth, count=1).scene["tank"].shape)
    assert len(found) == 1
    assert np.linalg.norm(found.points[0, [0, 2]]) < 0.004
    assert found.radii[0] == pytest.approx(0.5 * mouth, abs=0.004)
    inside = found.behind(np.array([0.0, 0.5, 0.02]))
    assert inside is not None
    assert inside.radius == found.radii[0]
    assert found.behind(np.array([0.0, 0.5, 0.2])) is None


def test_of_two_rooms_in_a_row_the_narrower_door_counts():
    """A bottle of two chambers: the inner one is reached through both necks, the narrow one decides."""
    inner = [
        (0.9, 0.0),
        (0.9, 0.1),
        (0.6, 0.1),
        (0.6, 0.02),
        (0.5, 0.02),
        (0.5, 0.1),
        (0.2, 0.1),
        (0.2, 0.05),
        (0.0, 0.05),
    ]
    outer = [(0.0, 0.14), (1.0, 0.14), (1.0, 0.0)]
    found = openings_of(revolve(np.array(inner + outer), 32))
    far, near = found.behind(np.array([0.0, 0.75, 0.0])), found.behind(np.array([0.0, 0.35, 0.0]))
    assert far is not None
    assert near is not None
    assert far.radius == pytest.approx(0.02, abs=0.006)
    assert 0.48 < far.point[1] < 0.62
    assert near.radius == pytest.approx(0.05, abs=0.006)
    assert near.point[1] < 0.22


def test_solid_closed_and_flat_bodies_have_none():
    cup = revolve(np.array([(0.5, 0.0), (0.5, 0.2), (0.0, 0.2), (0.0, 0.25), (0.55, 0.25), (0.55, 0.0)]), 24)
    assert len(openings_of(cup)) == 0
    rod = revolve(np.array([(0.0, 0.0), (0.0, 0.1), (0.5, 0.1), (0.5, 0.0)]), 24)
    assert len(openings_of(rod)) == 0
    plate = revolve(np.array([(0.0, 0.0), (0.0, 1.0), (0.01, 1.0), (0.01, 0.0)]), 24)
    field = DistanceField(plate.vertices, plate.faces, 0.02, solid=True)
    assert len(Openings.of_field(field, plate.bounds)) == 0
