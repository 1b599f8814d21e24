"""How short planned paths are: ours as they come, ours optimised, and OMPL's with its own simplification, in one run.

    python benchmarks/path_lengths.py ARCHIVE_OR_FOLDER [--count 8] [--optimise 1] [--long 60]

Problems are MotionBenchMaker's (see motion_bench.py), `count` of each set, with the panda's real meshes. OMPL asks the
same geometry, motion by motion: RRT-Connect with PathSimplifier.simplifyMax, and the planners named take `long` seconds
each, their best path simplified as well. Lengths are Euclidean norms in joint space. The goals: ours within 5 % of
OMPL's in the median, and optimised within 2 % of the best that anybody found.
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from pathlib import Path

import numpy as np
from ompl import base, geometric, util
from plans.motion_sets import MotionProblem, load_panda, read_problems

import memetik as mk
from memetik.motion.planning.free_space import OpenSpace
from memetik.motion.planning.paths import find_path

RANGE = 1.0


def length(points: np.ndarray) -> float:
    """Of a path (N, dof)."""
    return float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())


class OmplProblem:
    """A problem as OMPL sees it: the joints that differ or move the hand, and our proofs of motions."""

    def __init__(self, robot: mk.Robot, space: OpenSpace, problem: MotionProblem):
        self.problem, self.space = problem, space
        self.moving = np.flatnonzero(robot.moves("panda_hand"))
        self.states = base.RealVectorStateSpace(len(self.moving))
        bounds = base.RealVectorBounds(len(self.moving))
        for k, joint in enumerate(self.moving.tolist()):
            bounds.setLow(k, float(robot.lower[joint]))
            bounds.setHigh(k, float(robot.upper[joint]))
        self.states.setBounds(bounds)
        self.information = base.SpaceInformation(self.states)
        outer = self

        class Edges(base.MotionValidator):
            """One question a motion."""

            def checkMotion(self, first, second, *_):
                return space.edge(outer.configuration(first), outer.configuration(second))

        self.information.setStateValidityChecker(lambda state: space.is_free(self.configuration(state)))
        self.edges = Edges(self.information)
        self.information.setMotionValidator(self.edges)
        self.information.setup()

    def configuration(self, state) -> np.ndarray:
        """(dof,) of one of OMPL's states."""
        q = self.problem.start.copy()
        q[self.moving] = state[0 : len(self.moving)]
        return q

    def state(self, q: np.ndarray):
        """The other way round."""
        made = self.states.allocState()
        for k, value in enumerate(q[self.moving].tolist()):
            made[k] = value
        return made

    def solve(self, name: str, seconds: float) -> np.ndarray | None:
        """The simplified path of a planner, or None."""
        definition = base.ProblemDefinition(self.information)
        definition.addStartState(self.state(self.problem.start))
        goals = base.GoalStates(self.information)
        goals.addState(self.state(self.problem.goal))
        definition.setGoal(goals)
        if name != "RRTConnect":
            definition.setOptimizationObjective(base.PathLengthOptimizationObjective(self.information))
        planner = getattr(geometric, name)(self.information)
        if hasattr(planner, "setRange"):
            planner.setRange(RANGE)
        planner.setProblemDefinition(definition)
        planner.setup()
        planner.solve(seconds)
        if not definition.hasExactSolution():
            return None
        path = definition.getSolutionPath()
        geometric.PathSimplifier(self.information).simplifyMax(path)
        points = np.array([self.configuration(path.getState(k)) for k in range(path.getStateCount())])
        free = all(self.space.edge(a, b) for a, b in pairwise(points))
        return points if free else None


def main() -> None:
    """Run the comparison."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, help="archive or folder of scenes and requests")
    parser.add_argument("--count", type=int, default=8, help="problems of each set")
    parser.add_argument("--optimise", type=float, default=1.0, help="seconds")
    parser.add_argument("--long", type=float, default=60.0, help="seconds of each planner that goes on; 0: none")
    parser.add_argument("--planners", default="BITstar,RRTstar", help="of OMPL, that go on for --long seconds")
    options = parser.parse_args()
    robot, _ = load_panda()
    util.RNG.setSeed(1)
    util.setLogLevel(util.LogLevel.LOG_ERROR)
    rows: list[list[float]] = []
    for problem in read_problems(options.source, robot, [], options.count):
        space = mk.Planner(robot, scene=problem.scene).space
        ours = find_path(space, problem.start, problem.goal)
        better = find_path(space, problem.start, problem.goal, optimise=options.optimise)
        longer = find_path(space, problem.start, problem.goal, rng=1, optimise=options.long) if options.long else None
        peer = OmplProblem(robot, space, problem)
        simplified = peer.solve("RRTConnect", 10.0)
        names = options.planners.split(",") if options.long else []
        others = [peer.solve(name, options.long) for name in names]
        others += [simplified, better.points, *([] if longer is None else [longer.points])]
        best = min(length(points) for points in others if points is not None)
        first = np.inf if simplified is None else length(simplified)
        rows.append([length(ours.points), length(better.points), first, best])
        print(f"  {problem.set_name} {problem.number}: " + ", ".join(f"{value:.3f}" for value in rows[-1]), flush=True)
    table = np.array(rows)
    names = ("ours", f"ours, optimise={options.optimise:g}", "OMPL RRTConnect, simplified", "best of all")
    for name, column in zip(names, table.T, strict=True):
        print(f"{name:30} median {np.median(column):.3f} rad")
    plain, optimised = table[:, 0] / table[:, 2], table[:, 1] / table[:, 3]
    print(f"ours / OMPL's: median {np.median(plain):.3f}, to be at most 1.05")
    print(f"optimised / best: median {np.median(optimised):.3f}, largest {optimised.max():.3f}, to be at most 1.02")


if __name__ == "__main__":
    main()
