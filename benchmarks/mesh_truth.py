"""The native exact collision check beside Pinocchio and coal, on public robots with their real meshes.

    python benchmarks/mesh_truth.py [--configurations 500] [--robots panda ur5 ...]

Pinocchio reads the same URDF: its kinematics and its geometry, checked pair by pair by coal. Half of the configurations
are random; the others are brought to within `NEAR` of where contact begins, by bisection between a free and a colliding
one. Scenes hold boxes, cylinders, spheres, capsules and a mesh. Every difference is listed with coal's own distance;
the native check calls bodies in contact that are nearer than a micrometre to each other. A body that lies wholly inside
another is a collision here and none for coal, which knows surfaces of meshes only; such differences are counted apart.
Exit code 1 where a difference is neither.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import coal
import numpy as np
import pinocchio as pin

import memetik as mk
from memetik.collision.mesh_checker import MeshChecker
from memetik.geometry.shapes import TriangleMesh

EXAMPLES = Path(pin.__file__).parents[4] / "share" / "example-robot-data" / "robots"
ROBOTS = {
    "panda": "panda_description/urdf/panda.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "ur10": "ur_description/urdf/ur10_robot.urdf",
    "talos_arm": "talos_data/robots/talos_left_arm.urdf",
    "baxter": "baxter_description/urdf/baxter.urdf",
    "tiago": "tiago_description/robots/tiago.urdf",
    "kinova": "kinova_description/robots/kinova.urdf",
    "xarm7": "xarm_description/urdf/xarm7.urdf",
    "z1": "z1_description/urdf/z1.urdf",
    "so101": "so_arm_description/urdf/so101.urdf",
}
SMALL = 1e-6  # metres: bodies that are nearer to each other touch
NEAR = 0.003  # radians


def robot_path(name: str) -> Path:
    """The URDF file of a robot."""
    return EXAMPLES / ROBOTS[name]


class Reference:
    """Pinocchio's model of a robot, and coal's of its bodies and of a scene's objects."""

    def __init__(self, path: Path, robot: mk.Robot, checker: MeshChecker, scene: mk.Scene):
        folders = [str(parent) for parent in list(path.parents)[:6]]
        self.model = pin.buildModelFromUrdf(str(path))
        self.data = self.model.createData()
        self.geometry = pin.buildGeomFromUrdf(self.model, str(path), pin.GeometryType.COLLISION, package_dirs=folders)
        self.places = self.geometry.createData()
        self.spread, self.offsets = np.zeros((self.model.nv, robot.dof)), np.zeros(self.model.nv)
        for name, coupling in robot.couplings.items():
            row = self.model.joints[self.model.getJointId(name)].idx_v
            self.spread[row, coupling.first] = coupling.multiplier
            self.offsets[row] = coupling.offset
        frames = self.model.frames
        self.links = [frames[item.parentFrame].name for item in self.geometry.geometryObjects]
        self.shapes = [item.geometry for item in self.geometry.geometryObjects]
        pairs = checker.pair_names()
        count = len(self.shapes)
        self.pairs = [
            (a, b)
            for a in range(count)
            for b in range(a + 1, count)
            if tuple(sorted((self.links[a], self.links[b]))) in pairs
        ]
        self.objects = [
            (_coal_shape(item.shape), coal.Transform3s(item.pose[:3, :3], item.pose[:3, 3])) for item in scene
        ]
        fixed = {name for name, axis in zip(robot.links, robot.tree.link_axes, strict=True) if axis < 0}
        self.moving = [k for k, link in enumerate(self.links) if link not in fixed]

    def place(self, q: np.ndarray) -> list[coal.Transform3s]:
        """Where the bodies are."""
        full = pin.integrate(self.model, pin.neutral(self.model), self.spread @ q + self.offsets)
        pin.updateGeometryPlacements(self.model, self.data, self.geometry, self.places, full)
        return [coal.Transform3s(pose.rotation, pose.translation) for pose in self.places.oMg]

    def checks(self, q: np.ndarray):
        """All pairs of bodies, and of bodies and objects, as coal takes them."""
        poses = self.place(q)
        for a, b in self.pairs:
            yield self.shapes[a], poses[a], self.shapes[b], poses[b]
        for a in self.moving:
            for shape, pose in self.objects:
                yield self.shapes[a], poses[a], shape, pose

    def collides(self, q: np.ndarray) -> bool:
        """Whether any pair does."""
        request, result = coal.CollisionRequest(), coal.CollisionResult()
        for pair in self.checks(q):
            result.clear()
            if coal.collide(*pair, request, result):
                return True
        return False

    def encloses(self, q: np.ndarray, links: tuple[str, str]) -> bool:
        """Whether a body lies inside the hull of another, of the pair of names, without crossing its surface."""
        poses = self.place(q)
        numbers = [[k for k, link in enumerate(self.links) if link == name] for name in links]
        for a in numbers[0]:
            for b in numbers[1]:
                first, second = (_corners(self.shapes[k], poses[k]) for k in (a, b))
                if _in_hull(first[:1], second) or _in_hull(second[:1], first):
                    return True
        return False

    def distance(self, q: np.ndarray) -> float:
        """The least distance of any pair."""
        request, result = coal.DistanceRequest(), coal.DistanceResult()
        least = np.inf
        for pair in self.checks(q):
            result.clear()
            least = min(least, coal.distance(*pair, request, result))
        return least


def _coal_shape(shape: mk.Box | mk.Cylinder | mk.Sphere | mk.Capsule | TriangleMesh):
    if isinstance(shape, mk.Box):
        return coal.Box(*shape.size)
    if isinstance(shape, mk.Sphere):
        return coal.Sphere(shape.radius)
    if isinstance(shape, mk.Cylinder | mk.Capsule):
        return getattr(coal, type(shape).__name__)(shape.radius, shape.length)
    model = coal.BVHModelOBBRSS()
    model.beginModel(len(shape.faces), len(shape.vertices))
    model.addVertices(np.ascontiguousarray(shape.vertices))
    model.addTriangles(np.ascontiguousarray(shape.faces, dtype=np.int64))
    model.endModel()
    return model


def _corners(shape: coal.CollisionGeometry, pose: coal.Transform3s) -> np.ndarray:
    points = np.asarray(shape.vertices()) if isinstance(shape, coal.BVHModelBase) else np.zeros((1, 3))
    return points @ pose.getRotation().T + pose.getTranslation()


def _in_hull(points: np.ndarray, corners: np.ndarray) -> bool:
    from scipy.spatial import Delaunay

    return len(corners) > 4 and bool((Delaunay(corners).find_simplex(points) >= 0).any())


def make_scene(kind: str, rng: np.random.Generator, reach: float) -> mk.Scene:
    """Objects around the base, sized to the robot's reach."""
    scene = mk.Scene()
    for k in range({"self": 0, "boxes": 12, "mixed": 8, "mesh": 2}[kind]):
        place = np.zeros(3)
        while np.linalg.norm(place[:2]) < 0.45 * reach:  # away from the base, which would always collide
            place = rng.normal(size=3) * (0.5, 0.5, 0.4) * reach + (0.0, 0.0, 0.35 * reach)
        pose = mk.transform(place, rpy=rng.uniform(-3.0, 3.0, 3))
        size = rng.uniform(0.05, 0.3, 3) * reach
        if kind == "boxes":
            scene.add_box(f"box{k}", size, pose)
        elif kind == "mesh":
            scene.add_mesh(f"mesh{k}", _bowl(0.3 * reach), pose, solid=False)
        else:
            shapes = (
                mk.Box(tuple(size)),
                mk.Cylinder(0.4 * size[0], size[1]),
                mk.Sphere(0.5 * size[0]),
                mk.Capsule(0.4 * size[0], size[1]),
            )
            scene.add(f"object{k}", shapes[k % 4], pose)
    return scene


def _bowl(radius: float) -> TriangleMesh:
    """Half a ball's surface: a shell that links reach into."""
    around, up = np.meshgrid(np.linspace(0.0, 2.0 * np.pi, 25)[:-1], np.linspace(0.05, 0.5 * np.pi, 12), indexing="ij")
    points = np.stack([np.sin(up) * np.cos(around), np.sin(up) * np.sin(around), -np.cos(up)], axis=-1) * radius
    index = np.arange(points[..., 0].size).reshape(up.shape)
    a, b = index[:, :-1].ravel(), np.roll(index, -1, axis=0)[:, :-1].ravel()
    faces = np.concatenate([np.stack([a, b, a + 1], 1), np.stack([b, b + 1, a + 1], 1)])
    return TriangleMesh(points.reshape(-1, 3), faces.astype(np.int32))


def near_contact(checker: MeshChecker, robot: mk.Robot, rng: np.random.Generator, count: int) -> np.ndarray:
    """Configurations (count, dof) on both sides of where contact begins, at most `NEAR` from it."""
    q = robot.random(rng, 20 * count)
    hit = checker.collides(q)
    free, blocked = q[~hit], q[hit]
    if not len(free) or not len(blocked):
        return q[:count]
    a, b = free[rng.integers(len(free), size=count)], blocked[rng.integers(len(blocked), size=count)]
    while np.abs(b - a).max() > NEAR:
        middle = 0.5 * (a + b)
        hits = checker.collides(middle)[:, None]
        a, b = np.where(hits, a, middle), np.where(hits, middle, b)
    return np.where(rng.random(count)[:, None] < 0.5, a, b)


@dataclass
class Count:
    """What was compared."""

    asked: int = 0
    colliding: int = 0
    rounding: int = 0
    enclosed: int = 0
    wrong: int = 0


def compare(name: str, kind: str, configurations: int) -> Count:
    """One robot in one kind of scene."""
    rng = np.random.default_rng(sum(map(ord, name + kind)))
    path = robot_path(name)
    robot = mk.load_robot(path)
    scene = make_scene(kind, rng, 1.0)
    checker = MeshChecker(robot, scene)
    reference = Reference(path, robot, checker, scene)
    half = configurations // 2
    q = np.concatenate([robot.random(rng, half), near_contact(checker, robot, rng, configurations - half)])
    native = np.asarray(checker.collides(q))
    count = Count(asked=len(q))
    for row, ours in zip(q, native.tolist(), strict=True):
        theirs = reference.collides(row)
        count.colliding += theirs
        if ours == theirs:
            continue
        distance = reference.distance(row)
        pair = checker.first_contact(row)
        if abs(distance) <= 2 * SMALL:
            count.rounding += 1
            verdict = "nearer than what counts as contact"
        elif ours and pair is not None and reference.encloses(row, pair):
            count.enclosed += 1
            verdict = "one inside the other"
        else:
            count.wrong += 1
            verdict = "WRONG"
        print(f"  {name} {kind}: native {ours}, coal {theirs}, coal's distance {distance:.3e} m, {pair}: {verdict}")
    return count


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--configurations", type=int, default=500, help="of a robot in a scene")
    parser.add_argument("--robots", nargs="+", default=list(ROBOTS), choices=list(ROBOTS))
    given = parser.parse_args()
    print(
        f"{'robot':12} {'scene':6} {'asked':>6} {'colliding':>10} {'differ by < 2 um':>17} {'enclosed':>9} {'wrong':>6}"
    )
    total = Count()
    for name in given.robots:
        for kind in ("self", "boxes", "mixed", "mesh"):
            count = compare(name, kind, given.configurations)
            row = (count.asked, count.colliding, count.rounding, count.enclosed, count.wrong)
            print(f"{name:12} {kind:6} {row[0]:6} {row[1]:10} {row[2]:17} {row[3]:9} {row[4]:6}", flush=True)
            total = Count(*(a + b for a, b in zip(vars(total).values(), row, strict=True)))
    print(f"all: {total}")
    return 1 if total.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
