"""Trajectories as files and messages: JSON, CSV, MCAP, URScript, and the fields of ROS's JointTrajectory."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from memetik.errors import InvalidInputError
from memetik.files.atomic import write_whole
from memetik.files.schema import Table, Value, as_table, read_table
from memetik.motion.timing.points import as_points
from memetik.motion.timing.urscript import to_urscript

if TYPE_CHECKING:
    from memetik.motion.timing.trajectory import Trajectory

SCHEMA = "memetik.trajectory/1"

RECORDINGS = (".mcap", ".db3", ".bag")
"""Endings of recordings; what reads them is in memetik.ros, which stands above this room."""

_NANO = 1_000_000_000
_PARTS = ("position", "velocity", "acceleration")
_TIMES = ("time", "time_from_start")
"""First columns of a table. Release 0.1 wrote `time` with accelerations that its own reading did not use."""


def save(trajectory: Trajectory, path: str | PathLike[str]) -> None:
    """Write a trajectory in the format of the name's ending, all or nothing."""
    ending = _ending(Path(path), (*_WRITERS, ".mcap"), "saved as")
    if ending == ".mcap":
        import_module("memetik.ros.recordings.recording").save_trajectory(trajectory, path)
    else:
        write_whole(path, _WRITERS[ending](trajectory))


def load(path: str | PathLike[str]) -> Trajectory:
    """Read a trajectory in the format of the name's ending."""
    source = Path(path)
    ending = _ending(source, (".json", *_READERS, *RECORDINGS), "read from")
    if ending in RECORDINGS:
        return import_module("memetik.ros.recordings.trajectories").load_trajectory(path)
    if ending == ".json":
        return _trajectory(read_table(source, "the trajectory file", "json"))
    try:
        text = source.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"the trajectory file {str(source)!r} cannot be read: {error}.") from None
    return _READERS[ending](text, str(source))


def _ending(path: Path, known: Sequence[str], what: str) -> str:
    """The longest of the known endings that the name has."""
    found = [ending for ending in known if path.name.lower().endswith(ending)]
    if not found:
        raise InvalidInputError(f"a trajectory is {what} {', '.join(known)}, not {path.name!r}.")
    return max(found, key=len)


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
    """One row per point: time, then position, velocity and acceleration of every joint, as far as they are needed for
    interpolation between the rows to be the motion (`points.as_points`). With accelerations the first column is called
    `time_from_start`."""
    names, points = trajectory.joint_names, as_points(trajectory)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    parts = _PARTS[: len(points.given)]
    clock = _TIMES[len(points.given) == len(_PARTS)]
    writer.writerow([clock, *(f"{part}:{name}" for part in parts for name in names)])
    rows = np.column_stack([points.times, *points.given])
    writer.writerows([repr(value) for value in row] for row in rows.tolist())
    return stream.getvalue()


def from_csv(text: str, source: str = "the table") -> Trajectory:
    """From the table of `to_csv`: straight between rows of positions, cubic with velocities, of the fifth degree with
    accelerations too if the first column is called `time_from_start`."""
    from memetik.motion.timing.trajectory import Trajectory

    rows = [row for row in csv.reader(io.StringIO(text)) if row]
    if len(rows) < 2 or rows[0][0] not in _TIMES:
        raise InvalidInputError(
            f"{source} must have a first column 'time' or 'time_from_start' and at least one row of numbers."
        )
    header = rows[0]
    names = [name.removeprefix("position:") for name in header if name.startswith("position:")]
    try:
        table = np.array([[float(cell) for cell in row] for row in rows[1:]])
    except ValueError as error:
        raise InvalidInputError(f"{source} does not hold a trajectory: {error}.") from None
    if not names or table.ndim != 2 or table.shape[1] != len(header):
        raise InvalidInputError(f"{source} needs columns position:JOINT, and as many cells in each row.")
    columns = dict(zip(header, table.T, strict=True))
    parts = _PARTS if header[0] == _TIMES[1] else _PARTS[:2]
    given = [[columns[f"{part}:{name}"] for name in names if f"{part}:{name}" in columns] for part in parts]
    rows = [np.transpose(values) if len(values) == len(names) else None for values in given]
    return Trajectory.from_points(names, columns[header[0]], np.transpose(given[0]), *rows[1:])


def to_ros(trajectory: Trajectory, frame: str = "") -> dict[str, Any]:
    """The fields of trajectory_msgs/JointTrajectory, with as many derivatives as make joint_trajectory_controller's
    interpolation the motion (`points.as_points`); `effort` is empty, as is usual."""
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
            for time, positions, velocities, accelerations in as_points(trajectory).rows()
        ],
    }


def from_ros(message: Mapping[str, Any]) -> Trajectory:
    """From the fields of a JointTrajectory, as joint_trajectory_controller reads it: straight between points, cubic
    where all have velocities, of the fifth degree where they have accelerations too."""
    from memetik.motion.timing.trajectory import Trajectory

    try:
        points = message["points"]
        times = [p["time_from_start"]["sec"] + p["time_from_start"]["nanosec"] / _NANO for p in points]
        positions = [p["positions"] for p in points]
        derivatives = [[p.get(key) or [] for p in points] for key in ("velocities", "accelerations")]
        names = message["joint_names"]
    except (KeyError, TypeError) as error:
        raise InvalidInputError(f"this is not a JointTrajectory message: {error!r} is missing or wrong.") from None
    if not points:
        raise InvalidInputError("the JointTrajectory message has no points.")
    given = [rows if all(len(row) == len(names) for row in rows) else None for rows in derivatives]
    return Trajectory.from_points(names, times, positions, *given)


def _to_json(trajectory: Trajectory) -> str:
    return json.dumps(to_dict(trajectory), allow_nan=False)


def _to_ros_json(trajectory: Trajectory) -> str:
    return json.dumps(to_ros(trajectory), allow_nan=False, indent=1)


def _to_ros_yaml(trajectory: Trajectory) -> str:
    import yaml

    return yaml.safe_dump(to_ros(trajectory), sort_keys=False, default_flow_style=None, width=200)


def _from_ros_json(text: str, source: str) -> Trajectory:
    return from_ros(_parsed(json.loads, text, source))


def _from_ros_yaml(text: str, source: str) -> Trajectory:
    import yaml

    return from_ros(_parsed(yaml.safe_load, text, source))


def _parsed(parse: Callable[[str], Any], text: str, source: str) -> Any:
    try:
        return parse(text)
    except Exception as error:
        raise InvalidInputError(f"{source} cannot be read: {error}") from None


_WRITERS: dict[str, Callable[[Trajectory], str]] = {
    ".json": _to_json,
    ".csv": to_csv,
    ".ros.json": _to_ros_json,
    ".ros.yaml": _to_ros_yaml,
    ".script": to_urscript,
}
_READERS: dict[str, Callable[[str, str], Trajectory]] = {
    ".csv": from_csv,
    ".ros.json": _from_ros_json,
    ".ros.yaml": _from_ros_yaml,
}
