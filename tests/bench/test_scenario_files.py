"""Scenarios from files: meshes and clouds as they come, planning scenes in YAML, targets sampled on surfaces."""

import math
import struct

import numpy as np
import pytest

import memetik as mk
from memetik.bench.run.sample import Choice, sample_mesh
from memetik.bench.run.verification import Verifier
from memetik.bench.scenarios import REACHABLE, scenario
from memetik.bench.scenarios.motion_bench import load_yaml_scene
from memetik.errors import GeometryError, InvalidInputError, MemetikError, UnknownNameError
from memetik.geometry.mesh_files import load_oriented_points

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
    with pytest.raises(InvalidInputError, match="seed"):
        sample_mesh(box, tmp_path / "t.pcd", 5, seed=-1)
    with pytest.raises(InvalidInputError, match="scale"):
        sample_mesh(box, tmp_path / "t.pcd", 5, scale=0.0)
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
        ({"pose": {"position": ["a", 0, 0]}}, "the scenario .*box.toml', line .*, pose: position must be 3 numbers"),
        ({"standoff": "x"}, "the scenario .*box.toml', line .*: standoff must be"),
        ({"scale": 0}, "scale must be a number above zero"),
        ({"scene": 5}, "the scenario .*box.toml', line .*: scene must be"),
        ({"mesh": 7}, "the scenario .*box.toml', line .*: mesh must be"),
        ({"robot": 7}, "the scenario .*box.toml', line .*: robot must be"),
        ({"touch": 5}, "touch is true, false or a list of links"),
        ({"touch": "wrist_3_link"}, "touch is true, false or a list of links"),
    ):
        sample_mesh(box, tmp_path / "box.pcd", 5)
        with pytest.raises(InvalidInputError, match=words):
            scenario(scenario_file(tmp_path, **entries), targets=1)


def test_links_that_may_touch_are_links_of_the_robot(tmp_path, box):
    sample_mesh(box, tmp_path / "box.pcd", 5)
    with pytest.raises(UnknownNameError, match="touch"):
        scenario(scenario_file(tmp_path, pose=POSE, touch=["wrist_4_link"]), targets=1)
    found = scenario(scenario_file(tmp_path, pose=POSE, touch=["forearm_link"]), targets=1, reachability="skip")
    assert found.scene.allowed == {("forearm_link", "mesh")}


def test_another_link_or_tolerance_or_touch_is_another_search(tmp_path, box):
    sample_mesh(box, tmp_path / "box.pcd", 8, Choice(facing="+z"))
    for entries in ({}, {"link": "wrist_1_link"}, {"spin": "free"}, {"touch": False, "standoff": 0.05}):
        found = scenario(scenario_file(tmp_path, pose=POSE, **entries), targets=8, reachability="check")
        check = Verifier(found.robot, found.goals, found.scene, self_collision=found.self_collision)
        for k in np.flatnonzero(found.reachable == REACHABLE):
            assert check.check(found.of(k), found.known_solutions[k]).holds


def test_proofs_from_the_cache_are_verified_again(tmp_path, box, monkeypatch):
    monkeypatch.setenv("MEMETIK_CACHE", str(tmp_path / "cache"))
    sample_mesh(box, tmp_path / "box.pcd", 3, Choice(facing="+z"))
    first = scenario(scenario_file(tmp_path, pose=POSE), targets=3)
    (entry,) = (tmp_path / "cache").glob("reachability-*.npz")
    with np.load(entry) as kept:
        np.savez(entry, reachable=kept["reachable"], witnesses=kept["witnesses"] + 0.1)
    again = scenario(scenario_file(tmp_path, pose=POSE), targets=3)
    assert np.array_equal(again.known_solutions, first.known_solutions)


def test_meshes_in_millimetres_are_scaled_and_huge_ones_remarked_upon(tmp_path):
    (tmp_path / "box.ply").write_text(polygon_ply([tuple(1000.0 * v for v in corner) for corner in CORNERS]))
    plain = sample_mesh(tmp_path / "box.ply", tmp_path / "plain.pcd", 20)
    assert "200 m large" in plain["remarks"][0]
    report = sample_mesh(
        tmp_path / "box.ply", tmp_path / "box.pcd", 20, Choice(within="-1 -1 0.15 1 1 1"), robot="ur10", scale=0.001
    )
    assert report["area"] == pytest.approx(0.04)
    assert report["remarks"] == []
    found = scenario(report["scenario"], targets=20, reachability="skip")
    assert np.allclose(found.poses[:, 2, 3], 0.2)
    assert np.ptp(found.scene["mesh"].shape.vertices, axis=0) == pytest.approx((0.2, 0.2, 0.2))
    huge = scenario(scenario_file(tmp_path, scale=1.0), targets=2, reachability="skip")
    assert "scale = 0.001" in huge.metadata["remarks"][0]


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


@pytest.mark.parametrize(
    ("request_text", "words"),
    [
        ("goal_constraints: 5", "request1.yaml', line 1: goal_constraints must be a list"),
        ("goal_constraints: [{joint_constraints: [{joint: a, position: 1}]}]", "'joint_name' is needed"),
        (
            "goal_constraints: [{joint_constraints: [{joint_name: elbow_joint, position: x}]}]",
            "position must be a number, not 'x'",
        ),
        ("start_state: {joint_state: {name: [elbow_joint], position: [1, 2]}}", "1 names and 2 positions"),
        ("start_state: {joint_state: 4}", "request1.yaml', line 1, start_state: joint_state must be"),
        ("start_state: 4", "request1.yaml', line 1: start_state must be"),
    ],
)
def test_requests_that_are_none_are_refused(tmp_path, request_text, words):
    (tmp_path / "scene1.yaml").write_text(SCENE)
    (tmp_path / "request1.yaml").write_text(request_text)
    with pytest.raises(InvalidInputError, match=words):
        scenario(str(tmp_path / "scene1.yaml"), "ur10", targets=2, reachability="skip")


def test_as_many_targets_as_a_request_has_need_no_others(tmp_path):
    (tmp_path / "scene1.yaml").write_text(SCENE)
    (tmp_path / "request1.yaml").write_text(REQUEST)
    assert len(scenario(str(tmp_path / "scene1.yaml"), "ur10", targets=2, reachability="skip")) == 2


def test_yaml_that_is_no_scene_is_refused(tmp_path):
    path = tmp_path / "scene.yaml"
    for text, words in (
        ("- 1\n", "must be a mapping"),
        ("world: {collision_objects: []}", "no collision objects"),
        ("world: {collision_objects: [{id: a}]}", "neither primitives"),
        ("world: {collision_objects: [{id: a, primitives: [{type: torus, dimensions: [1]}]}]}", "torus"),
        ("world: {collision_objects: [{id: a, meshes: [{resource: 'package://x/y.stl'}]}]}", "ROS package"),
        ("world: {collision_objects: [5]}", "collision_objects must be a list of mappings"),
        ("world: {collision_objects: [{id: a, primitives: [5]}]}", "object 'a': primitives must be a list"),
        ("world: {collision_objects: [{id: a, primitives: 5}]}", "object 'a': primitives must be a list"),
        (
            "world: {collision_objects: [{id: a, primitives: [{type: box, dimensions: [1, x, 1]}]}]}",
            "object 'a': dimensions must be a list of numbers, not",
        ),
        (
            "world: {collision_objects: [{id: a, pose: {position: [1, 2]}}]}",
            "scene.yaml', line 1, .*pose: position",
        ),
        ("world: {collision_objects: [{id: a, pose: {position: {x: y}}}]}", "x must be a number, not 'y'"),
        ("a: [", "not YAML that can be read"),
        ("world: {collision_objects: [{primitives: [5]}]}", "'id' is needed"),
    ):
        path.write_text(text)
        with pytest.raises(MemetikError, match=words):
            load_yaml_scene(path)


def test_a_motion_that_was_measured_is_a_stream(tmp_path):
    """Joint states in a recording, read, saved as a table, and followed as a stream."""
    robot, path = mk.load_robot("ur5"), tmp_path / "taught.mcap"
    t = np.linspace(0.0, 4.0, 200)
    q = robot.neutral + 0.4 * np.sin(t[:, None] * np.linspace(0.5, 1.2, robot.dof))
    with mk.Recording(path, robot) as recording:
        for time, row in zip(t, q, strict=True):
            recording.configuration(robot.joint_names, row, float(time))
    mk.load_trajectory(path).save(tmp_path / "taught.csv")
    found = scenario(str(tmp_path / "taught.csv"), robot="ur5", targets=60, reachability="skip")
    assert len(found) == 60
    off = np.abs(found.known_solutions[:, None] - q[None]).max(axis=2).min(axis=1)
    assert off.max() < 0.02  # each lies between two that were measured
    assert np.abs(found.known_solutions - found.seeds).max() <= 0.0201
    np.testing.assert_array_equal(found.seeds[1:30], found.known_solutions[:29])
    at = found.seeds[0]
    for k in range(len(found)):
        solution = found.problem.solve(*found.of(k), seed=at, evaluations=2000, timeout=math.inf)
        assert solution.success
        at = solution.q


@pytest.mark.parametrize(
    ("text", "match"),
    [("time,position:elbow\n0,0\n1,1\n", "elbow"), ("time\n0\n1\n", "position:JOINT"),
     ("time,position:elbow_joint\n0,0\n1,x\n", "cannot be read"),
     ("time,position:elbow_joint\n0,1\n1,1\n", "does not move")],
)  # fmt: skip
def test_tables_that_are_no_motion_are_refused(tmp_path, text, match):
    (tmp_path / "motion.csv").write_text(text)
    with pytest.raises(MemetikError, match=match):
        scenario(str(tmp_path / "motion.csv"), robot="ur5", targets=5)
