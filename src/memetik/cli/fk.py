"""`memetik fk ROBOT`: where links are in a posture."""

from __future__ import annotations

import json
import sys
from typing import Any

import typer

from memetik.cli.output import JSON_OPTION, print_json, print_table


def fk(
    robot: str = typer.Argument(help="Bundled name, or path of a URDF, xacro or MJCF file."),
    q: str | None = typer.Option(None, help="All joint values in order, separated by blanks or commas."),
    joints: list[str] = typer.Option([], help="NAME=VALUE; repeatable. Joints not named stay in the middle."),
    link: list[str] = typer.Option([], help="Link to print; repeatable. Without it, the robot's tip."),
    read: str | None = typer.Option(
        None, "--input", help='JSON file ("-" for standard input) with "q" (one or many) or "joints", and "links".'
    ),
    search_path: list[str] = typer.Option([], help="Folder that holds packages or meshes; repeatable."),
    as_json: bool = JSON_OPTION,
) -> None:
    """Forward kinematics: poses of links, in metres and radians, in the world's frame."""
    import memetik as mk

    model = mk.load_robot(robot, search_path=search_path)
    stated = _read_json(read) if read else {}
    posture = _posture(model, q, joints, stated)
    links = link or stated.get("links") or [model.tip]
    poses = {name: model.pose(name, posture) for name in links}
    if as_json:
        described = {name: _describe(pose) for name, pose in poses.items()}
        data = {"robot": model.name, "joint_names": list(model.joint_names), "q": posture, "poses": described}
        print_json("memetik.fk/1", data)
    else:
        _print_poses(poses)


def _read_json(path: str) -> dict[str, Any]:
    from memetik.errors import InvalidInputError

    try:
        if path == "-":
            data = json.load(sys.stdin)
        else:
            with open(path, encoding="utf-8") as file:
                data = json.load(file)
    except OSError as error:
        raise InvalidInputError(f"{path!r} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        raise InvalidInputError(f"{path!r} is not JSON: {error}.") from None
    if not isinstance(data, dict):
        raise InvalidInputError(f"{path!r} must hold a JSON object with 'q' or 'joints', not a {type(data).__name__}.")
    return data


def _posture(model: Any, q: str | None, joints: list[str], stated: dict[str, Any]) -> Any:
    """Given values of all joints, or those of some on top of the middle of the limits."""
    import numpy as np

    from memetik.errors import InvalidInputError

    if q is not None:
        return _as_numbers(q.replace(",", " ").split(), "--q", model)
    if "q" in stated:
        return _as_numbers(stated["q"], "'q'", model)
    values = dict(stated.get("joints", {}))
    for entry in joints:
        name, equals, value = entry.partition("=")
        if not equals:
            raise InvalidInputError(f"--joints takes NAME=VALUE, not {entry!r}.")
        try:
            values[name.strip()] = float(value)
        except ValueError:
            raise InvalidInputError(f"--joints {entry!r}: {value!r} is not a number.") from None
    return np.asarray(model.q(values))


def _as_numbers(values: Any, what: str, model: Any) -> Any:
    import numpy as np

    from memetik.errors import InvalidInputError

    try:
        posture = np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInputError(f"{what} must be numbers.") from None
    if posture.ndim not in (1, 2) or posture.shape[-1] != model.dof:
        names = ", ".join(model.joint_names)
        raise InvalidInputError(
            f"{what} needs {model.dof} numbers ({names}), not {posture.shape[-1] if posture.ndim else 1}."
        )
    return posture


def _describe(pose: Any) -> Any:
    if pose.ndim == 3:
        return [_describe(single) for single in pose]
    return {"position": pose[:3, 3], "quaternion_xyzw": _quaternion(pose), "matrix": pose}


def _print_poses(poses: dict[str, Any]) -> None:
    rows = []
    for name, pose in poses.items():
        for index, single in enumerate(pose if pose.ndim == 3 else [pose]):
            label = f"{name} [{index}]" if pose.ndim == 3 else name
            position = "  ".join(f"{v:+.6f}" for v in single[:3, 3])
            rows.append((label, position, "  ".join(f"{v:+.6f}" for v in _quaternion(single))))
    print_table(("link", "position x, y, z (m)", "quaternion x, y, z, w"), rows)


def _quaternion(pose: Any) -> Any:
    from scipy.spatial.transform import Rotation

    return Rotation.from_matrix(pose[:3, :3]).as_quat(canonical=True)
