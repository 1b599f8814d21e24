"""The native exact check beside coal, on a robot with its real meshes among objects of every shape."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import memetik as mk
from memetik.collision.exact import CollisionModel
from memetik.collision.mesh_checker import MeshChecker
from memetik.geometry.shapes import TriangleMesh

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "robot"))
from public_robots import robot_file


@pytest.fixture(scope="module")
def panda() -> mk.Robot:
    return mk.load_robot(robot_file("panda.urdf"))


def _tetrahedron(size: float) -> TriangleMesh:
    corners = size * np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], dtype=float)
    return TriangleMesh(corners, np.array([[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]], dtype=np.int32))


def _step(size: float) -> TriangleMesh:
    """A solid that is not convex: an L-shaped prism."""
    outline = size * np.array([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]], dtype=float)
    low, high = (np.column_stack([outline, np.full(6, z)]) for z in (0.0, size))
    caps = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5]])
    sides = [(k, (k + 1) % 6, k + 6, (k + 1) % 6 + 6) for k in range(6)]
    walls = [corner for a, b, c, d in sides for corner in ((a, b, d), (a, d, c))]
    faces = np.concatenate([caps[:, ::-1], caps + 6, np.array(walls)])
    return TriangleMesh(np.concatenate([low, high]), faces.astype(np.int32))


def _scene(kind: str) -> mk.Scene:
    scene, rng = mk.Scene(), np.random.default_rng(3)

    def pose() -> np.ndarray:
        return mk.transform(rng.uniform((-0.7, -0.7, -0.2), (0.7, 0.7, 1.2)), rpy=rng.uniform(-3.0, 3.0, 3))

    for k in range(4):
        name = f"{kind}{k}"
        if kind == "box":
            scene.add_box(name, rng.uniform(0.05, 0.3, 3), pose())
        elif kind == "cylinder":
            scene.add_cylinder(name, 0.08, 0.4, pose())
        elif kind == "sphere":
            scene.add_sphere(name, 0.12, pose())
        elif kind == "capsule":
            scene.add_capsule(name, 0.06, 0.3, pose())
        elif kind == "cone":
            scene.add_cone(name, 0.12, 0.3, pose())
        elif kind == "hull":
            scene.add_mesh(name, _tetrahedron(0.1), pose())
        elif kind == "solid":
            scene.add_mesh(name, _step(0.12), pose())
        elif kind == "shell":
            scene.add_mesh(name, _step(0.12), pose(), solid=False)
        elif kind == "points":
            scene.add_points(name, rng.normal(size=(60, 3)) * 0.1, 0.01, pose())
        elif kind == "padded":
            scene.add_box(name, (0.1, 0.2, 0.1), pose(), padding=0.03)
    if kind == "plane":
        scene.add_plane("floor", offset=0.05)
    if kind == "heights":
        heights = 0.02 + 0.08 * rng.random((8, 8))
        scene.add_heightmap("ground", heights, (2.0, 2.0))
    if kind == "voxels":
        scene.add_voxels("cells", rng.random((6, 6, 6)) < 0.15, 0.1, mk.transform((-0.3, 0.2, 0.4)))
    return scene


KINDS = ("none", "box", "cylinder", "sphere", "capsule", "cone", "hull", "solid", "shell", "points", "plane")
KINDS += ("heights", "voxels", "padded")  # every shape that a scene may hold


def _near_contact(checker: MeshChecker, robot: mk.Robot, count: int) -> np.ndarray:
    """Configurations within a milliradian of where contact begins, some free, some not."""
    q = robot.random(5, 40 * count)
    hits = np.asarray(checker.collides(q))
    assert hits.any()
    assert not hits.all()
    a, b = np.resize(q[~hits], (count, robot.dof)), np.resize(q[hits], (count, robot.dof))
    while np.abs(b - a).max() > 1e-3:
        middle = 0.5 * (a + b)
        inside = np.asarray(checker.collides(middle))[:, None]
        a, b = np.where(inside, a, middle), np.where(inside, middle, b)
    return np.concatenate([a[: count // 2], b[count // 2 :]])


@pytest.mark.parametrize("kind", KINDS)
def test_verdict_is_that_of_coal(panda, kind):
    scene = _scene(kind)
    checker, truth = MeshChecker(panda, scene), CollisionModel(panda, scene)
    q = np.concatenate([panda.random(1, 40), _near_contact(checker, panda, 40)])
    expected = np.array([truth.collides(row) for row in q])
    for row in np.flatnonzero(np.asarray(checker.collides(q)) != expected):
        assert abs(truth.distance(q[row])) < 2e-6  # coal calls bodies in contact that are nearer than a micrometre


@pytest.mark.parametrize("kind", ["box", "solid", "none"])
@pytest.mark.parametrize("still", [[0, 1, 2], [3, 4, 5, 6], [0, 1, 2, 3, 4, 5, 6, 7]])
def test_joints_that_stand_still_change_no_verdict(panda, kind, still):
    """Many rows that share joints are checked with these held; each row alone is not."""
    rng, checker = np.random.default_rng(8), MeshChecker(panda, _scene(kind))
    q, others = panda.random(rng, 64), panda.random(rng, 64)
    q[:, still] = q[0, still]
    for rows in (q, others, q[1:]):
        assert np.asarray(checker.collides(rows)).tolist() == [checker.collides(row) for row in rows]


@pytest.mark.parametrize("kind", ["box", "cylinder", "solid", "points", "none"])
def test_margin_is_kept(panda, kind):
    scene = _scene(kind)
    checker, truth = MeshChecker(panda, scene, margin=0.02), CollisionModel(panda, scene)
    q = np.concatenate([panda.random(2, 30), _near_contact(checker, panda, 20)])
    for row, hit in zip(q, np.asarray(checker.collides(q)).tolist(), strict=True):
        if hit != bool(truth.collides(row, 0.02)):
            assert abs(truth.distance(row) - 0.02) < 3e-6


def test_attached_objects_are_bodies(panda):
    scene = _scene("box")
    scene.attach("tray", mk.Box((0.3, 0.3, 0.02)), link="panda_hand", pose=mk.transform((0, 0, 0.2)))
    checker, truth = MeshChecker(panda, scene), CollisionModel(panda, scene)
    q = np.concatenate([panda.random(1, 60), _near_contact(checker, panda, 40)])
    expected = np.array([truth.collides(row) for row in q])
    bare = np.asarray(MeshChecker(panda, _scene("box")).collides(q))
    assert (np.asarray(checker.collides(q)) == expected).all()
    assert (bare != expected).any()


def test_moved_objects_are_seen(panda):
    scene = _scene("box")
    checker = MeshChecker(panda, scene)
    q = panda.random(4, 200)
    checker.collides(q)
    scene.move("box0", mk.transform((0.35, 0.0, 0.4)))
    scene.move("box2", mk.transform((-0.1, 0.4, 0.6)))
    assert (np.asarray(checker.collides(q)) == np.asarray(MeshChecker(panda, scene.copy()).collides(q))).all()
    scene.remove("box1")
    assert (np.asarray(checker.collides(q)) == np.asarray(MeshChecker(panda, scene.copy()).collides(q))).all()


def test_certified_motions_are_free_everywhere(panda):
    scene = _scene("box")
    checker = MeshChecker(panda, scene)
    rng = np.random.default_rng(0)
    a = panda.random(3, 300)
    b = a + rng.normal(size=a.shape) * 0.2
    proved = np.asarray(checker.certified(a, b))
    assert 10 < proved.sum() < 290
    times = np.linspace(0.0, 1.0, 400)[:, None]
    for start, end in zip(a[proved], b[proved], strict=True):
        assert not np.asarray(checker.collides(start + times * (end - start))).any()


def test_certificate_proves_most_of_what_is_free_with_room(panda):
    checker = MeshChecker(panda, _scene("box"))
    roomy = MeshChecker(panda, _scene("box"), margin=0.03)
    rng = np.random.default_rng(1)
    a = panda.random(6, 200)
    b = a + rng.normal(size=a.shape) * 0.1
    free = np.asarray(roomy.edge_free(a, b, 200.0)) & ~np.asarray(roomy.collides(a))
    assert free.sum() > 20
    assert np.asarray(checker.certified(a, b))[free].all()


def test_edges_find_what_their_samples_find(panda):
    checker = MeshChecker(panda, _scene("box"))
    a, b = panda.random(7, 50), panda.random(8, 50)
    free = np.asarray(checker.edge_free(a, b, 100.0))
    for k in range(50):
        blocks = int(np.ceil(100.0 * np.linalg.norm(b[k] - a[k]) / 8.0))
        times = np.arange(1, 8 * blocks + 1)[:, None] / (8 * blocks)
        assert free[k] == (not np.asarray(checker.collides(a[k] + times * (b[k] - a[k]))).any())


def test_the_pair_in_contact_is_named(panda):
    scene = mk.Scene()
    scene.add_box("wall", (0.1, 2.0, 2.0), mk.transform((0.45, 0.0, 0.5)))
    checker, truth = MeshChecker(panda, scene), CollisionModel(panda, scene)
    seen = set()
    for q in panda.random(9, 100):
        found = checker.first_contact(q)
        contacts = {frozenset((contact.first, contact.second)) for contact in truth.contacts(q)}
        assert (found is None) == (not contacts)
        if found is not None:
            assert frozenset(found) in contacts
            seen.add(found[1])
    assert "wall" in seen


def test_threads_share_a_checker(panda):
    checker = MeshChecker(panda, _scene("cylinder"))
    q = panda.random(10, 4000)
    expected = np.asarray(checker.collides(q))
    answers: list[np.ndarray] = []

    def ask() -> None:
        answers.append(np.asarray(checker.collides(q)))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 4
    assert all((answer == expected).all() for answer in answers)


def test_far_sliding_bases_keep_the_verdict(panda):
    """A base that slides kilometres away: single precision is of no use there, double precision decides."""
    robot = panda.with_floating_base()
    q = panda.random(11, 100)
    near = np.concatenate([np.zeros((100, 6)), q], axis=1)
    far = near.copy()
    far[:, 0] = 3000.0
    checker = MeshChecker(robot)
    assert (np.asarray(checker.collides(near)) == np.asarray(checker.collides(far))).all()


def test_bad_arrays_are_refused(panda):
    core = MeshChecker(panda, _scene("box")).core
    good = panda.random(1, 3)
    for wrong in (good[:, :-1].copy(), good[0], np.full_like(good, np.nan), np.full_like(good, np.inf)):
        with pytest.raises(ValueError, match=r"must"):
            core.collides(wrong)
    with pytest.raises(ValueError, match="rows"):
        core.edges_free(good, good[:2], 10.0)
    with pytest.raises(ValueError, match="resolution"):
        core.edges_free(good, good, 0.0)
    assert len(core.collides(np.zeros((0, panda.dof)))) == 0
