"""What collision costs inside a search: elise in the tank, beside coal on the same mesh in the same run.

Run: python benchmarks/collision_cost.py [--configurations 20000] [--coal 200]
The bar: pose and Jacobian of the tip with the full collision value and its gradient (J^T h and J^T J of all hinges,
self-collision included) at least 500 times as fast as coal's distance of the robot: its primitive shapes against the
tank's triangles and against each other, each pair one call of coal.distance, forward kinematics not counted.
Configurations are random, and random ones with the endoscope in or near the tank. One thread; processor time of the
thread.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable

import coal
import numpy as np

import memetik as mk
from memetik._core import architecture
from memetik.bench.scenarios.surroundings import make_surroundings
from memetik.collision.exact import CollisionModel
from memetik.collision.fast import FastModel
from memetik.geometry.shapes import Box, Capsule, Shape, Sphere

BAR = 500.0
MARGIN = 0.0015
REPEATS = 5


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--configurations", type=int, default=20_000)
    parser.add_argument("--coal", type=int, default=200)
    arguments = parser.parse_args()
    robot = mk.load_robot("elise")
    scene = make_surroundings("HydrogenTank", count=1).scene
    fast = FastModel(robot, scene)
    exact = CollisionModel(robot, scene)
    peer = CoalRobot(robot, scene, exact)
    print(f"elise in the tank, kernels for {architecture()}, prepared in {fast.preparation_time:.1f} s")
    print(f"{len(peer.pairs)} pairs of shapes for coal, {len(scene['tank'].shape.faces)} triangles")
    print(f"{'microseconds per configuration':46} {'random':>10} {'near':>10}")
    configurations = {
        "random": robot.random(0, arguments.configurations),
        "near": near_tank(robot, fast, arguments.configurations),
    }
    rows: dict[str, list[float]] = {}
    for q in configurations.values():
        kept = q[:: max(1, len(q) // arguments.coal)][: arguments.coal]
        poses, jacobians = np.empty((len(q), 4, 4)), np.empty((len(q), 6, robot.dof))

        def pose_with_jacobian(q=q, poses=poses, jacobians=jacobians) -> None:
            robot.pose_and_jacobian("tip", q, out=(poses, jacobians))

        def with_collision(q=q, evaluate=pose_with_jacobian) -> None:
            evaluate()
            fast.hinge(q, MARGIN)

        measured = {
            "pose and Jacobian": seconds(pose_with_jacobian) / len(q),
            "pose, Jacobian, collision and its gradient": seconds(with_collision) / len(q),
            "collision, yes or no": seconds(lambda q=q: fast.collides(q)) / len(q),
            "clearance up to 5 cm": seconds(lambda q=q: fast.clearance(q, 0.05)) / len(q),
            "free length from the tip": seconds(lambda q=q: fast.free_length(q)) / len(q),
            "coal: distance of the robot": seconds(lambda kept=kept: peer.distances(kept), 1) / len(kept),
            "coal: collision, yes or no": seconds(lambda kept=kept: peer.collides(kept), 1) / len(kept),
        }
        for name, value in measured.items():
            rows.setdefault(name, []).append(1e6 * value)
    for name, values in rows.items():
        print(f"{name:46} {values[0]:10.3f} {values[1]:10.3f}")
    mine, theirs = rows["pose, Jacobian, collision and its gradient"], rows["coal: distance of the robot"]
    ratios = [there / here for here, there in zip(mine, theirs, strict=True)]
    held = min(ratios) >= BAR
    print(
        f"coal's distance over ours with gradient: {ratios[0]:.0f} random, {ratios[1]:.0f} near; bar {BAR:.0f}:",
        end=" ",
    )
    print("held" if held else "MISSED")
    return not held


def near_tank(robot: mk.Robot, fast: FastModel, count: int) -> np.ndarray:
    """Configurations whose tip is within the tank's box grown by 10 cm."""
    found: list[np.ndarray] = []
    total = seed = 0
    while total < count:
        seed += 1
        q = robot.random(1000 + seed, 200_000)
        tip = robot.pose("tip", q)[:, :3, 3]
        near = (np.abs(tip - [0.0, 1.5, 0.5]) < [0.18, 0.65, 0.18]).all(axis=1)
        found.append(q[near])
        total += len(found[-1])
    return np.concatenate(found)[:count]


def seconds(run: Callable[[], object], repeats: int = REPEATS) -> float:
    if repeats > 1:
        run()
    times = []
    for _ in range(repeats):
        begin = time.thread_time()
        run()
        times.append(time.thread_time() - begin)
    return statistics.median(times)


def coal_shape(shape: Shape) -> coal.ShapeBase:
    if isinstance(shape, Box):
        return coal.Box(*shape.size)
    if isinstance(shape, Sphere):
        return coal.Sphere(shape.radius)
    kind = coal.Capsule if isinstance(shape, Capsule) else coal.Cylinder
    return kind(shape.radius, shape.length)


class CoalRobot:
    """The same robot and tank in coal alone: one geometry per shape, the pairs of the exact model."""

    def __init__(self, robot: mk.Robot, scene: mk.Scene, model: CollisionModel):
        self.robot, self.shapes = robot, []
        for link in robot.description.links:
            for item in link.collisions:
                self.shapes.append((link.name, coal_shape(item.shape), np.asarray(item.origin)))
        tank = scene["tank"]
        self.tank = coal.BVHModelOBBRSS()
        self.tank.beginModel(len(tank.shape.faces), len(tank.shape.vertices))
        vertices, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
        vertices.extend(list(tank.shape.vertices))
        triangles.extend([coal.Triangle(*face) for face in tank.shape.faces.tolist()])
        self.tank.addSubModel(vertices, triangles)
        self.tank.endModel()
        self.tank_pose = coal.Transform3s(tank.pose[:3, :3], tank.pose[:3, 3])
        names = [name for name, _, _ in self.shapes]
        self.pairs = [
            (a, b)
            for a in range(len(names))
            for b in range(a + 1, len(names))
            if names[a] != names[b] and tuple(sorted((names[a], names[b]))) in model.pairs
        ]
        self.pairs += [(a, -1) for a, name in enumerate(names) if tuple(sorted((name, "tank"))) in model.pairs]

    def _placed(self, q: np.ndarray) -> list[coal.Transform3s]:
        poses = {name: self.robot.pose(name, q) for name, _, _ in self.shapes}
        world = [poses[name] @ origin for name, _, origin in self.shapes]
        return [coal.Transform3s(pose[:3, :3], pose[:3, 3]) for pose in world]

    def distances(self, configurations: np.ndarray) -> list[float]:
        return self._each(configurations, coal.DistanceRequest(), coal.DistanceResult, coal.distance)

    def collides(self, configurations: np.ndarray) -> list[float]:
        return self._each(configurations, coal.CollisionRequest(), coal.CollisionResult, coal.collide)

    def _each(
        self, configurations: np.ndarray, request: object, result_type: type, call: Callable[..., float]
    ) -> list[float]:
        if not hasattr(self, "_known") or self._known[0] is not configurations:
            self._known = (configurations, [self._placed(q) for q in configurations])
        answers = []
        for transforms in self._known[1]:
            values = []
            for a, b in self.pairs:
                result = result_type()
                other, place = (self.tank, self.tank_pose) if b < 0 else (self.shapes[b][1], transforms[b])
                values.append(call(self.shapes[a][1], transforms[a], other, place, request, result))
            answers.append(min(values) if call is coal.distance else max(values))
        return answers


if __name__ == "__main__":
    sys.exit(main())
