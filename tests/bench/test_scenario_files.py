"""Scenarios from files: meshes and clouds as they come, planning scenes in YAML, targets sampled on surfaces."""

import math
import struct

import numpy as np
import pytest

from memetik.bench.sample import Choice, sample_mesh
from memetik.bench.scenarios import REACHABLE, scenario
from memetik.bench.scenarios.motion_bench import load_yaml_scene
from memetik.errors import GeometryError, InvalidInputError, MemetikError, UnknownNameError
from memetik.scene.mesh_files import load_oriented_points

# A box of 0.2 m: eight corners, six squares, and an edge element behind them, as modelling programs write it.
CORNERS = [(x, y, z) for z in (0.0, 0.2) for y in (-0.1, 0.1) for x in (-0.1, 0.1)]
SQUARES = [(0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)]


def polygon_ply(corners=CORNERS):
    lines = ["ply", "format ascii 1.0", f"element vertex {len(corners)}"]
    lines += [f"property float {axis}" for axis in "xyz"]
    lines += ["element face 6", "property list uchar int vertex_indices", "element edge 1", "property int vertex1",
              "property int vertex2", "end_header"]  # fmt: skip
    lines += [" ".join(map(str, corner)) for corner in corners]
    lines += ["4 " + " ".join(map(str, square)) for square in SQUARES]
    return "\n".join([*lines, "0 1"]) + "\n"


@pytest.fixture
def box(tmp_path):
    path = tmp_path / "box.ply"
    path.write_text(polygon_ply())
    return path


def scenario_file(folder, **entries):
    given = {"schema": "memetik.scenario/1", "robot": "ur10", "mesh": "box.ply", "targets": "box.pcd", **entries}
    lines = []
    for key, value in given.items():
        text = f'"{value}"' if isinstance(value, str) else str(value).replace("'", '"').replace(": ", " = ")
        lines += [] if value is None else [f"{key} = {text.lower() if isinstance(value, bool) else text}"]
    path = folder / "box.toml"
    path.write_text("\n".join(lines))
    return str(path)


POSE = {"position": [0.0, 0.6, 0.2]}


@pytest.mark.parametrize("suffix", ["pcd", "ply"])
def test_targets_lie_on_the_chosen_surface_and_come_back_with_their_normals(box, suffix):
    report = sample_mesh(box, box.with_suffix(f".targets.{suffix}"), 50, Choice(facing="+z", angle=10.0))
    points, normals = load_oriented_points(report["output"])
    assert report["area"] == pytest.approx(0.04)
    assert report["whole_area"] == pytest.approx(0.24)
    assert points.shape == (50, 3)
    assert np.allclose(points[:, 2], 0.2)
    assert np.allclose(normals, (0.0, 0.0, 1.0))


def test_sampling_is_even_or_random_inside_or_outside_and_repeats_itself(box, tmp_path):
    def sampled(**options):
        choice = options.pop("choice", Choice())
        sample_mesh(box, tmp_path / "t.ply", 40, choice, **options)
        return load_oriented_points(tmp_path / "t.ply")

    def nearest(points):
        away = np.linalg.norm(points[:, None] - points[None], axis=2) + 9.0 * np.eye(len(points))
        return away.min()

    assert np.array_equal(sampled(seed=3)[0], sampled(seed=3)[0])
    assert nearest(sampled(even=True)[0]) > 3.0 * nearest(sampled()[0])
    points, normals = sampled(choice=Choice(side="in"))
    assert (np.einsum("ij,ij->i", points - (0.0, 0.0, 0.1), normals) < 0.0).all()
    points, _ = sampled(choice=Choice(within="-1 -1 0.15 1 1 1"))
    assert np.allclose(points[:, 2], 0.2)


def test_bad_choices_are_explained(box, tmp_path):
    for choice, words in (
        (Choice(facing="up"), "3 numbers"),
        (Choice(within="1 2 3"), "6 numbers"),
        (Choice(side="left"), "'out' or 'in'"),
    ):
        with pytest.raises(InvalidInputError, match=words):
            sample_mesh(box, tmp_path / "t.pcd", 5, choice)
    with pytest.raises(GeometryError, match="none of the"):
        sample_mesh(box, tmp_path / "t.pcd", 5, Choice(within="5 5 5 6 6 6"))
    with pytest.raises(InvalidInputError, match="pcd or"):
        sample_mesh(box, tmp_path / "t.txt", 5)
    assert not (tmp_path / "t.pcd").exists()


def test_a_mesh_and_a_cloud_make_a_scenario(box, tmp_path):
    sample_mesh(box, tmp_path / "box.pcd", 30, Choice(facing="+z"))
    found = scenario(scenario_file(tmp_path, pose=POSE), targets=6)
    assert (found.reachable == REACHABLE).all()
    assert np.allclose(found.poses[:, 2, 3], 0.4)
    assert np.allclose(found.poses[:, :3, 2], (0.0, 0.0, -1.0), atol=1e-6)
    assert ("mesh", "wrist_3_link") in found.scene.allowed
    free = scenario(scenario_file(tmp_path, pose=POSE, spin="free", standoff=0.05), targets=6)
    assert len(free.goals) == 2
    assert np.allclose(free.targets[0][:, 2], 0.45)
    assert found.key != free.key
    everything = scenario(scenario_file(tmp_path, pose=POSE), targets=100, reachability="skip")
    assert np.allclose(everything.poses[:, :3, 3], load_oriented_points(tmp_path / "box.pcd")[0] + POSE["position"])


def test_a_binary_cloud_with_colours_between_is_read_as_it_is(box, tmp_path):
    header = "VERSION 0.7\nFIELDS x y z rgb normal_x normal_y normal_z curvature\nSIZE 4 4 4 4 4 4 4 4\n"
    header += "TYPE F F F U F F F F\nCOUNT 1 1 1 1 1 1 1 1\nWIDTH 2\nHEIGHT 1\nPOINTS 2\nDATA binary\n"
    rows = [(0.0, 0.0, 0.2, 7, 0.0, 0.0, 2.0, 0.1), (0.05, 0.0, 0.2, 7, math.nan, 0.0, 1.0, 0.1)]
    (tmp_path / "box.pcd").write_bytes(header.encode() + b"".join(struct.pack("<fffIffff", *row) for row in rows))
    points, normals = load_oriented_points(tmp_path / "box.pcd")
    assert np.allclose(points, [(0.0, 0.0, 0.2)])
    assert np.allclose(normals, [(0.0, 0.0, 1.0)])


def test_poses_may_be_listed(tmp_path, box):
    poses = [
        {"position": [0.5, 0.2, 0.4], "rpy": [math.pi, 0, 0]},
        {"position": [0.4, 0.3, 0.5], "rpy": [math.pi, 0, 1]},
    ]
    found = scenario(scenario_file(tmp_path, targets=None, mesh=None, poses=poses), targets=2)
    assert np.allclose(found.poses[1, :3, 3], (0.4, 0.3, 0.5))
    assert found.scene is None


def test_damaged_files_end_in_one_clear_error(box, tmp_path):
    sample_mesh(box, tmp_path / "good.pcd", 20)
    good = (tmp_path / "good.pcd").read_bytes()
    for name, data in (
        ("empty.pcd", b""),
        ("cut.pcd", good[: len(good) // 2]),
        ("header.pcd", good[:60]),
        ("bare.pcd", good.replace(b"normal_", b"tangent_")),
        ("noise.ply", bytes(range(256)) * 4),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(MemetikError, match=name):
            scenario(scenario_file(tmp_path, targets=name), targets=2)
    sample_mesh(box, tmp_path / "box.pcd", 20)
    for text in ("", polygon_ply()[:200], polygon_ply([(math.nan,) * 3] * 8)):
        box.write_text(text)
        with pytest.raises(MemetikError, match=r"box\.ply"):
            scenario(scenario_file(tmp_path), targets=2)


def test_wrong_scenario_files_are_explained(tmp_path, box):
    with pytest.raises(InvalidInputError, match="no scenario file"):
        scenario("none.toml", "ur10")
    for entries, words in (
        ({"schema": "memetik.scenario/7"}, "memetik.scenario/1"),
        ({"standof": 0.1}, "standoff"),
        ({"targets": None}, "either 'targets'"),
        ({"pose": {"positon": [0, 0, 0]}}, "position"),
    ):
        sample_mesh(box, tmp_path / "box.pcd", 5)
        with pytest.raises(InvalidInputError, match=words):
            scenario(scenario_file(tmp_path, **entries), targets=1)


SCENE = """
name: (noname)+
world:
  collision_objects:
    - id: shelf
      primitives:
        - {type: box, dimensions: [0.3, 1.0, 0.02]}
        - {type: 3, dimensions: [0.2, 0.05]}
      primitive_poses:
        - {position: [0.7, 0, 0.4], orientation: [0, 0, 0, 1]}
        - {position: {x: 0.7, y: 0.1, z: 0.52}, orientation: {x: 0, y: 0, z: 0, w: 1}}
    - id: wedge
      pose: {position: [0, 0, 1.5], orientation: [0, 0, 0, 1]}
      meshes:
        - vertices: [[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]]
          triangles: [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
"""
REQUEST = """
start_state: {joint_state: {name: [elbow_joint], position: [1.2]}}
goal_constraints:
  - joint_constraints:
      - {joint_name: shoulder_lift_joint, position: -1.3}
      - {joint_name: elbow_joint, position: 1.0}
"""


def test_planning_scenes_and_requests_in_yaml_make_a_scenario(tmp_path):
    path = tmp_path / "scene0001.yaml"
    path.write_text(SCENE)
    (tmp_path / "request0001.yaml").write_text(REQUEST)
    scene = load_yaml_scene(path)
    assert scene.names == ("shelf_1", "shelf_2", "wedge")
    assert scene["shelf_2"].shape.radius == 0.05
    assert np.allclose(scene["shelf_2"].pose[:3, 3], (0.7, 0.1, 0.52))
    assert np.allclose(scene["wedge"].pose[:3, 3], (0.0, 0.0, 1.5))
    found = scenario(str(path), "ur10", targets=6, reachability="check")
    asked = found.robot.q({"shoulder_lift_joint": -1.3, "elbow_joint": 1.0})
    assert np.allclose(found.poses[0], found.robot.pose(found.link, asked))
    assert (found.reachable[2:] == REACHABLE).all()
    with pytest.raises(UnknownNameError, match="joint"):
        scenario(str(path), "panda", targets=2)


def test_yaml_that_is_no_scene_is_refused(tmp_path):
    path = tmp_path / "scene.yaml"
    for text, words in (
        ("- 1\n", "no planning scene"),
        ("world: {collision_objects: []}", "no collision objects"),
        ("world: {collision_objects: [{id: a}]}", "neither primitives"),
        ("world: {collision_objects: [{id: a, primitives: [{type: torus, dimensions: [1]}]}]}", "torus"),
        ("world: {collision_objects: [{id: a, meshes: [{resource: 'package://x/y.stl'}]}]}", "ROS package"),
        ("a: [", "cannot be read"),
    ):
        path.write_text(text)
        with pytest.raises(MemetikError, match=words):
            load_yaml_scene(path)
