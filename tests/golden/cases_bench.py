"""The benchmark: targets and keys of scenarios, verification, a reach study, and the digests that stores use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from cases import Case, module, of_solution, robot
from cases_scenes import block

import memetik as mk

SCENARIOS = (("Random", "ur10"), ("Random", "panda"), ("Grid", "ur10"), ("Shelf", "ur10"), ("Table", "ur10"),
             ("SmallTable", "ur10"), ("Chain:12", None))  # fmt: skip


def scenario(name: str, arm: str | None) -> dict[str, Any]:
    """The targets of a scenario, its key, and the answer to its first target."""
    found = module("scenarios").scenario(name, arm, targets=3, reachability="skip")
    solution = found.problem.solve(*found.of(0), seed=found.seeds[0], evaluations=1500)
    return {**of_solution(solution), "key": found.key, "poses": found.poses, "seeds": found.seeds}


def reachable() -> dict[str, Any]:
    """Targets that are known to be reached, and what verification says of them."""
    found = module("scenarios").scenario("Shelf", "ur10", targets=2)
    check = module("verification").Verifier(found.robot, found.goals, found.scene, self_collision=True)
    verdicts = [check.check(found.of(k), q) for k, q in enumerate(found.known_solutions)]
    off = check.check(found.of(0), found.known_solutions[0] + 0.001)
    return {
        "q": np.array(found.known_solutions),
        "holds": [bool(verdict.holds) for verdict in verdicts],
        "errors": np.array([[v.position_error, v.rotation_error] for v in (*verdicts, off)]),
        "reason": off.reason,
        "clearance": np.array([check.clearance(q) for q in found.known_solutions]),
    }


def study() -> dict[str, Any]:
    """How much of a cube an arm reaches."""
    reach = module("reach")
    scene = mk.Scene()
    scene.add_mesh("surface", block(0.3), mk.transform((0.7, 0.0, 0.5)))
    points = np.array([(0.55, y, z) for y in (-0.1, 0.0, 0.1) for z in (0.4, 0.5, 0.6)])
    normals = np.tile((-1.0, 0.0, 0.0), (len(points), 1))
    setup = reach.ReachSetup(robot("ur10"), scene, evaluations=800)
    result = reach.reach_study(setup, points, normals, passes=1)
    return {"q": np.array(result.q), "state": [str(state) for state in result.state], "score": result.scores.score}


def cases() -> Iterator[Case]:
    for name, arm in SCENARIOS:
        label = f"{name}-{arm}".replace(":", "")
        yield Case(f"bench/{label}", lambda name=name, arm=arm: scenario(name, arm), needs=("coal",))
    yield Case("bench/reachable", reachable, needs=("coal",))
    yield Case("bench/reach-study", study, needs=("coal",))
