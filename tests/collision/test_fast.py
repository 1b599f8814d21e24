"""The fast model beside the exact one, its derivatives beside finite differences, its batches beside single answers."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import trimesh

import memetik as mk
from memetik.collision.exact import CollisionModel
from memetik.collision.fast import FastModel
from memetik.errors import InvalidInputError, UnknownNameError
from memetik.geometry.shapes import Box, Capsule, Cone, Cylinder, Sphere, TriangleMesh
from memetik.geometry.transforms import transform
from memetik.robot.description import Description, Geometry, Joint, Link
from memetik.scene.scene import Scene


@pytest.fixture(scope="module", autouse=True)
def _own_cache(tmp_path_factory):
    before = os.environ.get("MEMETIK_CACHE")
    os.environ["MEMETIK_CACHE"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["MEMETIK_CACHE"]
    else:
        os.environ["MEMETIK_CACHE"] = before


def open_box() -> TriangleMesh:
    """A crate, open on top, with walls of 2 cm."""
    crate = trimesh.creation.box((0.4, 0.4, 0.3))
    hollow = trimesh.creation.box((0.36, 0.36, 0.3), transform=transform((0.0, 0.0, 0.02)))
    return TriangleMesh(*_difference(crate, hollow))


def _difference(crate: trimesh.Trimesh, hollow: trimesh.Trimesh) -> tuple[np.ndarray, np.ndarray]:
    # The crate's top is replaced by a rim: four quads between the two outlines.
    top = crate.vertices[:, 2].max()
    outer = np.array([[-0.2, -0.2, top], [0.2, -0.2, top], [0.2, 0.2, top], [-0.2, 0.2, top]])
    inner = outer * [0.9, 0.9, 1.0]
    rim = np.concatenate([outer, inner])
    quads = [[k, (k + 1) % 4, 4 + (k + 1) % 4, 4 + k] for k in range(4)]
    rim_faces = [[q[i] for i in order] for q in quads for order in ((0, 1, 2), (0, 2, 3))]
    sides = crate.faces[~np.all(np.isclose(crate.vertices[crate.faces][:, :, 2], top), axis=1)]
    inside = hollow.copy()
    inside.vertices[np.isclose(inside.vertices[:, 2], inside.vertices[:, 2].max()), 2] = top
    walls = inside.faces[~np.all(np.isclose(inside.vertices[inside.faces][:, :, 2], top), axis=1)][:, ::-1]
    vertices = np.concatenate([crate.vertices, rim, inside.vertices])
    faces = np.concatenate([sides, np.array(rim_faces) + 8, walls + 16])
    return vertices, faces


def crowded_scene() -> Scene:
    """One of everything around a robot at the origin."""
    scene = Scene()
    scene.add_box("box", (0.3, 0.3, 0.3), pose=transform((0.6, 0.2, 0.3), rpy=(0.3, 0.2, 0.1)))
    scene.add_sphere("ball", 0.15, pose=transform((-0.4, 0.5, 0.6)))
    scene.add_cylinder("pillar", 0.08, 0.8, pose=transform((0.1, -0.6, 0.4), rpy=(0.2, 0.0, 0.0)))
    scene.add_capsule("pipe", 0.05, 0.6, pose=transform((-0.5, -0.4, 0.5), rpy=(1.0, 0.0, 0.4)))
    scene.add("cone", Cone(0.15, 0.3), transform((0.5, -0.4, 0.8)))
    scene.add_plane("floor", offset=-0.1)
    scene.add_mesh("crate", open_box(), transform((0.0, 0.7, 0.2), rpy=(0.0, 0.3, 0.0)))
    return scene


@pytest.fixture(scope="module")
def scene() -> Scene:
    return crowded_scene()


@pytest.mark.parametrize("name", ["panda", "ur10", "elise"])
def test_conservative_never_says_free_where_exact_says_collision(name, scene):
    robot = mk.load_robot(name)
    q = robot.random(3, 2500)
    exact = CollisionModel(robot, scene).collides(q)
    fast = FastModel(robot, scene).collides(q)
    assert 0.02 < exact.mean() < 0.98
    assert not (exact & ~fast).any()
    assert (fast & ~exact).sum() <= 0.05 * (~exact).sum()


@pytest.mark.parametrize("name", ["panda", "elise"])
def test_tight_is_less_than_conservative_and_near_to_exact(name, scene):
    robot = mk.load_robot(name)
    q = robot.random(4, 1500)
    exact = CollisionModel(robot, scene).collides(q)
    tight, conservative = FastModel(robot, scene, "tight"), FastModel(robot, scene)
    assert (tight.clearance(q, 0.2) >= conservative.clearance(q, 0.2) - 3e-5).all()
    answers = tight.collides(q)
    assert (answers & ~exact).sum() <= 0.005 * (~exact).sum()
    assert (exact & ~answers).sum() <= 0.05 * exact.sum()


def test_clearance_is_that_of_the_exact_model_less_what_is_stated(scene):
    robot = mk.load_robot("ur10")
    exact, fast = CollisionModel(robot, scene), FastModel(robot, scene)
    q = robot.random(5, 150)
    truth, found = exact.distance(q), fast.clearance(q, 1.0)
    free = (truth > 0.0) & (truth < 0.5)
    assert free.sum() > 20
    assert (found[free] <= truth[free] + 1e-6).all()
    assert (found[free] >= truth[free] - 0.02).all()


def finite_differences(value, q: np.ndarray, step: float = 1e-6) -> np.ndarray:
    return np.stack([(value(q + step * e) - value(q - step * e)) / (2.0 * step) for e in np.eye(q.shape[1])], axis=1)


@pytest.mark.parametrize("name", ["panda", "elise", "pr2"])
def test_gradient_of_the_clearance_equals_finite_differences(name, scene):
    robot = mk.load_robot(name)
    model = FastModel(robot, scene)
    q = robot.random(6, 120)
    gradient = model.gradient(q, 0.3)
    error = np.abs(gradient - finite_differences(lambda x: model.clearance(x, 0.3), q)).max(axis=1)
    assert np.abs(gradient).max() > 0.1
    assert np.mean(error < 1e-4) > 0.85  # kinks where the nearest pair changes, and cells' borders
    assert np.median(error) < 1e-6


@pytest.mark.parametrize("name", ["panda", "elise"])
def test_gradient_of_the_hinge_cost_equals_finite_differences(name, scene):
    robot = mk.load_robot(name)
    model = FastModel(robot, scene)
    q = robot.random(7, 120)
    cost, gradient, normal = model.hinge(q, 0.03)
    error = np.abs(2.0 * gradient - finite_differences(lambda x: model.hinge(x, 0.03)[0], q)).max(axis=1)
    assert (cost > 0.0).sum() > 20
    assert np.mean(error < 1e-4) > 0.9  # not where a capsule pierces an edge
    assert np.allclose(normal, np.swapaxes(normal, 1, 2))
    assert (np.linalg.eigvalsh(normal) > -1e-9).all()


def test_hinge_cost_is_zero_exactly_where_the_margin_is_kept(scene):
    robot = mk.load_robot("elise")
    model = FastModel(robot, scene)
    q = robot.random(8, 500)
    assert np.array_equal(model.hinge(q, 0.02)[0] > 0.0, model.clearance(q, 1.0) < 0.02)
    assert np.array_equal(model.collides(q, 0.02), model.clearance(q, 1.0) < 0.02)


def test_normal_matrix_is_that_of_the_only_contact():
    robot = slider()
    scene = Scene()
    scene.add_sphere("ball", 0.1, pose=transform((0.5, 0.0, 0.0)))
    model = FastModel(robot, scene, "tight")
    clearance = model.clearance([0.25, 0.0])
    assert clearance == pytest.approx(0.5 - 0.25 - 0.1 - 0.05)
    cost, gradient, normal = model.hinge([0.25, 0.0], 0.2)
    hinge = 0.2 - clearance
    assert cost == pytest.approx(hinge**2)
    assert gradient == pytest.approx([hinge, 0.0])
    assert normal[0, 0] == pytest.approx(1.0)


def slider() -> mk.Robot:
    """A ball of 5 cm on slides along x and y."""
    ball = (Geometry(Sphere(0.05)),)
    return mk.Robot(
        Description(
            "slider",
            (Link("base"), Link("carriage"), Link("ball", collisions=ball)),
            (
                Joint("x", "prismatic", "base", "carriage", axis=(1.0, 0.0, 0.0), lower=(-2.0,), upper=(2.0,)),
                Joint("y", "prismatic", "carriage", "ball", axis=(0.0, 1.0, 0.0), lower=(-2.0,), upper=(2.0,)),
            ),
        )
    )


@pytest.mark.parametrize(
    ("add", "distance"),
    [
        (lambda s: s.add_box("o", (0.2, 0.4, 0.6)), 1.0 - 0.1),
        (lambda s: s.add_sphere("o", 0.3), 1.0 - 0.3),
        (lambda s: s.add_cylinder("o", 0.2, 0.5), 1.0 - 0.2),
        (lambda s: s.add_capsule("o", 0.2, 0.5), 1.0 - 0.2),
        (lambda s: s.add_box("o", (0.2, 0.4, 0.6), padding=0.05), 1.0 - 0.15),
        (lambda s: s.add_plane("o", normal=(1.0, 0.0, 0.0)), 1.0),
    ],
)
def test_distances_to_primitives_are_exact(add, distance):
    scene = Scene()
    add(scene)
    assert FastModel(slider(), scene, "tight").clearance([1.0, 0.0]) == pytest.approx(distance - 0.05, abs=1e-9)


def rod() -> mk.Robot:
    """A rod of 40 cm that turns about z at its end, and slides along x."""
    shape = (Geometry(Capsule(0.02, 0.4), transform((0.2, 0.0, 0.0), rpy=(0.0, np.pi / 2, 0.0))),)
    return mk.Robot(
        Description(
            "rod",
            (Link("base"), Link("carriage"), Link("rod", collisions=shape)),
            (
                Joint("x", "prismatic", "base", "carriage", axis=(1.0, 0.0, 0.0), lower=(-2.0,), upper=(2.0,)),
                Joint("turn", "continuous", "carriage", "rod", axis=(0.0, 0.0, 1.0)),
            ),
        )
    )


@pytest.mark.parametrize("shape", [Box((0.3, 0.2, 0.1)), Cylinder(0.1, 0.2), Capsule(0.05, 0.2), Sphere(0.1)], ids=repr)
def test_a_capsule_is_as_far_from_a_primitive_as_its_nearest_point(shape):
    from memetik.geometry.primitives import signed_distance

    pose = transform((0.1, 0.35, 0.05), rpy=(0.4, 0.3, 0.2))
    scene = Scene()
    scene.add("o", shape, pose)
    robot = rod()
    model = FastModel(robot, scene, "tight")
    for q in np.random.default_rng(0).uniform([-0.5, -3.0], [0.5, 3.0], (60, 2)):
        axis = np.zeros((4, 4001))
        axis[0], axis[3] = np.linspace(0.0, 0.4, 4001), 1.0
        local = (np.linalg.inv(pose) @ robot.pose("rod", q) @ axis)[:3].T
        truth = signed_distance(shape, local).min() - 0.02
        assert model.clearance(q) == pytest.approx(truth, abs=5e-5)


def test_a_capsule_finds_the_only_gap_of_a_mesh():
    # Two plates with a gap of 6 cm: a rod of 4 cm passes through the gap's middle only.
    plates = trimesh.util.concatenate(
        [trimesh.creation.box((0.02, 0.3, 0.3), transform=transform((0.2, side * 0.18, 0.0))) for side in (-1, 1)]
    )
    scene = Scene()
    scene.add_mesh("plates", TriangleMesh(plates.vertices, plates.faces))
    model = FastModel(rod(), scene, resolution=0.004)
    turns = np.linspace(-0.5, 0.5, 201)
    free = ~model.collides(np.c_[np.zeros(201), turns])
    exact = ~CollisionModel(rod(), scene).collides(np.c_[np.zeros(201), turns])
    assert exact.sum() > 5
    assert not (free & ~exact).any()
    assert free.sum() >= 0.6 * exact.sum()


def test_moving_an_object_moves_what_is_checked_and_shares_the_rest():
    scene = Scene()
    mesh = trimesh.creation.icosphere(subdivisions=2, radius=0.1)
    scene.add_mesh("ball", TriangleMesh(mesh.vertices, mesh.faces), transform((0.5, 0.0, 0.0)))
    model = FastModel(slider(), scene)
    before = model.core
    assert model.clearance([0.0, 0.0]) == pytest.approx(0.35, abs=0.02)
    scene.move("ball", transform((0.0, 0.8, 0.0)))
    assert model.clearance([0.0, 0.0]) == pytest.approx(0.65, abs=0.02)
    assert model.core is not before
    anew = FastModel(slider(), scene)
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (50, 2))
    assert np.array_equal(anew.clearance(q), model.clearance(q))


def test_allowed_pairs_and_touch_links_are_not_checked():
    scene = Scene()
    scene.add_box("wall", (0.1, 1.0, 1.0), pose=transform((0.3, 0.0, 0.0)))
    model = FastModel(slider(), scene)
    assert model.collides([0.3, 0.0])
    scene.allow("ball", "wall")
    assert not model.collides([0.3, 0.0])
    scene.forbid("ball", "wall")
    assert model.collides([0.3, 0.0])


def test_attached_objects_are_checked_with_their_link():
    scene = Scene()
    scene.add_box("wall", (0.1, 1.0, 1.0), pose=transform((1.0, 0.0, 0.0)))
    model = FastModel(slider(), scene)
    assert not model.collides([0.5, 0.0])
    scene.attach("plate", Box((0.6, 0.1, 0.04)), link="ball", pose=transform((0.2, 0.0, 0.0)))
    assert model.collides([0.5, 0.0])
    assert model.closest([0.5, 0.0])[1] == ("plate", "wall")
    assert not model.collides([0.4, 0.0])
    scene.remove("plate")
    assert not model.collides([0.5, 0.0])


def test_an_object_attached_to_an_unknown_link_is_an_error():
    scene = Scene()
    scene.attach("plate", Box((0.6, 0.1, 0.04)), link="hand", pose=np.eye(4))
    with pytest.raises(UnknownNameError, match="hand"):
        FastModel(slider(), scene)


def test_clearances_of_links_have_the_whole_robots_as_their_least(scene):
    robot = mk.load_robot("panda")
    model = FastModel(robot, scene)
    for q in robot.random(9, 20):
        links = model.per_link(q)
        assert min(links.values()) == pytest.approx(model.clearance(q))
        assert set(links) <= {*robot.links}


def test_free_length_ends_at_the_first_contact_from_the_tip():
    robot = rod()  # the tip is the rod's own frame, at the turning end
    scene = Scene()
    scene.add_box("wall", (0.02, 1.0, 1.0), pose=transform((0.25, 0.0, 0.0)))
    model = FastModel(robot, scene, "tight")
    assert model.free_length([0.0, 0.0]) == pytest.approx(0.25 - 0.01 - 0.02, abs=0.02)
    assert model.free_length([-0.3, 0.0]) == np.inf
    assert np.array_equal(np.isinf(model.free_length(np.array([[0.0, 0.0], [-0.3, 0.0]]))), [False, True])


def test_batches_and_threads_give_the_single_answers(scene):
    robot = mk.load_robot("elise")
    model = FastModel(robot, scene)
    q = robot.random(10, 37)
    single = np.array([model.clearance(row) for row in q])
    assert np.array_equal(single, model.clearance(q))
    assert np.array_equal(single, model.clearance(q, threads=2))
    assert np.array_equal(model.collides(q), single < 0.0)
    assert model.clearance(np.zeros((0, robot.dof))).shape == (0,)


def test_answers_may_be_asked_from_several_threads(scene):
    robot = mk.load_robot("ur10")
    model = FastModel(robot, scene)
    q = robot.random(11, 400)
    expected, found = model.clearance(q), []
    workers = [threading.Thread(target=lambda: found.append(model.clearance(q))) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(found) == 4
    assert all(np.array_equal(expected, other) for other in found)


def test_report_names_every_link_with_geometry():
    robot = mk.load_robot("panda")
    report = {entry.name: entry for entry in FastModel(robot).report}
    assert set(report) == {link.name for link in robot.description.links if link.collisions}
    assert all(entry.coverage == 1.0 and entry.protrusion <= 0.008 for entry in report.values())
    finer = FastModel(robot, protrusion=0.001).report
    assert max(entry.protrusion for entry in finer) <= 0.001
    assert sum(entry.bodies for entry in finer) > sum(entry.bodies for entry in report.values())


def test_wrong_settings_are_refused():
    with pytest.raises(InvalidInputError, match="conservative"):
        FastModel(slider(), None, "loose")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="hand"):
        FastModel(slider(), padding={"hand": 0.1})


@pytest.mark.parametrize("architecture", ["baseline", "avx2", "avx512"])
def test_every_instruction_set_gives_the_same_clearances(architecture, tmp_path):
    from memetik import _core

    if architecture not in _core.architectures():
        pytest.skip(f"this processor has no {architecture}")
    program = (
        "import numpy as np, memetik as mk, sys\n"
        "from memetik.collision.fast import FastModel\n"
        "from memetik.scene.scene import Scene\n"
        "scene = Scene(); scene.add_box('b', (0.3, 0.3, 0.3), pose=mk.transform((0.5, 0.2, 0.4)))\n"
        "scene.add_cylinder('c', 0.1, 0.5, pose=mk.transform((-0.5, 0.2, 0.4)))\n"
        "robot = mk.load_robot('elise')\n"
        "np.save(sys.argv[1], FastModel(robot, scene).clearance(robot.random(1, 200)))\n"
    )
    results = []
    for chosen in ("", architecture):
        path = tmp_path / f"{chosen or 'default'}.npy"
        environment = {**os.environ, "MEMETIK_ARCH": chosen}
        subprocess.run([sys.executable, "-c", program, str(path)], check=True, env=environment)
        results.append(np.load(path))
    assert np.allclose(*results, rtol=0.0, atol=1e-9)
