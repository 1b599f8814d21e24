"""Trajectories as JSON, CSV and messages: every column in its place, every complaint with the file's name."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memetik as mk
from memetik.errors import InvalidInputError
from memetik.motion.timing.trajectory import Trajectory
from memetik.motion.timing.trajectory_file import SCHEMA, from_csv, from_dict, to_csv, to_dict

NAMES = ("shoulder", "elbow")


@pytest.fixture
def curve() -> Trajectory:
    rows = np.random.default_rng(8).normal(size=(3, 4, 2))
    return Trajectory.from_points(NAMES, [0.0, 0.25, 1.0, 1.5], *rows)


def test_a_csv_file_has_one_named_column_a_value(curve, tmp_path):
    curve.save(tmp_path / "curve.csv")
    with (tmp_path / "curve.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [
        "time_from_start",
        *(f"{part}:{name}" for part in ("position", "velocity", "acceleration") for name in NAMES),
    ]
    for k, row in enumerate(rows):
        assert float(row["time_from_start"]) == curve.times[k]
        for column, name in enumerate(NAMES):
            assert float(row[f"position:{name}"]) == curve.positions[k, column]
            assert float(row[f"velocity:{name}"]) == curve.velocities[k, column]
            assert float(row[f"acceleration:{name}"]) == curve.accelerations[k, column]


def test_tables_of_the_first_release_stay_cubic():
    """Their accelerations may jump between pieces, so that no curve of the fifth degree through them is the motion."""
    text = "time,position:a,velocity:a,acceleration:a\n0,0,1,9\n1,1,1,9\n"
    assert np.allclose(from_csv(text).at(0.5), 0.5)
    assert not np.allclose(from_csv(text.replace("time", "time_from_start")).at(0.5), 0.5)


def test_columns_are_found_by_their_names_and_not_by_their_places():
    text = "time,velocity:b,position:b,note,position:a,velocity:a\n0,0,10,1,20,0\n1,0,11,1,22,0\n"
    found = from_csv(text)
    assert found.joint_names == ("b", "a")
    np.testing.assert_allclose(found.positions, [[10.0, 20.0], [11.0, 22.0]])
    np.testing.assert_allclose(found.velocities, 0.0)
    np.testing.assert_allclose(found.at(0.5), [10.5, 21.0])


def test_a_table_without_velocities_is_straight_between_its_points():
    found = from_csv("time,position:a\n0,0\n2,4\n")
    np.testing.assert_allclose(found.velocity([0.0, 1.0, 2.0]), 2.0)


def test_velocities_of_only_some_joints_are_not_used():
    found = from_csv("time,position:a,position:b,velocity:a\n0,0,0,9\n1,1,1,9\n")
    np.testing.assert_allclose(found.velocity(0.5), [1.0, 1.0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "first column 'time'"),
        ("time,position:a\n", "at least one row"),
        ("position:a,time\n1,2\n", "first column 'time'"),
        ("time,a\n0,1\n", "columns position:JOINT"),
        ("time,position:a\n0,1\n1\n", "does not hold a trajectory|as many cells"),
        ("time,position:a\n0,1,2\n1,2,3\n", "as many cells"),
        ("time,position:a\n0,one\n", "one"),
        ("time,position:a\n0,1\n0,2\n", "rise"),
        ("time,position:a\n0,nan\n1,2\n", "finite"),
    ],
)
def test_what_is_wrong_in_a_table_is_said(text, message):
    with pytest.raises(InvalidInputError, match=message):
        from_csv(text)


@settings(derandomize=True, max_examples=40, deadline=None)
@given(
    rng=st.integers(0, 1000),
    points=st.integers(2, 6),
    scale=st.sampled_from([1e-9, 1.0, 1e9]),
)
def test_tables_and_dictionaries_bring_back_what_they_were_made_of(rng, points, scale):
    generator = np.random.default_rng(rng)
    times = np.concatenate([[0.0], np.cumsum(generator.uniform(0.01, 1.0, points - 1))])
    curve = Trajectory.from_points(NAMES, times, *(scale * generator.normal(size=(2, points, 2))))
    back = from_csv(to_csv(curve))
    np.testing.assert_array_equal(back.times, curve.times)
    np.testing.assert_allclose(back.coefficients, curve.coefficients, rtol=1e-6, atol=1e-9 * scale)
    assert from_dict(json.loads(json.dumps(to_dict(curve)))) == curve


def test_a_json_file_holds_the_points_for_readers_of_other_kinds(curve, tmp_path):
    curve.save(tmp_path / "curve.json")
    data = json.loads((tmp_path / "curve.json").read_text())
    assert data["schema"] == SCHEMA == "memetik.trajectory/1"
    assert data["joint_names"] == list(NAMES)
    for key, rows in (
        ("positions", curve.positions),
        ("velocities", curve.velocities),
        ("accelerations", curve.accelerations),
    ):
        np.testing.assert_array_equal(data[key], rows)


def test_without_coefficients_a_file_is_cubic_between_its_points(curve):
    data = to_dict(curve)
    del data["coefficients"]
    found = from_dict(data)
    np.testing.assert_allclose(found.positions, curve.positions)
    np.testing.assert_allclose(found.velocities, curve.velocities)
    assert found.coefficients.shape[1] == 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "memetik.trajectory/2"}, "this version reads 'memetik.trajectory/1'"),
        ({"schema": None}, "the schema is None"),
        ({"joint_names": None}, "'joint_names' is needed"),
        ({"times": None}, "'times' is needed"),
        ({"coefficients": None, "positions": None}, "'positions' is needed"),
        ({"times": "soon"}, "the trajectory"),
        ({"times": [0.0, 10**400]}, "the trajectory"),
        ({"coefficients": [[1.0]]}, "coefficients have shape"),
        ({"joint_names": ["one"]}, "coefficients have shape"),
    ],
)
def test_what_is_wrong_in_a_dictionary_is_said(curve, change, message):
    with pytest.raises(InvalidInputError, match=message):
        from_dict({**to_dict(curve), **change})


def test_errors_of_a_file_begin_with_its_name(curve, tmp_path):
    path = tmp_path / "bent.json"
    path.write_text(json.dumps({**to_dict(curve), "times": [0.0, 1.0]}))
    with pytest.raises(InvalidInputError, match=r"the trajectory file '.*bent.json'.*coefficients"):
        Trajectory.load(path)
    with pytest.raises(InvalidInputError, match=r"missing.csv.*cannot be read"):
        Trajectory.load(tmp_path / "missing.csv")
    (tmp_path / "latin.csv").write_bytes(b"time,position:\xe9\n0,1\n")
    with pytest.raises(InvalidInputError, match=r"latin.csv.*cannot be read"):
        Trajectory.load(tmp_path / "latin.csv")


def test_an_unknown_ending_is_refused_before_anything_is_written(curve, tmp_path):
    with pytest.raises(InvalidInputError, match=r"\.json, \.csv, .*\.mcap, not 'curve.yaml'"):
        curve.save(tmp_path / "curve.yaml")
    assert not list(tmp_path.iterdir())


def test_a_file_is_replaced_as_a_whole(curve, tmp_path):
    path = tmp_path / "curve.json"
    curve.save(path)
    other = curve.stretched(2.0)
    other.save(path)
    assert Trajectory.load(path) == other
    assert [entry.name for entry in tmp_path.iterdir()] == ["curve.json"]


def test_the_seconds_of_a_message_are_whole_and_its_nanoseconds_below_a_second():
    """Rounding up to a full second must carry over."""
    times = [0.0, 0.9999999999, 1.5, 2.0000000004]
    message = Trajectory.from_points(("a",), times, np.zeros((4, 1))).to_ros()
    stamps = [point["time_from_start"] for point in message["points"]]
    assert [(stamp["sec"], stamp["nanosec"]) for stamp in stamps] == [(0, 0), (1, 0), (1, 500_000_000), (2, 0)]


def test_a_message_names_its_frame_and_its_joints(curve):
    message = curve.to_ros("base_link")
    assert message["header"] == {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": "base_link"}
    assert message["joint_names"] == list(NAMES)
    assert message["points"][2]["positions"] == curve.positions[2].tolist()
    assert message["points"][2]["velocities"] == curve.velocities[2].tolist()
    assert message["points"][2]["accelerations"] == curve.accelerations[2].tolist()
    assert message["points"][2]["effort"] == []
    json.dumps(message)


def test_a_message_without_velocities_is_straight_between_its_points():
    points = [
        {"positions": [0.0], "time_from_start": {"sec": 0, "nanosec": 0}},
        {"positions": [3.0], "velocities": [], "time_from_start": {"sec": 1, "nanosec": 500_000_000}},
    ]
    found = Trajectory.from_ros({"joint_names": ["a"], "points": points})
    assert found.duration == 1.5
    np.testing.assert_allclose(found.velocity([0.0, 1.0]), 2.0)


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        ({}, "not a JointTrajectory"),
        ({"joint_names": ["a"], "points": None}, "not a JointTrajectory"),
        ({"joint_names": ["a"], "points": [{"positions": [0.0]}]}, "time_from_start"),
        ({"joint_names": ["a"], "points": []}, "no points"),
    ],
)
def test_what_is_no_message_is_refused(message, complaint):
    with pytest.raises(InvalidInputError, match=complaint):
        Trajectory.from_ros(message)


@pytest.mark.parametrize("ending", ["ros.json", "ros.yaml", "csv"])
def test_what_controllers_take_is_read_back_at_its_points(tmp_path, ending):
    robot = mk.load_robot("ur5")
    trajectory = mk.time_path(robot, [robot.neutral, robot.neutral + 0.4, robot.neutral - 0.2]).resampled(50.0)
    trajectory.save(tmp_path / f"motion.{ending}")
    again = mk.Trajectory.load(tmp_path / f"motion.{ending}")
    assert again.joint_names == trajectory.joint_names
    np.testing.assert_allclose(again.times, trajectory.times, atol=1e-9)
    np.testing.assert_allclose(again.positions, trajectory.positions, atol=1e-9)
    np.testing.assert_allclose(again.velocities, trajectory.velocities, atol=1e-6)


def test_a_program_for_universal_robots_streams_the_motion(tmp_path):
    robot = mk.load_robot("ur5")
    trajectory = mk.time_path(robot, [robot.neutral, robot.neutral + 0.4])
    trajectory.save(tmp_path / "motion.script")
    lines = (tmp_path / "motion.script").read_text().splitlines()
    assert lines[0] == "def memetik_motion():"
    assert lines[-1] == "end"  # a controller runs what it is sent when this comes; a call behind it would be another
    rows = [list(map(float, line.split("[")[1].split("]")[0].split(","))) for line in lines if "servoj" in line]
    times = 0.008 * np.arange(1, len(rows) + 1)
    np.testing.assert_allclose(rows, trajectory.at(times), atol=1e-6)
    assert times[-1] >= trajectory.duration > times[-2]
    assert np.allclose(rows[-1], trajectory.end, atol=1e-6)


def test_a_program_for_six_joints_refuses_seven(tmp_path):
    robot = mk.load_robot("iiwa14")
    with pytest.raises(mk.InvalidInputError, match="6 joints"):
        mk.Trajectory.resting(robot.joint_names, robot.neutral).save(tmp_path / "motion.script")
