"""Solves 1000 targets each on three robots, prints successes and configurations; packaging/arm.py compares processors.

Run: python packaging/arm_solves.py [targets]
"""

import json
import sys

import numpy as np

import memetik as mk
from memetik._core import architecture

EVALUATIONS = 20_000


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    found = {"architecture": architecture()}
    robots = {"panda": mk.load_robot("panda"), "ur5": mk.load_robot("ur5")}
    robots["valkyrie"] = mk.load_robot("valkyrie").group("right_arm")
    for name, robot in robots.items():
        rng = np.random.default_rng(5)
        q, seeds = robot.random(rng, count), robot.random(rng, count)
        problem = mk.Problem(robot, mk.Pose(robot.tip))
        targets = robot.pose(robot.tip, q)
        answers = [
            problem.solve(target, seed=seed, evaluations=EVALUATIONS, rng=k)
            for k, (target, seed) in enumerate(zip(targets, seeds, strict=True))
        ]
        reached = robot.pose(robot.tip, np.array([answer.q for answer in answers]))
        found[name] = {
            "success": [bool(answer.success) for answer in answers],
            "q": [answer.q.tolist() for answer in answers],
            "error": float(np.abs(reached - targets)[[answer.success for answer in answers]].max()),
        }
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
