"""Self-collision of every MJCF model below some folders, beside MuJoCo's own contacts, at random configurations.

    python benchmarks/mjcf_contacts.py FOLDER ... [--configurations 1000]

Compared is the verdict "some pair of bodies touches" by memetik's exact model, with the pairs that the description
leaves unchecked, and by MuJoCo's contacts of depth 0 between two bodies; planes and height fields, which no link can
be, are left out of both. A line for each model tells in how many
configurations the verdicts differ, and the causes:
  mesh      a pair in which a mesh that is not convex takes part, which MuJoCo replaces by its convex hull
  masks     geoms of one body may touch those of another only in part (contype, conaffinity, <pair>)
  near      the bodies come within 0.1 mm of touching
  ellipsoid an ellipsoid takes part, which memetik takes as a convex mesh up to 1 % larger
  other     none of these
Exit code 1 where a difference has no cause but `other`.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from mjcf_truth import Truth, mjcf_files, run_in_process

import memetik as mk
from memetik.collision.allowed_pairs import srdf_pairs
from memetik.errors import MemetikError
from memetik.robot.load import load_description
from memetik.robot.robot import Robot

NEAR = 1e-4


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--configurations", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60.0, help="for one model, at most")
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    total: Counter[str] = Counter()
    for path in mjcf_files(given.folders):
        found = run_in_process(
            partial(compare, seconds=given.seconds, search_path=given.folders), path, given.configurations
        )
        if isinstance(found, str):
            if found:
                print(f"{path}: {found}", flush=True)
                total["not compared"] += 1
            continue
        total += found
        causes = {cause: count for cause, count in found.items() if cause not in ("models", "asked", "collide")}
        if causes:
            print(f"{path}: {found['asked']} asked, {found['collide']} collide, differ {causes}", flush=True)
    print(dict(total))
    return 1 if total["other"] else 0


def compare(
    path: Path, configurations: int, seconds: float = 60.0, search_path: Sequence[Path] = ()
) -> Counter[str] | str:
    """Counts of one model, or why it was not compared; "" for what is no robot to either."""
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
        robot = Robot(load_description(path, search_path=search_path))
    except (ValueError, MemetikError):
        return ""
    if robot.dof == 0 or robot.dof != sum(j.axes for j in robot.description.joints if j.mimic is None):
        return ""
    truth = Truth(robot, model)
    try:
        exact = mk.CollisionModel(robot, None, allowed=srdf_pairs(robot))
    except MemetikError as error:
        return f"no exact model: {error}"
    model.geom_margin[:] = 0.0
    model.geom_gap[:] = 0.0
    types = mujoco.mjtGeom
    left_out = {int(types.mjGEOM_PLANE), int(types.mjGEOM_HFIELD), int(types.mjGEOM_SDF)}  # which no link can be
    counts: Counter[str] = Counter(models=1)
    rng = np.random.default_rng(7)
    end = time.perf_counter() + seconds
    data = truth.data
    body_of = {name: index for index, name in enumerate(truth.bodies)}
    for _ in range(configurations):
        if time.perf_counter() > end:
            break
        data.qpos[:] = truth.random_qpos(rng)
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_collision(model, data)
        theirs = {
            tuple(sorted(truth.bodies[model.geom_bodyid[g]] for g in contact.geom))
            for contact in data.contact
            if contact.dist <= 0.0 and min(contact.geom) >= 0 and not left_out & set(model.geom_type[contact.geom])
        }
        theirs = {pair for pair in theirs if pair[0] != pair[1]}
        ours = {tuple(sorted((c.first, c.second))) for c in exact.contacts(truth.q(data.qpos))}
        counts["asked"] += 1
        counts["collide"] += bool(theirs)
        if bool(ours) != bool(theirs):
            pair = next(iter(ours ^ theirs))
            counts[_cause(model, data, [body_of[name] for name in pair], exact, truth)] += 1
    return counts


def _cause(model: Any, data: Any, bodies: list[int], exact: Any, truth: Truth) -> str:
    geoms = [[g for g in range(model.ngeom) if model.geom_bodyid[g] == body] for body in bodies]
    kinds = {
        int(model.geom_type[g]) for own in geoms for g in own if model.geom_contype[g] or model.geom_conaffinity[g]
    }
    types = mujoco.mjtGeom
    pairs = [(a, b) for a in geoms[0] for b in geoms[1]]
    colliding = [(a, b) for a, b in pairs if _collides(model, a) and _collides(model, b)]
    matching = [(a, b) for a, b in colliding if _matches(model, a, b)]
    if len(matching) < len(colliding):
        return "masks"
    nearest = min((mujoco.mj_geomDistance(model, data, a, b, 1.0, None) for a, b in matching), default=1.0)
    if abs(nearest) < NEAR or abs(exact.closest(truth.q(data.qpos))[0]) < NEAR:
        return "near"
    if int(types.mjGEOM_MESH) in kinds:
        return "mesh"
    return "ellipsoid" if int(types.mjGEOM_ELLIPSOID) in kinds else "other"


def _collides(model: Any, geom: int) -> bool:
    return bool(model.geom_contype[geom] or model.geom_conaffinity[geom])


def _matches(model: Any, a: int, b: int) -> bool:
    kinds, affinities = model.geom_contype, model.geom_conaffinity
    return bool(kinds[a] & affinities[b] or kinds[b] & affinities[a])


if __name__ == "__main__":
    sys.exit(main())
