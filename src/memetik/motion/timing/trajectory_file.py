"""Trajectories as files and messages: JSON, CSV, MCAP, and the fields of ROS's JointTrajectory."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from memetik.errors import InvalidInputError
from memetik.files.atomic import write_whole
from memetik.files.schema import Table, Value, as_table, read_table

if TYPE_CHECKING:
    from memetik.motion.timing.trajectory import Trajectory

SCHEMA = "memetik.trajectory/1"

RECORDINGS = (".mcap", ".db3", ".bag")
"""Endings of recordings; what reads them is in memetik.ros, which stands above this room."""

_NANO = 1_000_000_000


def save(trajectory: Trajectory, path: str | PathLike[str]) -> None:
    """Write a trajectory as JSON, CSV or MCAP, by the name's ending; all or nothing."""
    target = Path(path)
    if target.suffix == ".mcap":
        import_module("memetik.ros.recordings.recording").save_trajectory(trajectory, path)
        return
    if target.suffix == ".json":
        text = json.dumps(to_dict(trajectory), allow_nan=False)
    elif target.suffix == ".csv":
        text = to_csv(trajectory)
    else:
        raise InvalidInputError(f"a trajectory is saved as .json, .csv or .mcap, not as {target.name!r}.")
    write_whole(target, text)


def load(path: str | PathLike[str]) -> Trajectory:
    """Read a trajectory from JSON, CSV or a recording, by the name's ending."""
    source = Path(path)
    if source.suffix in RECORDINGS:
        return import_module("memetik.ros.recordings.trajectories").load_trajectory(path)
    if source.suffix not in (".json", ".csv"):
        known = ", ".join((".json", ".csv", *RECORDINGS))
        raise InvalidInputError(f"a trajectory is read from {known}, not from {source.name!r}.")
    if source.suffix == ".json":
        return _trajectory(read_table(source, "the trajectory file", "json"))
    try:
        text = source.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"the trajectory file {str(source)!r} cannot be read: {error}.") from None
    return from_csv(text, str(source))


def to_dict(trajectory: Trajectory) -> dict[str, Any]:
    """All pieces; positions, velocities and accelerations at their ends are there for readers of other kinds."""
    return {
        "schema": SCHEMA,
        "joint_names": list(trajectory.joint_names),
        "times": trajectory.times.tolist(),
        "positions": trajectory.positions.tolist(),
        "velocities": trajectory.velocities.tolist(),
        "accelerations": trajectory.accelerations.tolist(),
        "coefficients": trajectory.coefficients.tolist(),
    }


def from_dict(data: Value, source: str = "the trajectory") -> Trajectory:
    """From what `to_dict` gives; without coefficients, cubic between the points."""
    return _trajectory(as_table(data, source))


def _trajectory(table: Table) -> Trajectory:
    from memetik.motion.timing.trajectory import Trajectory

    table.schema(SCHEMA)
    for key in ("joint_names", "times", *(("positions",) if "coefficients" not in table else ())):
        if key not in table:
            raise table.error(f"{key!r} is needed.")
    data = table.data
    with table.naming_errors():
        if "coefficients" in table:
            return Trajectory(data["joint_names"], data["times"], data["coefficients"])
        return Trajectory.from_points(data["joint_names"], data["times"], data["positions"], data.get("velocities"))


def to_csv(trajectory: Trajectory) -> str:
    """One row per point: time, then position, velocity and acceleration of every joint."""
    names = trajectory.joint_names
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    parts = ("position", "velocity", "acceleration")
    writer.writerow(["time", *(f"{part}:{name}" for part in parts for name in names)])
    rows = np.column_stack([trajectory.times, trajectory.positions, trajectory.velocities, trajectory.accelerations])
    writer.writerows([repr(value) for value in row] for row in rows.tolist())
    return stream.getvalue()


def from_csv(text: str, source: str = "the table") -> Trajectory:
    """From the table of `to_csv`, or one without velocities and accelerations."""
    from memetik.motion.timing.trajectory import Trajectory

    rows = [row for row in csv.reader(io.StringIO(text)) if row]
    if len(rows) < 2 or rows[0][0] != "time":
        raise InvalidInputError(f"{source} must have a first column 'time' and at least one row of numbers.")
    header = rows[0]
    names = [name.removeprefix("position:") for name in header if name.startswith("position:")]
    try:
        table = np.array([[float(cell) for cell in row] for row in rows[1:]])
    except ValueError as error:
        raise InvalidInputError(f"{source} does not hold a trajectory: {error}.") from None
    if not names or table.ndim != 2 or table.shape[1] != len(header):
        raise InvalidInputError(f"{source} needs columns position:JOINT, and as many cells in each row.")
    columns = dict(zip(header, table.T, strict=True))
    positions, velocities = (
        [columns[f"{part}:{name}"] for name in names if f"{part}:{name}" in columns]
        for part in ("position", "velocity")
    )
    rates = np.transpose(velocities) if len(velocities) == len(names) else None
    return Trajectory.from_points(names, columns["time"], np.transpose(positions), rates)


def to_ros(trajectory: Trajectory, frame: str = "") -> dict[str, Any]:
    """The fields of trajectory_msgs/JointTrajectory; `effort` is empty, as is usual."""
    values = (trajectory.times, trajectory.positions, trajectory.velocities, trajectory.accelerations)
    rows = zip(*(each.tolist() for each in values), strict=True)
    return {
        "header": {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": frame},
        "joint_names": list(trajectory.joint_names),
        "points": [
            {
                "positions": positions,
                "velocities": velocities,
                "accelerations": accelerations,
                "effort": [],
                "time_from_start": dict(zip(("sec", "nanosec"), divmod(round(time * _NANO), _NANO), strict=True)),
            }
            for time, positions, velocities, accelerations in rows
        ],
    }


def from_ros(message: Mapping[str, Any]) -> Trajectory:
    """From the fields of a JointTrajectory; cubic between points where there are velocities, else straight."""
    from memetik.motion.timing.trajectory import Trajectory

    try:
        points = message["points"]
        times = [p["time_from_start"]["sec"] + p["time_from_start"]["nanosec"] / _NANO for p in points]
        positions = [p["positions"] for p in points]
        velocities = [p.get("velocities") or [] for p in points]
        names = message["joint_names"]
    except (KeyError, TypeError) as error:
        raise InvalidInputError(f"this is not a JointTrajectory message: {error!r} is missing or wrong.") from None
    if not points:
        raise InvalidInputError("the JointTrajectory message has no points.")
    complete = all(len(row) == len(names) for row in velocities)
    return Trajectory.from_points(names, times, positions, velocities if complete else None)
