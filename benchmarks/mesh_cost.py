"""What the native exact collision check costs, on public robots with their real meshes, beside coal.

    python benchmarks/mesh_cost.py [--robots panda ur5 ...] [--coal 100] [--cold]

Printed in microseconds a configuration, best of many runs, one thread, by the processor's clock of the process:
- along edges (16 samples over half a radian) and for unrelated configurations;
- bodies against 1, 12, 100 and 1000 boxes, and with self-collision;
- certified edges, microseconds a proved edge of half a radian;
- coal on the same configurations, through mk.CollisionModel;
and the balls of the covers, the share of free configurations that touch a ball (false alarms of the cover alone), how
far balls reach beyond the surface at most, and how long the covers take to fit (--cold: without the cache).
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
from mesh_truth import robot_path

import memetik as mk
from memetik import _core
from memetik.collision.closed_meshes import clean_mesh
from memetik.collision.exact import CollisionModel
from memetik.collision.mesh_checker import MeshChecker
from memetik.collision.mesh_shapes import EXCESS, collision_shape
from memetik.geometry.closed_surface import InsideTest
from memetik.geometry.mesh_files import load_mesh
from memetik.geometry.shapes import Mesh, Shape

BAR = 1.0  # microseconds a check


def boxes(count: int, rng: np.random.Generator) -> mk.Scene:
    """Boxes of 2 to 30 cm around the base; the more there are, the wider they are spread."""
    scene = mk.Scene()
    spread = max(1.0, (count / 12.0) ** (1.0 / 3.0))
    for k in range(count):
        place = rng.uniform(-1.0, 1.0, 3) * spread + (0.0, 0.0, 0.5)
        while np.linalg.norm(place[:2]) < 0.3:
            place = rng.uniform(-1.0, 1.0, 3) * spread + (0.0, 0.0, 0.5)
        scene.add_box(f"box{k}", rng.uniform(0.02, 0.3, 3), mk.transform(place, rpy=rng.uniform(-3.0, 3.0, 3)))
    return scene


def best(ask: Callable[[], object], count: int, seconds: float = 0.3) -> float:
    """Microseconds each of `count` takes, at best."""
    least, spent = np.inf, 0.0
    while spent < seconds:
        begin = time.process_time()
        ask()
        own = time.process_time() - begin
        least, spent = min(least, own), spent + own
    return 1e6 * least / count


def edges(robot: mk.Robot, rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Starts and ends of motions of half a radian."""
    a = robot.random(rng, count)
    step = rng.normal(size=a.shape)
    return a, a + 0.5 * step / np.linalg.norm(step, axis=1, keepdims=True)


def measure(name: str, coal_count: int) -> bool:
    """One robot: prints its lines; whether the bar holds along edges."""
    robot, rng = mk.load_robot(robot_path(name)), np.random.default_rng(0)
    unrelated = robot.random(rng, 1600)
    a, b = edges(robot, rng, 100)
    along = (a[:, None] + np.linspace(0.0, 1.0, 16)[:, None] * (b - a)[:, None]).reshape(-1, robot.dof)
    held = True
    for count in (0, 1, 12, 100, 1000):
        scene = boxes(count, rng)
        checker = MeshChecker(robot, scene)
        core = checker.core
        columns: list[str] = []
        for own in (False, True):
            model = _core.MeshModel.build(core.robot, core.scene, 0.0, True, own, checker.object_pairs)
            cost = (
                best(lambda m=model: m.collides(along), len(along)),
                best(lambda m=model: m.collides(unrelated), 1600),
            )
            columns.append(f"{cost[0]:8.3f} {cost[1]:10.3f}")
            held = held and not (own and count == 12 and cost[0] > BAR)
        states = core.certify(a, b)[0]
        proved = states == int(_core.EdgeState.proved)
        certify = best(lambda m=core, p=proved: m.certify(a[p], b[p]), max(1, int(proved.sum())))
        line = f"{name:10} {count:5} {columns[0]}   {columns[1]} {certify:10.1f} {100 * proved.mean():7.0f} %"
        if count == 12 and coal_count:
            model = CollisionModel(robot, scene)
            asked = unrelated[:coal_count]
            line += f"  coal {best(lambda m=model, q=asked: [m.collides(row) for row in q], len(asked)):8.1f}"
        print(line, f" colliding {100 * core.collides(unrelated).mean():.0f} %", flush=True)
    return held


def covers(name: str) -> None:
    """Balls, false alarms and excess of a robot's covers, link by link."""
    robot, rng = mk.load_robot(robot_path(name)), np.random.default_rng(1)
    begin, used = time.perf_counter(), time.process_time()
    shapes = [
        (link, item, collision_shape(item.shape, covered=True))
        for link in robot.description.links
        for item in link.collisions
    ]
    seconds, used = time.perf_counter() - begin, time.process_time() - used
    scene = boxes(60, rng)
    checker = MeshChecker(robot, scene, self_collision=False)
    q = robot.random(rng, 2000)
    free = q[~np.asarray(checker.collides(q))]
    poses = {link.name: robot.pose(link.name, free) for link in robot.description.links}
    moving = dict(zip(robot.links, robot.tree.link_axes >= 0, strict=True))
    alarms, balls, excess = np.zeros(len(free), dtype=bool), 0, dict[str, float]()
    for link, item, shape in shapes:
        cover = shape.cover
        balls += len(cover)
        excess[link.name] = max(excess.get(link.name, 0.0), excess_of(item.shape, cover, rng))
        if not moving[link.name]:
            continue
        centres = np.einsum(
            "nij,bj->nbi", poses[link.name] @ np.asarray(item.origin), np.c_[cover[:, :3], np.ones(len(cover))]
        )
        for other in scene:
            local = (centres[..., :3] - other.pose[:3, 3]) @ other.pose[:3, :3]
            outside = np.maximum(np.abs(local) - 0.5 * np.asarray(other.shape.size), 0.0)
            alarms |= (np.linalg.norm(outside, axis=-1) < cover[:, 3]).any(axis=1)
    worst = ", ".join(f"{link} {1e3 * value:.0f}" for link, value in excess.items())
    print(
        f"{name:10} {balls:5} balls, false alarms of the cover alone {100 * alarms.mean():.1f} % of {len(free)} free; "
        f"shapes made in {seconds:.2f} s ({used:.2f} s of the processor); excess in mm: {worst}",
        flush=True,
    )


def excess_of(shape: Shape, cover: np.ndarray, rng: np.random.Generator) -> float:
    """How far balls (N, 5) reach beyond a mesh, by points on their surfaces; zero for primitives."""
    if not isinstance(shape, Mesh):
        return 0.0
    cleaned = clean_mesh(load_mesh(shape), None)
    directions = rng.normal(size=(24, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    points = (cover[:, None, :3] + cover[:, None, 3:4] * directions).reshape(-1, 3)
    distances = np.empty(len(points))
    mesh = cleaned.mesh
    _core.mesh_distance(mesh.vertices, mesh.faces, np.ascontiguousarray(points), distances, 1)
    inside = InsideTest(cleaned.surface.boundary) if cleaned.surface.is_solid else None
    far = np.flatnonzero(distances > 0.5 * EXCESS)
    outside = [k for k in far if inside is None or not inside.contains(points[k])]
    return float(distances[outside].max(initial=0.0))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--robots", nargs="+", default=["panda", "ur5", "ur10", "talos_arm", "kinova", "xarm7", "baxter"]
    )
    parser.add_argument("--coal", type=int, default=60, help="configurations for coal; 0: none")
    parser.add_argument("--cold", action="store_true", help="fit the covers anew")
    given = parser.parse_args()
    if given.cold:
        os.environ["MEMETIK_CACHE"] = tempfile.mkdtemp()
    print(f"{'':17} {'environment alone':>19}   {'with self':>19} {'certify':>10} {'proved':>9}")
    print(f"{'robot':10} {'boxes':>5} {'edges':>8} {'unrelated':>10}   {'edges':>8} {'unrelated':>10} {'us/edge':>10}")
    held = True
    for name in given.robots:
        held = measure(name, given.coal) and held
    for name in given.robots:
        covers(name)
    print(f"bar: {BAR} us a check along edges among 12 boxes, self-collision included:", "held" if held else "MISSED")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
