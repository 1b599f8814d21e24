"""Every robot file of public packages: does it load, and does it say what Pinocchio and MuJoCo say?

Run: python benchmarks/public_files.py [--site FOLDER ...] [--only TEXT] [--kind urdf,xacro,mjcf,sdf] [--refused]
The packages example-robot-data and rtb-data are found where they are installed; --site names folders into which others
were put, such as by: pip install --no-deps --target FOLDER -r benchmarks/public_packages.txt
Compared are the poses of all frames at random configurations within the limits, limits, couplings and masses.
Every refusal is printed with its message, for review by eye.
"""

from __future__ import annotations

import argparse
import importlib.util
import logging
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import memetik as mk
from memetik.errors import MemetikError
from memetik.robot.load import read_expanded
from memetik.robot.robot import Robot

CONFIGURATIONS = 5
POSE_TOLERANCE = 1e-9
MASS_TOLERANCE = 1e-6
ENDINGS = (".urdf", ".xacro", ".xml", ".mjcf", ".sdf", ".world")


@dataclass
class Row:
    """What became of one file."""

    package: str
    path: Path
    kind: str
    outcome: str = "loaded"
    message: str = ""
    seconds: float = float("nan")
    peer_seconds: float = float("nan")
    peer: str = ""
    pose: float = float("nan")
    limit: float = float("nan")
    mass: float = float("nan")
    dof: int = 0
    notes: int = 0
    differences: list[str] = field(default_factory=list)


def main() -> None:
    """Load and compare all files, print what differs and what is refused."""
    options = _options()
    logging.disable(logging.WARNING)
    kinds = options.kind.split(",")
    rows: list[Row] = []
    for package, path, kind in files(options.site):
        if kind in kinds and options.only in f"{package} {path}":
            rows.append(examine(package, path, kind))
    report(rows, options.refused)


def files(sites: list[str]) -> Iterator[tuple[str, Path, str]]:
    """Package, path and kind of every robot file, each once."""
    for package, folder in packages(sites):
        for path in sorted(p for p in folder.rglob("*") if p.suffix.lower() in ENDINGS and p.is_file()):
            kind = kind_of(path)
            if kind:
                yield package, path, kind


def packages(sites: list[str]) -> Iterator[tuple[str, Path]]:
    """The folders of public packages."""
    spec = importlib.util.find_spec("pinocchio")
    for parent in Path(str(spec.origin)).parents if spec is not None else ():
        examples = parent / "share" / "example-robot-data"
        if examples.is_dir():
            yield "example-robot-data", examples
            break
    spec = importlib.util.find_spec("rtbdata")
    if spec is not None:
        yield "rtb-data", Path(str(spec.origin)).parent
    for site in sites:
        for folder in sorted(p for p in Path(site).iterdir() if p.is_dir() and not p.name.endswith(".dist-info")):
            yield folder.name, folder


def kind_of(path: Path) -> str:
    """The format of a file by its content; "" where it is no robot, or only a part that others include."""
    content = path.read_bytes()
    start = re.sub(rb"<!--.*?-->|<\?.*?\?>", b"", content[:20_000], flags=re.DOTALL).lstrip()
    if re.match(rb"<mujoco[\s>]", start):
        return "mjcf"
    if re.match(rb"<sdf[\s>]", start):
        return "sdf"
    if re.match(rb"<robot[\s>]", start):
        return "xacro" if path.suffix == ".xacro" or b"<xacro:" in content else "urdf"
    return ""


def examine(package: str, path: Path, kind: str) -> Row:
    """Load one file and compare it."""
    row = Row(package, path, kind)
    start = time.perf_counter()
    try:
        robot = mk.load_robot(path)
    except MemetikError as error:
        row.outcome, row.message = "refused", str(error)
        row.seconds = time.perf_counter() - start
        row.peer, why = peer_verdict(path, kind)
        row.message += f"\n        {row.peer}: {why}" if row.peer else ""
        return row
    row.seconds = time.perf_counter() - start
    row.dof, row.notes = robot.dof, len(robot.notes)
    try:
        if kind in ("urdf", "xacro"):
            compare_with_pinocchio(row, robot)
        elif kind == "mjcf":
            compare_with_mujoco(row, robot)
    except Exception as error:  # what a peer raises
        row.peer += f" refuses: {' '.join(str(error).split())[:200]}"
    return row


def peer_verdict(path: Path, kind: str) -> tuple[str, str]:
    """What the peer of that format says of a file that is refused."""
    if kind == "mjcf":
        import mujoco

        try:
            mujoco.MjModel.from_xml_path(str(path))
        except Exception as error:
            return "MuJoCo", f"refuses, too: {' '.join(str(error).split())[:160]}"
        return "MuJoCo", "LOADS IT"
    if kind == "urdf":
        import pinocchio

        try:
            pinocchio.buildModelFromUrdf(str(path))
        except Exception as error:
            return "Pinocchio", f"refuses, too: {' '.join(str(error).split())[:160]}"
        return "Pinocchio", "LOADS IT"
    return "", ""


def compare_with_pinocchio(row: Row, robot: Robot) -> None:
    """Frames, limits, couplings and mass of a URDF against Pinocchio's model with every joint free."""
    import pinocchio

    row.peer = "Pinocchio"
    content, _ = read_expanded(str(row.path), {}, ())
    text = content.decode("utf-8", "replace") if isinstance(content, bytes) else content
    start = time.perf_counter()
    model = pinocchio.buildModelFromXML(text)
    row.peer_seconds = time.perf_counter() - start
    data = model.createData()
    worst = 0.0
    for q in configurations(robot):
        pinocchio.framesForwardKinematics(model, data, pinocchio_q(model, robot, q))
        poses = robot.pose(robot.links, q)
        for frame, placed in zip(model.frames, data.oMf, strict=True):
            if frame.type == pinocchio.FrameType.BODY and frame.name in robot.links:
                pose = np.asarray(poses[robot.link_index(frame.name)])
                worst = max(worst, float(np.abs(pose - placed.homogeneous).max()))
    row.pose = worst
    row.limit = pinocchio_limits(model, robot, row)
    row.mass = abs(robot.mass - sum(inertia.mass for inertia in model.inertias)) / max(1.0, robot.mass)


def pinocchio_q(model, robot: Robot, q: np.ndarray) -> np.ndarray:
    """Our q in the order of Pinocchio's model."""
    import pinocchio

    result = pinocchio.neutral(model)
    for name, joint in zip(model.names[1:], list(model.joints)[1:], strict=True):
        coupling = robot.couplings[name]
        own = robot.joint(name)
        values = coupling.multiplier * q[coupling.first : coupling.first + own.axes] + coupling.offset
        if joint.nq == 1:
            result[joint.idx_q] = values[0]
        elif joint.nq == 2 and own.axes == 1:
            result[joint.idx_q : joint.idx_q + 2] = np.cos(values[0]), np.sin(values[0])
        elif own.kind == "planar":
            result[joint.idx_q : joint.idx_q + 4] = values[0], values[1], np.cos(values[2]), np.sin(values[2])
        elif own.kind == "floating":
            from scipy.spatial.transform import Rotation

            rotation = Rotation.from_euler(own.rotation_order.upper(), values[3:])
            result[joint.idx_q : joint.idx_q + 7] = (*values[:3], *rotation.as_quat())
    return result


def pinocchio_limits(model, robot: Robot, row: Row) -> float:
    """The greatest difference of position limits of revolute and prismatic joints."""
    worst = 0.0
    for name, joint in zip(model.names[1:], list(model.joints)[1:], strict=True):
        own = robot.joint(name)
        if joint.nq == 1 and own.kind in ("revolute", "prismatic"):
            theirs = model.lowerPositionLimit[joint.idx_q], model.upperPositionLimit[joint.idx_q]
            for ours, other in zip((own.lower[0], own.upper[0]), theirs, strict=True):
                if np.isfinite(ours) and abs(other) < 1e9:
                    worst = max(worst, abs(ours - other))
                elif np.isfinite(ours) != (abs(other) < 1e9):
                    row.differences.append(f"limit of {name}: {ours} here, {other} there")
    return worst


def compare_with_mujoco(row: Row, robot: Robot) -> None:
    """Bodies, limits and mass of an MJCF against MuJoCo; ball and free joints stay as the file draws them."""
    import mujoco

    row.peer = "MuJoCo"
    start = time.perf_counter()
    model = mujoco.MjModel.from_xml_path(str(row.path))
    row.peer_seconds = time.perf_counter() - start
    data = mujoco.MjData(model)
    worst = limit = 0.0
    for q in configurations(robot, still=("spherical", "floating", "planar")):
        mujoco.mj_resetData(model, data)
        for k in range(model.njnt):
            name = model.joint(k).name
            if model.jnt_type[k] in (2, 3) and name in robot.couplings:
                coupling = robot.couplings[name]
                data.qpos[model.jnt_qposadr[k]] = coupling.multiplier * q[coupling.first] + coupling.offset
                if model.jnt_limited[k] and robot.joint(name).traits.bounded:
                    own = robot.joint(name)
                    limit = max(limit, *np.abs(model.jnt_range[k] - (own.lower[0], own.upper[0])))
        mujoco.mj_kinematics(model, data)
        poses = robot.pose(robot.links, q)
        for k in range(1, model.nbody):
            name = model.body(k).name
            if name in robot.links and model.body_mocapid[k] < 0:
                pose = poses[robot.link_index(name)]
                worst = max(worst, float(np.abs(pose[:3, 3] - data.xpos[k]).max()))
                worst = max(worst, float(np.abs(pose[:3, :3].ravel() - data.xmat[k]).max()))
    row.pose, row.limit = worst, limit
    total = float(model.body_mass.sum())
    row.mass = abs(robot.mass - total) / max(1.0, total)


def configurations(robot: Robot, still: tuple[str, ...] = ()) -> Iterator[np.ndarray]:
    """Random configurations within the limits; joints of the kinds `still` at zero."""
    rng = np.random.default_rng(0)
    lower = np.where(np.isfinite(robot.lower), robot.lower, -np.pi)
    upper = np.where(np.isfinite(robot.upper), robot.upper, np.pi)
    firsts = [(robot.couplings[joint.name].first, joint.axes) for joint in robot.description.joints
              if joint.kind in still and joint.mimic is None]  # fmt: skip
    kept = [k for first, axes in firsts for k in range(first, first + axes)]
    for _ in range(CONFIGURATIONS):
        q = lower + rng.random(robot.dof) * (np.maximum(upper, lower) - lower)
        q[kept] = 0.0
        yield q


def report(rows: list[Row], only_refused: bool) -> None:
    """Tables by package and format, then differences and refusals."""
    refused = [row for row in rows if row.outcome == "refused"]
    if not only_refused:
        _print_packages(rows)
        _print_formats(rows)
        _print_differences(rows)
    print(f"\n{len(refused)} of {len(rows)} files are refused:")
    for row in refused:
        print(f"  {row.package}: {row.path.name} ({row.kind})\n        {row.message}")


def _print_packages(rows: list[Row]) -> None:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        counts[row.package][f"{row.kind} {row.outcome}"] += 1
    print("package                     files")
    for package, found in counts.items():
        told = ", ".join(f"{count} {what}" for what, count in sorted(found.items()))
        print(f"{package:28}{told}")


def _print_formats(rows: list[Row]) -> None:
    print("\nformat  files  compared  worst pose  worst limit  worst mass  load [ms]  peer [ms]")
    for kind in dict.fromkeys(row.kind for row in rows):
        mine = [row for row in rows if row.kind == kind and row.outcome == "loaded"]
        seen = [row for row in mine if np.isfinite(row.pose)]
        if not seen:
            print(f"{kind:7}{len(mine):6}{0:10}")
            continue
        worst = [max(getattr(row, name) for row in seen) for name in ("pose", "limit", "mass")]
        ours = 1e3 * float(np.median([row.seconds for row in seen]))
        theirs = 1e3 * float(np.median([row.peer_seconds for row in seen]))
        told = f"{worst[0]:12.1e}{worst[1]:13.1e}{worst[2]:12.1e}{ours:11.1f}{theirs:11.1f}"
        print(f"{kind:7}{len(mine):6}{len(seen):10}{told}")


def _print_differences(rows: list[Row]) -> None:
    print("\nDifferences (pose, limit above 1e-9, mass above 1e-6 of the whole), and what peers refuse:")
    for row in rows:
        bad = [f"{name} {getattr(row, name):.1e}" for name, most in
               (("pose", POSE_TOLERANCE), ("limit", POSE_TOLERANCE), ("mass", MASS_TOLERANCE))
               if getattr(row, name) > most] + row.differences[:3]  # fmt: skip
        if " refuses: " in row.peer:
            bad.append(row.peer)
        if bad:
            print(f"  {row.package}: {row.path.name} ({row.kind}): {'; '.join(bad)}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--site", action="append", default=[], help="folder with further packages; repeatable")
    parser.add_argument("--only", default="", help="only files whose package or path has this text")
    parser.add_argument("--kind", default="urdf,xacro,mjcf,sdf", help="formats, separated by commas")
    parser.add_argument("--refused", action="store_true", help="print the refusals alone")
    return parser.parse_args()


if __name__ == "__main__":
    main()
