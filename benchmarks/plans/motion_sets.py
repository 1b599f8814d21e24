"""Published planning problems (MotionBenchMaker, MoveIt's YAML) as robots, scenes, starts and goals; and the check of
paths by Pinocchio and coal on the real meshes, which knows nothing of memetik."""

from __future__ import annotations

import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import yaml

import memetik as mk
from memetik.bench.scenarios.motion_bench import load_yaml_scene
from memetik.geometry.shapes import Box, Cylinder, Shape, Sphere

FINGERS = 0.065
"""Metres: where the published panda problems hold both fingers, beyond the real ones' 0.04."""


@dataclass(frozen=True)
class MotionProblem:
    """One problem: its set and number, the scene, start and goal (dof,)."""

    set_name: str
    number: int
    scene: mk.Scene
    start: np.ndarray
    goal: np.ndarray


def example_robots() -> Path:
    """The folder of example-robot-data's robots."""
    import pinocchio

    folders = (parent / "share" / "example-robot-data" / "robots" for parent in Path(pinocchio.__file__).parents)
    return next(folder for folder in folders if folder.is_dir())


def load_panda() -> tuple[mk.Robot, Path]:
    """Panda of example-robot-data with its collision meshes, fingers able to open as in the problems; and its URDF."""
    folder = example_robots() / "panda_description"
    urdf = folder / "urdf" / "panda.urdf"
    # Both fingers, as the second follows the first and narrows its limits.
    text = urdf.read_text().replace('upper="0.04"', f'upper="{FINGERS}"')
    robot = mk.load_robot(text, srdf=folder / "srdf" / "panda.srdf", search_path=[example_robots().parents[1]])
    # Four goals need joint 4 where the manufacturer's first description had its limit.
    return robot.with_limits({"panda_joint4": (-3.0718, 0.0175)}), urdf


def read_problems(source: Path, robot: mk.Robot, sets: list[str] | None, count: int) -> Iterator[MotionProblem]:
    """The problems of an archive or a folder, set by set, up to `count` of each."""
    if source.is_file():
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(source) as archive:
                archive.extractall(folder, filter="data")
            yield from read_problems(Path(folder), robot, sets, count)
        return
    for folder in sorted({path.parent for path in source.rglob("request*.yaml")}):
        if sets and not any(name in folder.name for name in sets):
            continue
        for request in sorted(folder.glob("request*.yaml"))[:count]:
            scene = load_yaml_scene(request.with_name(request.name.replace("request", "scene")))
            data = yaml.load(request.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
            state = data["start_state"]["joint_state"]
            start = robot.q(_own(robot, dict(zip(state["name"], state["position"], strict=True))))
            wanted = {
                entry["joint_name"]: entry["position"] for entry in data["goal_constraints"][0]["joint_constraints"]
            }
            goal = robot.q(_own(robot, wanted), default=start)
            yield MotionProblem(folder.name, int(request.stem[-4:]), scene, start, goal)


def _own(robot: mk.Robot, values: dict[str, float]) -> dict[str, float]:
    """Without joints that follow others."""
    return {name: value for name, value in values.items() if name in robot.joint_names}


class MeshCheck:
    """Pinocchio places the links of a URDF, coal compares their real meshes with a scene and with each other."""

    def __init__(self, robot: mk.Robot, urdf: Path, scene: mk.Scene, packages: list[str]):
        import pinocchio as pin

        self.pin, self.robot = pin, robot
        self.model = pin.buildModelFromUrdf(str(urdf))
        self.geometry = pin.buildGeomFromUrdf(self.model, str(urdf), pin.GeometryType.COLLISION, package_dirs=packages)
        links = self.geometry.ngeoms
        for name, item in scene.snapshot().objects.items():
            pose = pin.SE3(np.array(item.pose[:3, :3]), np.array(item.pose[:3, 3]))
            self.geometry.addGeometryObject(pin.GeometryObject(name, 0, pose, _coal_shape(item.shape)))
        checked = mk.CollisionModel(robot).pairs
        items = self.geometry.geometryObjects
        names = [self.model.frames[item.parentFrame].name for item in items[:links]]
        for i in range(links):
            for j in range(i + 1, len(items)):
                own = j < links and tuple(sorted((names[i], names[j]))) in checked
                if own or (j >= links and items[i].parentJoint != 0):
                    self.geometry.addCollisionPair(pin.CollisionPair(i, j))
        self.data, self.geometry_data = self.model.createData(), self.geometry.createData()
        self.entries = [(self.model.joints[self.model.getJointId(name)].idx_q, k, 1.0) for k, name in
                        enumerate(robot.joint_names)]  # fmt: skip
        for joint in robot.description.joints:
            if joint.mimic is not None:
                master = robot.joint_names.index(joint.mimic.joint)
                index = self.model.joints[self.model.getJointId(joint.name)].idx_q
                self.entries.append((index, master, joint.mimic.multiplier))

    def first_contact(self, rows: np.ndarray) -> int | None:
        """The first of the configurations (N, dof) at which something touches, or None."""
        full = self.pin.neutral(self.model)
        for number, q in enumerate(rows):
            for index, entry, factor in self.entries:
                full[index] = factor * q[entry]
            if self.pin.computeCollisions(self.model, self.data, self.geometry, self.geometry_data, full, True):
                return number
        return None


def _coal_shape(shape: Shape):
    import coal

    if isinstance(shape, Box):
        return coal.Box(*map(float, shape.size))
    if isinstance(shape, Sphere):
        return coal.Sphere(float(shape.radius))
    if isinstance(shape, Cylinder):
        return coal.Cylinder(float(shape.radius), float(shape.length))
    raise SystemExit(f"the check knows no {type(shape).__name__}")


def dense(path: np.ndarray, step: float = 4e-3) -> np.ndarray:
    """Configurations along a path of straight motions, no joint moving farther than `step` between two."""
    parts = [path[:1]]
    for a, b in pairwise(path):
        count = max(1, int(np.ceil(np.abs(b - a).max() / step)))
        parts.append(a + np.linspace(0.0, 1.0, count + 1)[1:, None] * (b - a))
    return np.concatenate(parts)
