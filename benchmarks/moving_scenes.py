"""What it costs until the next solve sees a scene that changed, and what the size of a scene costs a check.

    python benchmarks/moving_scenes.py [--parts move frame growth] [--rounds 20] [--plot growth.png]

- move:   one of 1 to 1000 boxes moves: microseconds until the models of the next solve are ready, beside a call that
          finds nothing changed.
- frame:  a depth image of 640 x 480 (307 200 points): the points off the robot (`mk.camera_points`, padding 3 cm), the
          point cloud, the tree over it, the models of the next solve, and that solve. Bar: 20 ms in all on one core.
          Then clouds of 10^4 to 10^6 points, an elevation map, and a mesh of 100 000 triangles.
- growth: microseconds a configuration against 1 to 1000 boxes (as many in the arm's reach as there is room for), clouds
          of 10^3 to 10^6 points on the same surfaces, and meshes up to 100 000 triangles: the fast model that moves the
          search, and the exact check; exponents fitted to each.
Times are of the processor, one thread; the least and the median of the rounds.
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

import memetik as mk
from memetik.collision.context import CollisionContext
from memetik.geometry.shapes import HeightMap, PointCloud, TriangleMesh

BAR = 20.0  # milliseconds until the next solve sees a depth image
INTRINSICS = (525.0, 525.0, 319.5, 239.5)
PADDING, RADIUS = 0.03, 0.005


def clock(work: Callable[[], object]) -> float:
    """Milliseconds of the processor."""
    begin = time.process_time()
    work()
    return 1e3 * (time.process_time() - begin)


def boxes(count: int) -> mk.Scene:
    """Boxes of 2 to 12 cm in and around the arm's reach, none at its base."""
    rng, scene = np.random.default_rng(count), mk.Scene()
    for k in range(count):
        place = rng.uniform((-1.0, -1.0, 0.0), (1.0, 1.0, 1.2))
        while np.hypot(*place[:2]) < 0.3:
            place = rng.uniform((-1.0, -1.0, 0.0), (1.0, 1.0, 1.2))
        scene.add_box(f"box{k}", rng.uniform(0.02, 0.12, 3), mk.transform(place, rpy=rng.uniform(-3.0, 3.0, 3)))
    return scene


def surfaces(count: int, rng: np.random.Generator) -> np.ndarray:
    """Points on a table and on balls that stand on it."""
    points = rng.uniform((-1.5, -1.5, -0.1), (1.5, 1.5, -0.1), (count, 3))
    for k, (x, y) in enumerate(((0.6, 0.3), (0.5, -0.4), (-0.5, 0.2), (-0.2, -0.6))):
        own = slice(k * count // 8, (k + 1) * count // 8)
        direction = rng.normal(size=(own.stop - own.start, 3))
        points[own] = 0.15 * direction / np.linalg.norm(direction, axis=1, keepdims=True) + (x, y, 0.05)
    return points


def depth_image(robot: mk.Robot, q: np.ndarray, camera: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A table, balls on it, and the arm, as a camera sees them: points projected, the nearest counts; gaps are far."""
    cloud = [surfaces(2_000_000, rng)]
    for link in robot.links:
        pose = robot.pose(link, q)
        cloud.append(pose[:3, 3] + 0.03 * rng.normal(size=(20_000, 3)))
    local = (np.concatenate(cloud) - camera[:3, 3]) @ camera[:3, :3]
    local = local[local[:, 2] > 0.1]
    column = np.round(INTRINSICS[0] * local[:, 0] / local[:, 2] + INTRINSICS[2]).astype(int)
    row = np.round(INTRINSICS[1] * local[:, 1] / local[:, 2] + INTRINSICS[3]).astype(int)
    seen = (column >= 0) & (column < 640) & (row >= 0) & (row < 480)
    image = np.full((480, 640), np.inf)
    np.minimum.at(image, (row[seen], column[seen]), local[seen, 2])
    return np.where(np.isfinite(image), image, 4.5).astype(np.float32)


def problem_in(scene: mk.Scene) -> tuple[mk.Problem, CollisionContext]:
    robot = mk.load_robot("panda")
    problem = mk.Problem(robot, mk.Pose(robot.tip), scene=scene, self_collision=True)
    problem.solve(robot.pose(robot.tip, robot.neutral))
    context = problem.collision_context
    assert context is not None
    return problem, context


def moves(rounds: int) -> None:
    print("one object moves (microseconds until the models of the next solve are ready; median and least)")
    for count in (1, 12, 100, 1000):
        scene = boxes(count)
        _, context = problem_in(scene)
        rng, spent, idle = np.random.default_rng(0), [], []
        for _ in range(5 * rounds):
            scene.move(f"box{rng.integers(count)}", mk.transform(rng.uniform(0.4, 1.0, 3)))
            spent.append(1e3 * clock(context.snapshot))
            idle.append(1e3 * clock(context.snapshot))
        print(f"  {count:5} boxes  {np.median(spent):7.0f} {min(spent):7.0f}   unchanged {np.median(idle):5.1f}")


def frames(rounds: int) -> bool:
    robot = mk.load_robot("panda")
    q, rng = robot.neutral, np.random.default_rng(1)
    camera = mk.transform((1.4, 0.0, 1.1), rpy=(-2.3, 0.0, 1.5708))
    scene = mk.Scene()
    scene.add("seen", PointCloud([[9.0, 0.0, 0.0]], RADIUS))
    problem, context = problem_in(scene)
    images = [depth_image(robot, q, camera, rng) for _ in range(3)]
    stages = ("points", "cloud", "tree", "models", "solve")
    table: list[list[float]] = []
    kept = 0
    for k in range(rounds):
        image = images[k % 3]
        target = robot.pose(robot.tip, robot.random(k))
        found: dict[str, np.ndarray] = {}
        cloud: list[PointCloud] = []

        def see(image: np.ndarray = image, found: dict[str, np.ndarray] = found) -> None:
            found["points"] = mk.camera_points(
                image, INTRINSICS, camera, robot=robot, q=q, scene=scene, padding=PADDING, stride=1
            )

        def wrap(found: dict[str, np.ndarray] = found, cloud: list[PointCloud] = cloud) -> None:
            cloud.append(PointCloud(found["points"], RADIUS))

        row = [clock(see), clock(wrap), clock(lambda: cloud[0].core)]  # noqa: B023 - called at once
        scene.replace("seen", cloud[0])
        row += [clock(context.snapshot), clock(lambda: problem.solve(target))]  # noqa: B023
        table.append(row)
        kept = len(found["points"])
    rows = np.array(table)
    until = rows[:, :4].sum(axis=1)
    print(f"a depth image of 307 200 pixels, {kept} points kept (milliseconds; median and least)")
    for name, column in zip(stages, rows.T, strict=True):
        print(f"  {name:8} {np.median(column):7.2f} {column.min():7.2f}")
    print(f"  until the next solve sees it {np.median(until):.2f} {until.min():.2f}; bar {BAR:g}")
    print("other shapes, from their arrays to the models (milliseconds; median and least)")
    grid = np.stack(np.meshgrid(np.linspace(0, 9, 200), np.linspace(0, 9, 200), indexing="ij"))
    shapes: dict[str, Callable[[int], object]] = {}
    for count in (10_000, 100_000, 300_000, 1_000_000):
        points = surfaces(count, rng)
        shapes[f"{count} points"] = lambda k, points=points: PointCloud(points + 1e-3 * k, RADIUS)
    heights = 0.05 * np.sin(grid[0]) * np.cos(grid[1]) - 0.4
    shapes["heights 200 x 200"] = lambda k: HeightMap(heights + 1e-3 * k, (3.0, 3.0), -0.6)
    mesh = sphere(224)
    shapes[f"mesh of {len(mesh.faces)} triangles"] = lambda k: TriangleMesh(
        mesh.vertices + np.array((0.9 + 1e-3 * k, 0.0, 0.3)), mesh.faces
    )
    for name, make in shapes.items():
        spent = []
        for k in range(3 if "points" not in name else max(3, rounds // 3)):
            begin = time.process_time()
            scene.replace("seen", make(k))  # type: ignore[arg-type]
            context.snapshot()
            spent.append(1e3 * (time.process_time() - begin))
        print(f"  {name:24} {np.median(spent):9.2f} {min(spent):9.2f}")
    return bool(np.median(until) <= BAR)


def sphere(rings: int) -> TriangleMesh:
    """A bumpy ball of 2 rings^2 triangles, closed."""
    u, v = np.meshgrid(np.arange(1, rings) / rings * np.pi, np.arange(rings) / rings * 2 * np.pi, indexing="ij")
    radius = 0.25 * (1.0 + 0.05 * np.sin(7 * u) * np.cos(5 * v))
    ring = np.stack([radius * np.sin(u) * np.cos(v), radius * np.sin(u) * np.sin(v), radius * np.cos(u)], axis=-1)
    vertices = np.concatenate([ring.reshape(-1, 3), [[0, 0, 0.25], [0, 0, -0.25]]])
    top, bottom = len(vertices) - 2, len(vertices) - 1
    faces = []
    for k in range(rings):
        after = (k + 1) % rings
        faces.append([(top, k, after), (bottom, (rings - 2) * rings + after, (rings - 2) * rings + k)])
    inner = []
    for i in range(rings - 2):
        for k in range(rings):
            a, b = i * rings + k, i * rings + (k + 1) % rings
            inner += [(a, a + rings, b), (b, a + rings, b + rings)]
    return TriangleMesh(vertices, np.array([*np.array(faces).reshape(-1, 3).tolist(), *inner], dtype=np.int32))


def growth(plot: str | None) -> None:
    robot = mk.load_robot("panda")
    q = np.ascontiguousarray(robot.random(5, 4096))
    series: dict[str, list[tuple[int, float, float]]] = {}
    print("microseconds a configuration: the search's model, and the exact check")

    def measure(kind: str, count: int, scene: mk.Scene) -> None:
        context = CollisionContext(robot, scene, False, 0.0)
        core, exact = context.tight.core, context.native.core
        fast = min(clock(lambda: core.collides(robot.core, q, 0.0, 1)) for _ in range(5)) / len(q) * 1e3
        slow = min(clock(lambda: exact.collides(q)) for _ in range(5)) / len(q) * 1e3
        series.setdefault(kind, []).append((count, fast, slow))
        print(f"  {kind:8} {count:8} {fast:8.3f} {slow:8.3f}", flush=True)

    for count in (1, 10, 100, 1000):
        measure("boxes", count, boxes(count))
    for count in (1000, 10_000, 100_000, 1_000_000):
        scene = mk.Scene()
        scene.add("cloud", PointCloud(surfaces(count, np.random.default_rng(7)), RADIUS))
        measure("points", count, scene)
    for rings in (16, 50, 112, 224):
        scene, mesh = mk.Scene(), sphere(rings)
        scene.add("mesh", mesh, mk.transform((0.5, 0.2, 0.4)))
        measure("mesh", len(mesh.faces), scene)
    for kind, rows in series.items():
        values = np.log(np.array(rows, dtype=float))
        exponents = [float(np.polyfit(values[:, 0], values[:, k], 1)[0]) for k in (1, 2)]
        print(f"  {kind:8} exponents: search {exponents[0]:.2f}, exact {exponents[1]:.2f}")
    if plot:
        draw(series, plot)


def draw(series: dict[str, list[tuple[int, float, float]]], path: str) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4.2))
    for (kind, rows), colour in zip(series.items(), ("C0", "C1", "C2"), strict=False):
        sizes, fast, slow = np.array(rows).T
        axes.loglog(sizes, fast, "o-", color=colour, label=f"{kind}, search's model")
        axes.loglog(sizes, slow, "s--", color=colour, label=f"{kind}, exact check")
    axes.set_xlabel("objects, points or triangles")
    axes.set_ylabel("microseconds a configuration")
    axes.legend(fontsize=8)
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--parts", nargs="+", default=["move", "frame", "growth"], choices=["move", "frame", "growth"])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--plot", help="file for a plot of the growth")
    options = parser.parse_args()
    held = True
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MEMETIK_CACHE"] = folder
        if "move" in options.parts:
            moves(options.rounds)
        if "frame" in options.parts:
            held = frames(options.rounds)
        if "growth" in options.parts:
            growth(options.plot)
    return 0 if held else 1


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    sys.exit(main())
