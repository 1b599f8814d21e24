"""Files that a reader of docs/stories.md brings: a robot's package, a depth image, a recorded walk."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

import memetik as mk
from memetik.robot.installed import find_installed, path_of

TURNS = "Zrotation Xrotation Yrotation"
FRAMES = 45


def prepare(folder: Path) -> None:
    """Write all of them."""
    package(folder / "workspace/src")
    np.save(folder / "depth.npy", depth_image())
    (folder / "walk.bvh").write_text(walk(), encoding="utf-8")


def package(source: Path) -> None:
    """The UR5 of example-robot-data as a user's package: package.xml, a URDF and its meshes at package://."""
    found = find_installed("ur5_robot")
    if found is None:
        raise SystemExit("example-robot-data is not installed; its ur5 stands for the reader's robot.")
    urdf = Path(path_of(found))
    own = source / "my_arm_description"
    (own / "urdf").mkdir(parents=True)
    (own / "package.xml").write_text("<package><name>my_arm_description</name></package>")
    text = urdf.read_text(encoding="utf-8")
    prefix = "package://example-robot-data/robots/ur_description/"
    assert prefix in text
    (own / "urdf/my_arm.urdf").write_text(text.replace(prefix, "package://my_arm_description/"), encoding="utf-8")
    shutil.copytree(urdf.parents[1] / "meshes", own / "meshes")


def depth_image() -> np.ndarray:
    """What the camera of the story sees: a floor, a box on it, and the arm itself as a column; metres."""
    camera = mk.transform((1.4, 0.0, 1.1), rpy=(-2.3, 0.0, 1.5708))
    rows, columns = np.mgrid[0:480, 0:640]
    rays = np.stack([(columns - 319.5) / 525.0, (rows - 239.5) / 525.0, np.ones((480, 640))], axis=-1)
    rays = rays @ camera[:3, :3].T
    depth = np.full((480, 640), np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        floor = (-0.02 - camera[2, 3]) / rays[..., 2]
        depth = np.where((floor > 0) & (floor < 4.0), floor, depth)
        for low, high in (((0.40, -0.10, 0.0), (0.55, 0.10, 0.30)), ((-0.07, -0.07, 0.0), (0.07, 0.07, 0.30))):
            depth = np.minimum(depth, _box(camera[:3, 3], rays, np.array(low), np.array(high)))
    return np.where(np.isfinite(depth), depth, 0.0).astype(np.float32)


def _box(eye: np.ndarray, rays: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    first, second = (low - eye) / rays, (high - eye) / rays
    enter, leave = np.minimum(first, second).max(axis=-1), np.maximum(first, second).min(axis=-1)
    return np.where((enter <= leave) & (enter > 0.0), enter, np.inf)


def walk() -> str:
    """A walk of a skeleton with 14 joints as a recorder writes it: centimetres, degrees, y up."""
    lines = ["HIERARCHY", f"ROOT Hips {{ OFFSET 0 0 0 CHANNELS 6 Xposition Yposition Zposition {TURNS}"]
    lines += [f"JOINT Spine {{ OFFSET 0 22 0 CHANNELS 3 {TURNS}"]
    lines += [f"JOINT Head {{ OFFSET 0 34 0 CHANNELS 3 {TURNS} End Site {{ OFFSET 0 18 0 }} }}"]
    arm, leg = {"Arm": 26, "Forearm": -28, "Hand": -25}, {"Leg": -9, "Shin": -42, "Foot": -40}
    lines += [
        *_limb("Left", 18, arm),
        *_limb("Right", -18, arm),
        "}",
        *_limb("Left", 9, leg),
        *_limb("Right", -9, leg),
        "}",
    ]
    lines += ["MOTION", f"Frames: {FRAMES}", "Frame Time: 0.0333333"]
    for k, t in enumerate(np.linspace(0.0, 2.0 * np.pi, FRAMES)):
        swing, bends = 18.0 * np.sin(t), [10.0 + 10.0 * np.sin(t + phase) for phase in (0.0, np.pi)]
        arms = [x for s in (1, -1) for x in (0, s * swing, 0, 0, -20, 0, 0, 0, 0)]
        legs = [x for s, b in zip((1, -1), bends, strict=True)
                for x in (0, -s * swing, 0, 0, 2 * b, 0, 0, s * swing - 2 * b, 0)]  # fmt: skip
        row = [0, 90, 1.5 * k, 0, 0, 0, 0, 3, 0, 0, 4 * np.sin(2 * t), 0, *arms, *legs]
        lines.append(" ".join(f"{x:.4f}" for x in row))
    return "\n".join(lines) + "\n"


def _limb(side: str, aside: float, parts: dict[str, float]) -> list[str]:
    heads = [
        f"JOINT {side}{name} {{ OFFSET {aside if k == 0 else 0} {height} 0 CHANNELS 3 {TURNS}"
        for k, (name, height) in enumerate(parts.items())
    ]
    return [*heads, "End Site { OFFSET 0 -4 12 }", "} " * len(heads)]
