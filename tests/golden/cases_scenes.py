"""Problems among obstacles: primitives, meshes, grids, clouds, attached objects, margins, contact goals."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from cases import Case, module, named, of_solution, robot, without_counts

import memetik as mk

EVALUATIONS = 3000


@cache
def shelf_scene() -> Any:
    """Three boards between two sides, a floor and a post."""
    scene = mk.Scene()
    for k, z in enumerate((0.1, 0.45, 0.8)):
        scene.add_box(f"board {k}", (0.3, 1.2, 0.02), mk.transform((0.75, 0.0, z)))
    for k, y in enumerate((-0.6, 0.6)):
        scene.add_box(f"side {k}", (0.3, 0.02, 0.9), mk.transform((0.75, y, 0.45)))
    scene.add_plane("floor", offset=-0.1)
    scene.add_cylinder("post", 0.04, 1.0, mk.transform((0.3, 0.5, 0.5)))
    return scene


@cache
def mixed_scene() -> Any:
    """One object of each kind, some of them padded."""
    rng = np.random.default_rng(51)
    scene = mk.Scene()
    scene.add_sphere("ball", 0.1, mk.transform((0.5, 0.3, 0.5)), padding=0.01)
    scene.add_capsule("bar", 0.03, 0.4, mk.transform((0.5, -0.3, 0.4), rpy=(0.4, 0.2, 0.0)))
    scene.add_cone("cone", 0.1, 0.3, mk.transform((-0.4, 0.3, 0.3)))
    scene.add_points("cloud", rng.uniform((0.3, -0.1, 0.8), (0.6, 0.1, 1.0), (60, 3)), 0.02)
    scene.add_voxels("grid", rng.random((4, 4, 4)) < 0.3, 0.05, mk.transform((-0.5, -0.5, 0.2)))
    scene.add_heightmap("ground", 0.03 * rng.random((6, 6)), (1.5, 1.5), mk.transform((0.0, 0.0, -0.15)), base=-0.1)
    return scene


def block(size: float) -> Any:
    """A cube as a mesh, for objects that come as triangles."""
    corners = size * (np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float) - 0.5)
    faces = [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
             [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]]  # fmt: skip
    return type("Triangles", (), {"vertices": corners, "faces": np.array(faces)})


@cache
def tank() -> Any:
    """A pressure vessel with one opening, and targets on its inner wall."""
    return module("surroundings").hydrogen_tank(count=6, rng=52)


def free_pose(arm: Any, scene: Any, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The pose of the tip at a configuration that touches nothing, and another configuration."""
    rng = np.random.default_rng(seed)
    model = mk.CollisionModel(arm, scene)
    q = arm.random(rng)
    while model.collides(q):
        q = arm.random(rng)
    return arm.pose(arm.tip, q), arm.random(rng)


def reach(name: str, scene: Any, number: int, statement: Any = None, goals: Any = (), **options: Any) -> dict[str, Any]:
    """A pose that is free for one configuration at least."""
    arm = robot(name)
    target, start = free_pose(arm, scene, number)
    problem = mk.Problem(arm, [mk.Pose(arm.tip), *goals], scene=scene, **(statement or {}))
    return of_solution(problem.solve(target, **{"seed": start, "evaluations": EVALUATIONS, **options}))


def place(name: str, scene: Any, seed: int, goals: Any = (), **options: Any) -> dict[str, Any]:
    """A position, which leaves the arm much freedom, beside goals on clearances."""
    arm = robot(name)
    target, start = free_pose(arm, scene, seed)
    problem = mk.Problem(arm, [mk.Position(arm.tip, target[:3, 3]), *goals], scene=scene, self_collision=True)
    return of_solution(problem.solve(seed=start, **{"evaluations": EVALUATIONS, "refine_evaluations": 400, **options}))


def in_tank(k: int, **options: Any) -> dict[str, Any]:
    """The rod endoscope at a target inside the tank."""
    arm, surroundings = robot("elise"), tank()
    scene = module("surroundings").allow_touch(surroundings, [arm.tip])
    problem = mk.Problem(arm, [mk.Pose(arm.tip, rotation_tolerance=(0.3, 0.3, np.inf))], scene=scene)
    return of_solution(problem.solve(surroundings.targets[k], evaluations=4000, rng=k, **options))


def carried(name: str) -> dict[str, Any]:
    """A bar attached to the tip keeps clear of the shelf, too."""
    arm, scene = robot(name), shelf_scene().copy()
    scene.attach("bar", mk.Box((0.05, 0.05, 0.3)), link=arm.tip, pose=mk.transform((0.0, 0.0, 0.2)))
    return reach(name, scene, 53)


def with_mesh(solid: bool | None) -> dict[str, Any]:
    scene = mk.Scene()
    scene.add_mesh("block", block(0.4), mk.transform((0.5, 0.2, 0.4)), solid=solid)
    scene.allow("block", "panda_link0")
    return reach("panda:panda_arm", scene, 54)


def itself(name: str, seed: int) -> dict[str, Any]:
    """Nothing around the robot: it must not touch itself."""
    arm = robot(name)
    rng = np.random.default_rng(seed)
    tips = [tip for tip in arm.tips if arm.moves(tip).any()][:2]
    model, q = mk.CollisionModel(arm), arm.random(rng)
    while model.collides(q):
        q = arm.random(rng)
    goals = [mk.Position(tip, arm.pose(tip, q)[:3, 3]) for tip in tips]
    problem = mk.Problem(arm, goals, self_collision=True)
    return of_solution(problem.solve(seed=arm.random(rng), evaluations=EVALUATIONS))


class Halved:
    """A checker of one's own: everything on one side of the base counts as touching."""

    def collides(self, q: np.ndarray) -> bool:
        return bool(q[0] < 0.0)


def own_checker() -> dict[str, Any]:
    arm = robot("panda:panda_arm")
    rng = np.random.default_rng(55)
    target = arm.pose(arm.tip, arm.random(rng))[:3, 3]
    problem = mk.Problem(arm, [mk.Position(arm.tip, target)], scene=Halved())
    return of_solution(problem.solve(seed=arm.random(rng), evaluations=EVALUATIONS))


def public_robot(file: str, tip: str, seed: int) -> dict[str, Any]:
    """A robot with its real meshes from a public package."""
    origin = Path(importlib.util.find_spec("pinocchio").origin).resolve()
    folder = next(
        p / "share/example-robot-data/robots" for p in origin.parents if (p / "share/example-robot-data").is_dir()
    )
    arm = mk.load_robot(str(folder / file))
    rng = np.random.default_rng(seed)
    scene = mk.Scene()
    scene.add_box("wall", (0.05, 1.0, 0.6), mk.transform((0.55, 0.0, 0.3)))
    model, q = mk.CollisionModel(arm, scene), arm.random(rng)
    while model.collides(q):
        q = arm.random(rng)
    problem = mk.Problem(arm, [mk.Position(tip, arm.pose(tip, q)[:3, 3])], scene=scene)
    return of_solution(problem.solve(seed=arm.random(rng), evaluations=1500))


def exact_model() -> dict[str, Any]:
    """Distances and contacts of exact geometry."""
    arm = robot("panda:panda_arm")
    model = mk.CollisionModel(arm, mixed_scene())
    postures = arm.random(np.random.default_rng(56), 20)
    return {
        "distance": np.array([model.distance(q) for q in postures]),
        "collides": [bool(model.collides(q)) for q in postures],
    }


def surface() -> dict[str, Any]:
    """Points drawn on surfaces."""
    spots = named("surface_spots")(shelf_scene(), ["board 1", "post"], count=20, rng=57)
    return {"points": spots.points, "normals": spots.normals, "area": float(spots.area), "objects": list(spots.objects)}


def _scenes() -> dict[str, Callable[[], dict[str, Any]]]:
    penetration = named("Penetration")
    arm = "panda:panda_arm"
    apart = mk.CollisionDistance(0.05)
    return {
        "shelf-ur10": lambda: reach("ur10", shelf_scene(), 61),
        "shelf-ur10-again": lambda: without_counts(reach("ur10", shelf_scene(), 62, threads=2)),
        "shelf-panda": lambda: reach(arm, shelf_scene(), 63),
        "shelf-panda-unseeded": lambda: reach(arm, shelf_scene(), 64, seed=None),
        "shelf-margin": lambda: reach("ur10", shelf_scene(), 65, {"margin": 0.03}),
        "shelf-alone": lambda: reach("ur10", shelf_scene(), 66, {"self_collision": False}),
        "shelf-fixed": lambda: reach(arm, shelf_scene(), 67, {"fixed": ["panda_joint3"]}),
        "shelf-valid": lambda: reach(arm, shelf_scene(), 68, valid=lambda q: q[6] > 0.0),
        "shelf-approximate": lambda: reach("ur10", shelf_scene(), 69, {"margin": 0.2}, approximate=True),
        "shelf-soft": lambda: reach(arm, shelf_scene(), 70, goals=(mk.AvoidLimits(),), refine_evaluations=500),
        "shelf-whole-panda": lambda: reach("panda", shelf_scene(), 71),
        "mixed-panda": lambda: reach(arm, mixed_scene(), 72),
        "mixed-iiwa": lambda: reach("iiwa14", mixed_scene(), 73),
        "mixed-ur5": lambda: reach("ur5", mixed_scene(), 74, {"margin": 0.01}),
        "clearance": lambda: place(arm, shelf_scene(), 75, (mk.Clearance(0.1),)),
        "clearance-hard": lambda: place("ur10", shelf_scene(), 76, (mk.Clearance(0.03, priority=0),)),
        "penetration": lambda: place("ur10", mixed_scene(), 77, (penetration(),)),
        "collision-distance": lambda: place(arm, mixed_scene(), 78, (apart,)),
        "collision-distance-least": lambda: place(arm, mixed_scene(), 79, (mk.CollisionDistance(form="least"),)),
        "mesh-solid": lambda: with_mesh(True),
        "mesh-shell": lambda: with_mesh(False),
        "attached-ur10": lambda: carried("ur10"),
        "attached-panda": lambda: carried(arm),
        "itself-pr2": lambda: itself("pr2", 80),
        "itself-baxter": lambda: itself("baxter", 81),
        "itself-mannequin": lambda: itself("mannequin", 82),
        "own-checker": own_checker,
        "tank-0": lambda: in_tank(0),
        "tank-1": lambda: in_tank(1),
        "tank-2": lambda: without_counts(in_tank(2, threads=2)),
        "exact-model": exact_model,
        "surface": surface,
    }


def cases() -> Iterator[Case]:
    for label, run in _scenes().items():
        yield Case(f"scenes/{label}", run, needs=("coal",))
    for label, file, tip in (
        ("panda", "panda_description/urdf/panda.urdf", "panda_hand_tcp"),
        ("ur5", "ur_description/urdf/ur5_robot.urdf", "wrist_3_link"),
    ):
        run = lambda file=file, tip=tip: public_robot(file, tip, 83)  # noqa: E731
        yield Case(f"scenes/meshes-{label}", run, needs=("coal", "pinocchio"))
