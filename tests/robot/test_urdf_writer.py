"""Writing URDF: what is read back is what was written, and Pinocchio reads it too."""

import io
import math
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from public_robots import GOOD_URDF_FILES, robot_file

from memetik.errors import DescriptionError
from memetik.geometry.shapes import Box, Capsule, Cylinder, Mesh, Sphere
from memetik.geometry.transforms import pose, rotation_from_rpy, unit
from memetik.robot import bundled
from memetik.robot.description import Description, Geometry, Inertial, Joint, Link, Mimic
from memetik.robot.description_digest import digest
from memetik.robot.joint_kinds import JOINT_KINDS
from memetik.robot.load import load_description
from memetik.robot.readers.urdf import read_urdf
from memetik.robot.robot import Robot
from memetik.robot.urdf_writer import write_urdf
from memetik.robot.validate import validate

number = st.floats(-3.0, 3.0, allow_nan=False)
vector = st.tuples(number, number, number)
axis = vector.map(unit).filter(lambda direction: direction is not None)


@st.composite
def poses(draw):
    return pose(rotation_from_rpy(*draw(vector)), draw(vector))


@st.composite
def joints(draw, index: int, parent: str, earlier: list[Joint]):
    kind = draw(st.sampled_from(sorted(JOINT_KINDS)))
    count = len(JOINT_KINDS[kind].axes)
    limits = {}
    if count and kind != "continuous" and draw(st.booleans()):
        limits = {"lower": (-1.5,) * count, "upper": tuple(draw(st.floats(-1.0, 2.0)) for _ in range(count))}
    if count and draw(st.booleans()):
        limits |= {
            name: tuple(draw(st.floats(0.1, 9.0)) for _ in range(count))
            for name in ("velocity", "acceleration", "effort")
        }
    if count and kind != "continuous" and draw(st.booleans()):
        limits |= {"soft_lower": (-1.0,) * count, "soft_upper": (0.5,) * count}
    masters = [joint.name for joint in earlier if joint.axes == 1]
    mimic = None
    if count == 1 and masters and draw(st.booleans()):
        mimic = Mimic(draw(st.sampled_from(masters)), draw(number), draw(number))
    return Joint(
        name=f"j{index}",
        kind=kind,
        parent=parent,
        child=f"l{index + 1}",
        origin=draw(poses()),
        axis=draw(axis) if kind != "fixed" else (1.0, 0.0, 0.0),
        anchor=draw(st.one_of(st.just((0.0, 0.0, 0.0)), vector)),
        mimic=mimic,
        rotation_order=draw(st.sampled_from(["xyz", "zyx", "zxz"])),
        swing_twist=kind == "spherical" and draw(st.booleans()),
        reversed=draw(st.booleans()),
        **limits,
    )


@st.composite
def trees(draw):
    chain: list[Joint] = []
    for index in range(draw(st.integers(1, 6))):
        parent = f"l{draw(st.integers(0, index))}"
        chain.append(draw(joints(index, parent, chain)))
    links = tuple(Link(f"l{index}") for index in range(len(chain) + 1))
    base = draw(st.one_of(st.just(np.eye(4)), poses()))
    return Description("tree", links, tuple(chain), base=base)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(trees(), st.integers(0, 1000))
def test_forward_kinematics_survive_writing_and_reading(description, seed):
    robot, again = Robot(validate(description)), Robot(validate(read_urdf(write_urdf(description))))
    assert again.joint_names == robot.joint_names
    assert again.links == robot.links
    q = np.random.default_rng(seed).uniform(-2, 2, robot.dof)
    for link in robot.links:
        np.testing.assert_allclose(again.pose(link, q), robot.pose(link, q), atol=1e-12)
    for limit in ("lower", "upper", "velocity", "acceleration", "effort", "soft_lower", "soft_upper"):
        np.testing.assert_array_equal(getattr(again, limit), getattr(robot, limit))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(trees(), st.integers(0, 1000))
def test_the_plain_chains_for_other_programs_move_as_the_joints_do(description, seed):
    """What is left without the <memetik> element has the same links at the same poses in the root's frame."""
    chained = tuple(
        joint
        if joint.kind not in ("floating", "planar") or joint.reversed or any(joint.anchor)
        else replace(
            joint,
            kind="fixed",
            lower=(),
            upper=(),
            velocity=(),
            acceleration=(),
            effort=(),
            soft_lower=(),
            soft_upper=(),
        )
        for joint in description.joints
    )
    description = replace(description, joints=chained, base=np.eye(4))
    text = write_urdf(description)
    plain = Robot(validate(read_urdf(text.split("<memetik")[0] + ("</robot>" if "<memetik" in text else ""))))
    robot = Robot(description)
    q = np.random.default_rng(seed).uniform(-2, 2, robot.dof)
    assert set(plain.joint_names) == set(robot.joint_names)
    values = dict(zip(robot.joint_names, q, strict=True))
    plain_q = np.array([values[name] for name in plain.joint_names])
    for link in robot.links:
        np.testing.assert_allclose(plain.pose(link, plain_q), robot.pose(link, q), atol=1e-12)
    pinocchio.buildModelFromXML(text)


@pytest.mark.parametrize("path", GOOD_URDF_FILES, ids=lambda path: f"{path.parent.parent.name}/{path.stem}")
def test_public_robots_come_back_and_pinocchio_reads_them(path):
    description = read_urdf(path.read_bytes(), folder=str(path.parent))
    text = write_urdf(description, meshes="given")
    again = read_urdf(text, folder=str(path.parent))
    for old, new in zip(description.joints, again.joints, strict=True):
        np.testing.assert_allclose(new.origin, old.origin, atol=1e-14)
        assert replace(new, origin=old.origin) == replace(old, origin=old.origin)
    assert [link.name for link in again.links] == [link.name for link in description.links]
    for old, new in zip(description.links, again.links, strict=True):
        assert [g.shape for g in new.collisions] == [g.shape for g in old.collisions]
        assert [g.color for g in new.visuals] == [g.color for g in old.visuals]
    ours, theirs = pinocchio.buildModelFromXML(text), pinocchio.buildModelFromUrdf(str(path))
    assert ours.nv == theirs.nv
    q = pinocchio.neutral(ours)
    np.testing.assert_allclose(
        pinocchio.centerOfMass(ours, ours.createData(), q),
        pinocchio.centerOfMass(theirs, theirs.createData(), q),
        atol=1e-9,
    )


@pytest.mark.parametrize("name", bundled.names())
def test_bundled_robots_come_back_equal(name):
    description = load_description(name)
    again = load_description(write_urdf(description))
    robot, other = Robot(description), Robot(again)
    assert other.joint_names == robot.joint_names
    q = np.random.default_rng(0).uniform(-1, 1, robot.dof)
    for link in robot.links:
        np.testing.assert_allclose(other.pose(link, q), robot.pose(link, q), atol=1e-12)
    shapes = [[geometry.shape for geometry in link.collisions] for link in description.links]
    assert [[geometry.shape for geometry in link.collisions] for link in again.links] == shapes


def test_shapes_colours_inertias_and_the_base_come_back():
    link = Link(
        "a & <b>",
        Inertial(2.5, (0.1, 0.2, 0.3), np.array([[1, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 3.0]])),
        collisions=tuple(
            Geometry(shape, pose(rotation_from_rpy(0.1, 0.2, 0.3), (1, 2, 3)), f"shape{k}")
            for k, shape in enumerate(
                (Box((1, 2, 3)), Sphere(1), Cylinder(1, 2), Capsule(1, 2), Mesh("x.stl", None, (1, 2, 3)))
            )
        ),
        visuals=(Geometry(Sphere(1), color=(0.1, 0.2, 0.3, 1.0)), Geometry(Sphere(2), color=(1.0, 0.0, 0.0, 0.5))),
    )
    written = Description('quote"d', (link,), base=pose(rotation_from_rpy(1, 2, 3), (4, 5, 6)))
    again = read_urdf(write_urdf(written))
    assert again.name == 'quote"d'
    np.testing.assert_allclose(again.base, written.base, atol=1e-15)
    (read,) = again.links
    assert read.name == link.name
    assert [g.shape for g in read.collisions] == [g.shape for g in link.collisions]
    assert [g.name for g in read.collisions] == [g.name for g in link.collisions]
    assert [g.color for g in read.visuals] == [g.color for g in link.visuals]
    assert read.inertial is not None
    assert read.inertial.mass == 2.5
    np.testing.assert_array_equal(read.inertial.inertia, link.inertial.inertia)


def test_meshes_are_written_by_the_paths_found_unless_asked():
    description = load_description(robot_file("panda.urdf"), srdf=False)
    assert "package://" not in write_urdf(description)
    assert "package://" in write_urdf(description, meshes="given")
    again = load_description(write_urdf(description))
    paths = [g.shape.path for link in again.links for g in link.visuals if isinstance(g.shape, Mesh)]
    assert paths
    assert None not in paths


def test_a_joint_without_limits_stays_without():
    description = read_urdf(
        '<robot><link name="a"/><link name="b"/>'
        '<joint name="j" type="revolute"><parent link="a"/><child link="b"/></joint></robot>'
    )
    (again,) = read_urdf(write_urdf(description)).joints
    assert (again.lower, again.velocity, again.effort) == ((-math.inf,), (math.inf,), (math.inf,))
    assert digest(read_urdf(write_urdf(description))) == digest(description)


def test_names_that_xml_cannot_express_are_an_error():
    with pytest.raises(DescriptionError, match="rename"):
        write_urdf(Description("bell\x07", (Link("a"),)))


# other readers

URDFDOM = Path(pinocchio.__file__).parents[4]


def shapes_written(description: Description) -> int:
    """A capsule is three."""
    shapes = [geometry.shape for link in description.links for geometry in link.collisions]
    return len(shapes) + 2 * sum(isinstance(shape, Capsule) for shape in shapes)


@pytest.mark.parametrize("name", bundled.names())
def test_every_shape_arrives_in_pinocchio_yourdfpy_mujoco_and_urdfdom(name, tmp_path):
    mujoco, yourdfpy = pytest.importorskip("mujoco"), pytest.importorskip("yourdfpy")
    description = load_description(name)
    text, count = write_urdf(description), shapes_written(description)
    model = pinocchio.buildModelFromXML(text)
    assert pinocchio.buildGeomFromUrdfString(model, text, pinocchio.GeometryType.COLLISION).ngeoms == count
    parsed = yourdfpy.URDF.load(io.BytesIO(text.encode()), load_meshes=False, build_scene_graph=False).robot
    known = ("box", "sphere", "cylinder", "mesh")
    shapes = [collision.geometry for link in parsed.links for collision in link.collisions]
    assert sum(any(getattr(shape, kind) is not None for kind in known) for shape in shapes) == count
    assert mujoco.MjModel.from_xml_string(text).ngeom == count
    if (URDFDOM / "bin" / "check_urdf").exists():
        (tmp_path / "robot.urdf").write_text(text)
        command, libraries = (
            [URDFDOM / "bin" / "check_urdf", tmp_path / "robot.urdf"],
            {"LD_LIBRARY_PATH": str(URDFDOM / "lib")},
        )
        told = subprocess.run(command, capture_output=True, text=True, check=False, env=libraries)
        assert told.returncode == 0, told.stderr
        assert "Error" not in told.stderr


@pytest.mark.parametrize("name", ["panda", "ur10_curved_endoscope", "wolf"])
def test_capsules_come_back_as_capsules(name):
    description = load_description(name)
    again = read_urdf(write_urdf(description))
    for old, new in zip(description.links, again.links, strict=True):
        for tag in ("collisions", "visuals"):
            assert [g.shape for g in getattr(new, tag)] == [g.shape for g in getattr(old, tag)]
            assert [g.name for g in getattr(new, tag)] == [g.name for g in getattr(old, tag)]
            for g, h in zip(getattr(old, tag), getattr(new, tag), strict=True):
                np.testing.assert_allclose(h.origin, g.origin, atol=1e-12)


def test_pinocchio_sees_the_distances_of_the_capsules():
    """Distances between links, by coal as Pinocchio asks it, are those of the capsules, by coal as memetik asks it."""
    coal = pytest.importorskip("coal")
    from memetik.collision.exact import CollisionModel
    from memetik.scene.scene import Scene

    robot, scene = Robot(load_description("ur5")), Scene()
    scene.add_sphere("ball", 0.1, pose(np.eye(3), (0.5, 0.2, 0.4)))
    ours, text = CollisionModel(robot, scene, self_collision=False), robot.to_urdf()
    model = pinocchio.buildModelFromXML(text)
    geometry = pinocchio.buildGeomFromUrdfString(model, text, pinocchio.GeometryType.COLLISION)
    ball, place = coal.Sphere(0.1), pinocchio.SE3(np.eye(3), np.array([0.5, 0.2, 0.4]))
    last = geometry.addGeometryObject(pinocchio.GeometryObject("ball", 0, place, ball))
    for k in range(last):
        geometry.addCollisionPair(pinocchio.CollisionPair(k, last))
    data, placements = model.createData(), geometry.createData()
    free = 0
    for q in robot.random(0, 40):
        pinocchio.computeDistances(model, data, geometry, placements, q)
        theirs = min(result.min_distance for result in placements.distanceResults)
        if theirs > 0.0:
            free += 1
            assert ours.distance(q) == pytest.approx(theirs, abs=1e-5)
    assert free > 20


def test_parts_of_a_capsule_that_were_edited_stay_apart():
    capsule = Geometry(Capsule(0.1, 0.4), pose(rotation_from_rpy(0.3, 0.2, 0.1), (0.1, 0.2, 0.3)))
    text = write_urdf(Description("r", (Link("base", collisions=(capsule,)),)))
    (back,) = read_urdf(text).links[0].collisions
    assert back.shape == capsule.shape
    edited = text.replace('<sphere radius="0.1"', '<sphere radius="0.2"', 1)
    assert [type(g.shape) for g in read_urdf(edited).links[0].collisions] == [Cylinder, Sphere, Sphere]
