"""Recordings: what is written is read, bit for bit, by two readers that are not ours; bags become trajectories."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import memetik as mk
from memetik.errors import InvalidInputError, UnknownNameError
from memetik.ros.recordings.bags import read_samples

TASK = Path(__file__).parents[2] / "examples" / "tasks" / "panda_boxes.toml"
highlevel = pytest.importorskip("rosbags.highlevel")
mcap_reader = pytest.importorskip("mcap.reader")


@pytest.fixture(scope="module")
def robot() -> mk.Robot:
    return mk.load_robot("panda")


@pytest.fixture(scope="module")
def plan(robot: mk.Robot) -> mk.Plan:
    goal = robot.neutral.copy()
    goal[:3] += 0.4
    made = mk.plan(robot, goal, start=robot.neutral, self_collision=False)
    assert made.success
    return made


def by_mcap_ros2(path: Path, topic: str) -> list[Any]:
    from mcap_ros2.decoder import DecoderFactory

    with path.open("rb") as file:
        reader = mcap_reader.make_reader(file, decoder_factories=[DecoderFactory()])
        return [decoded for _, _, _, decoded in reader.iter_decoded_messages(topics=[topic])]


def by_rosbags(path: Path, topic: str) -> list[Any]:
    from rosbags.typesys import Stores, get_typestore

    # A plain MCAP file has no metadata.yaml beside it; AnyReader takes it as it is.
    with highlevel.AnyReader([path], default_typestore=get_typestore(Stores.EMPTY)) as reader:
        chosen = [connection for connection in reader.connections if connection.topic == topic]
        return [reader.deserialize(raw, connection.msgtype) for connection, _, raw in reader.messages(chosen)]


@pytest.mark.parametrize("read", [by_mcap_ros2, by_rosbags])
def test_a_saved_plan_is_read_bit_for_bit(plan: mk.Plan, tmp_path: Path, read: Any):
    path = tmp_path / "plan.mcap"
    plan.save(path)
    assert plan.trajectory is not None
    (message,) = read(path, "/joint_trajectory")
    assert tuple(message.joint_names) == plan.trajectory.joint_names
    for part in ("positions", "velocities"):
        rows = np.array([getattr(point, part) for point in message.points])
        assert np.array_equal(rows, getattr(plan.trajectory, part))
    assert not any(len(point.accelerations) for point in message.points)  # they jump, and would bend the motion
    (shown,) = read(path, "/display_planned_path")
    points = shown.trajectory[0].joint_trajectory.points
    assert np.array_equal([point.positions for point in points], plan.trajectory.positions)
    states = read(path, "/joint_states")
    times = np.linspace(0.0, plan.trajectory.duration, len(states))
    assert np.array_equal([state.position for state in states], [plan.trajectory.at(t) for t in times])
    (description,) = read(path, "/robot_description")
    assert description.data == plan.robot.to_urdf()


def test_a_saved_trajectory_comes_back_whole(plan: mk.Plan, tmp_path: Path):
    path = tmp_path / "way.mcap"
    assert plan.trajectory is not None
    plan.trajectory.save(path)
    assert mk.Trajectory.load(path) == plan.trajectory
    again = mk.load_trajectory(path, "/joint_trajectory")
    assert np.allclose(
        again.positions, plan.trajectory.positions, atol=1e-12, rtol=0.0
    )  # a polynomial's end is rounded
    assert np.allclose(again.times, plan.trajectory.times, atol=1e-9, rtol=0.0)
    two = mk.load_trajectory(path, joints=["panda_joint3", "panda_joint1"])
    assert np.array_equal(two.positions, plan.trajectory.positions[:, [2, 0]])
    with pytest.raises(UnknownNameError, match="panda_joint7"):
        mk.load_trajectory(path, joints=["panda_jointx"])
    with pytest.raises(UnknownNameError, match="joint_trajectory"):
        mk.load_trajectory(path, "/joint_trajectories")


def test_equal_runs_give_equal_files(plan: mk.Plan, tmp_path: Path):
    for name in ("a.mcap", "b.mcap"):
        plan.save(tmp_path / name)
    assert (tmp_path / "a.mcap").read_bytes() == (tmp_path / "b.mcap").read_bytes()


def test_an_execution_and_a_tracker_run_are_recorded(robot: mk.Robot, plan: mk.Plan, tmp_path: Path):
    assert plan.trajectory is not None
    report = mk.execute(plan, mk.ExactDriver(robot, robot.neutral), background=False).result()
    assert report.success
    tracker = mk.Tracker(mk.Problem(robot, [mk.Position(robot.tip)]), seed=robot.neutral)
    target = robot.pose(robot.tip, robot.neutral)[:3, 3]
    steps = []
    with mk.Recording(tmp_path / "run.mcap", robot) as recording:
        recording.execution(report, plan.trajectory.joint_names)
        for k in range(20):
            steps.append(tracker.step(target + np.array([0.0, 0.0, 0.02 * k])))
            recording.step(10.0 + 0.01 * k, steps[-1], robot.joint_names)
    states = by_mcap_ros2(tmp_path / "run.mcap", "/joint_states")
    measured, tracked = states[: len(report.times)], states[len(report.times) :]
    assert np.array_equal([state.position for state in measured], report.positions)
    assert np.array_equal([state.position for state in tracked], [step.q for step in steps])
    due = by_rosbags(tmp_path / "run.mcap", "/joint_references")
    assert np.array_equal([state.position for state in due], report.references)
    assert [line.msg for line in by_mcap_ros2(tmp_path / "run.mcap", "/rosout")] == [e.what for e in report.events]
    status = by_mcap_ros2(tmp_path / "run.mcap", "/tracking")
    assert any("at a bound" in each.status[0].message for each in status)


def test_memetik_run_records(tmp_path: Path):
    path = tmp_path / "task.mcap"
    command = [sys.executable, "-m", "memetik.cli", "run", str(TASK), "--driver", "exact", "--record", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    sent, states = by_rosbags(path, "/joint_trajectory"), by_rosbags(path, "/joint_states")
    assert len(sent) > 2
    assert len(states) > 100
    stamps = [state.header.stamp.sec + 1e-9 * state.header.stamp.nanosec for state in states]
    assert (np.diff(stamps) > 0.0).all()
    taught = mk.load_trajectory(path, "/joint_states")
    assert np.array_equal(taught.positions[:-1], [state.position for state in states[:-1]])


@pytest.mark.parametrize("form", ["mcap", "sqlite", "ros1", "ros1 bz2", "ros1 lz4"])
def test_bags_written_by_others_come_back(form: str, tmp_path: Path):
    times = 1_700_000_000 * 10**9 + np.arange(50) * 20_000_000
    rows = np.random.default_rng(0).normal(size=(50, 3))
    path = _written(form, tmp_path / ("bag.bag" if form.startswith("ros1") else "bag"), times, rows)
    taught = mk.load_trajectory(path)
    assert taught.joint_names == ("a", "b", "c")
    assert np.array_equal(taught.positions[:-1], rows[:-1])
    assert np.allclose(taught.positions[-1], rows[-1], atol=1e-12, rtol=0.0)  # a polynomial's end is rounded
    assert np.array_equal(taught.times, (times - times[0]) / 1e9)
    last = mk.load_trajectory(path, joints=["c"])
    assert np.array_equal(last.positions[:-1], rows[:-1, 2:])
    if form == "ros1":
        assert mk.Trajectory.load(path) == taught


def test_damaged_recordings_are_refused(plan: mk.Plan, tmp_path: Path):
    times = np.arange(50) * 20_000_000
    rows = np.zeros((50, 3))
    assert plan.trajectory is not None
    plan.trajectory.save(tmp_path / "way.mcap")
    sources = {
        ".mcap": (tmp_path / "way.mcap").read_bytes(),
        ".bag": _written("ros1 lz4", tmp_path / "b.bag", times, rows).read_bytes(),
        ".db3": next(_written("sqlite", tmp_path / "b2", times, rows).glob("*.db3")).read_bytes(),
    }
    rng = np.random.default_rng(0)
    refused = 0
    for ending, good in sources.items():
        for k in range(60):
            data = bytearray(good[: rng.integers(0, len(good))] if k % 2 else good)
            for _ in range(20 if k % 2 == 0 else 0):
                data[rng.integers(0, len(data))] = rng.integers(0, 256)
            path = tmp_path / f"bad{ending}"
            path.write_bytes(data)
            try:
                list(read_samples(path))
                mk.Trajectory.load(path)
            except mk.errors.MemetikError:
                refused += 1
    assert refused > 60


def test_what_is_no_recording_is_refused(tmp_path: Path):
    with pytest.raises(InvalidInputError, match=r"\.mcap"):
        mk.Recording(tmp_path / "x.bag")
    with pytest.raises(InvalidInputError, match="no recording"):
        mk.load_trajectory(tmp_path / "none.bag")
    with pytest.raises(InvalidInputError, match=r"holds no \.mcap"):
        mk.load_trajectory(tmp_path)


def _written(form: str, path: Path, times: np.ndarray, rows: np.ndarray) -> Path:
    from rosbags.rosbag1 import Writer as Writer1
    from rosbags.rosbag2 import StoragePlugin
    from rosbags.rosbag2 import Writer as Writer2
    from rosbags.typesys import Stores, get_typestore

    old = form.startswith("ros1")
    store = get_typestore(Stores.ROS1_NOETIC if old else Stores.ROS2_JAZZY)
    joint_state, header = store.types["sensor_msgs/msg/JointState"], store.types["std_msgs/msg/Header"]
    time = store.types["builtin_interfaces/msg/Time"]
    plugin = StoragePlugin.SQLITE3 if form == "sqlite" else StoragePlugin.MCAP
    writer = Writer1(path) if old else Writer2(path, version=9, storage_plugin=plugin)
    if " " in form:
        writer.set_compression(Writer1.CompressionFormat[form.split()[1].upper()])
    with writer:
        connection = writer.add_connection("/joint_states", "sensor_msgs/msg/JointState", typestore=store)
        for k, (at, row) in enumerate(zip(times.tolist(), rows, strict=True)):
            stamped = {"stamp": time(at // 10**9, at % 10**9), "frame_id": "base"}
            message = joint_state(
                header(seq=k, **stamped) if old else header(**stamped), ["a", "b", "c"], row, np.zeros(0), np.zeros(0)
            )
            raw = (
                store.serialize_ros1(message, connection.msgtype)
                if old
                else store.serialize_cdr(message, connection.msgtype)
            )
            writer.write(connection, at, raw)
    return path
