"""Continuity of seeded sequences: every soft goal on ten arms and three humanoids.

    python benchmarks/continuity.py [--steps 1000] [--robots panda,ur5] [--goals AvoidLimits]

A path of the hand, a closed curve of targets a millimetre or so apart, is solved target by target, each from the answer
to the last; the first solve of each settles in its branch (explore=False), as a sequence should begin. Prints for each
robot and soft goal the largest change of a joint from one target to the next after the first 20, beside that without
soft goals from the same seed (at most 1.5 times it). Not judged: the same from the same first answer, and from the very
seeds of the sequence, solve by solve; where the last is at most 1.5 soft goals keep their word in each solve, and a
larger figure before it comes from postures in which the targets themselves ask for larger steps. Then the soft cost at
the end beside that of refinement from there without the bound of a sequence, in the same branch (at most 1.1 times it,
or a millionth). Status 1 if one misses.

Robots that are not bundled come from example-robot-data and rtb-data.
"""

import argparse
import importlib.util
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import memetik as mk

STEP, FIRST = 1e-3, 20
MOST_STEP, MOST_COST, NOTHING = 1.5, 1.1, 1e-6
CREEP = 5e-4  # radians by which soft goals move a joint where the targets rest
LONG = 0.5  # seconds that no solve needs, beside other work either


def file_of(package: str, path: str) -> str:
    """A description out of an installed package of robots."""
    spec = importlib.util.find_spec("pinocchio" if package == "example-robot-data" else "rtbdata")
    if spec is None or spec.origin is None:
        raise SystemExit(f"{package} is not installed.")
    root = Path(spec.origin).parent
    if package == "example-robot-data":
        root = next(parent for parent in root.parents if (parent / "share" / package).is_dir()) / "share" / package
    return str(root / path)


def shared(path: str) -> Callable[[], mk.Robot]:
    return lambda: mk.load_robot(file_of("example-robot-data", f"robots/{path}"))


def bundled(name: str) -> Callable[[], mk.Robot]:
    return lambda: mk.load_robot(name)


ROBOTS: dict[str, tuple[Callable[[], mk.Robot], str]] = {
    "panda": (lambda: mk.load_robot("panda").group("panda_arm"), ""),
    "ur5": (bundled("ur5"), ""),
    "iiwa14": (bundled("iiwa14"), ""),
    "baxter": (bundled("baxter"), "left_gripper"),
    "powerball": (bundled("powerball"), ""),
    "kinova": (shared("kinova_description/robots/kinova.urdf"), "j2s6s200_end_effector"),
    "xarm7": (shared("xarm_description/urdf/xarm7.urdf"), "link7"),
    "z1": (shared("z1_description/urdf/z1.urdf"), "link06"),
    "tiago": (shared("tiago_description/robots/tiago.urdf"), "arm_tool_link"),
    "ur10": (shared("ur_description/urdf/ur10_robot.urdf"), "tool0"),
    "talos": (shared("talos_data/robots/talos_reduced.urdf"), "gripper_left_base_link"),
    "icub": (shared("icub_description/robots/icub.urdf"), "l_hand"),
    "valkyrie": (bundled("valkyrie"), "leftPalm"),
}

GOALS: dict[str, Callable[[mk.Robot], mk.Goal]] = {
    "AvoidLimits": lambda robot: mk.AvoidLimits(),
    "CenterJoints": lambda robot: mk.CenterJoints(),
    "MinimalDisplacement": lambda robot: mk.MinimalDisplacement(),
    "Manipulability": lambda robot: mk.Manipulability(link_of(robot)),
    "GravityTorque": lambda robot: mk.GravityTorque(),
    "JointValue": lambda robot: mk.JointValue(joint_of(robot), 0.3, priority=1),
    "hyperbola": lambda robot: mk.MinDistance(elbow_of(robot), (0.3, 0.2, 0.3), 0.01, priority=1, loss=mk.Hyperbola()),
}

LINKS: dict[int, str] = {}


def link_of(robot: mk.Robot) -> str:
    return LINKS[id(robot)]


def joint_of(robot: mk.Robot) -> str:
    """The third joint that moves the link."""
    return robot.joint_names[int(np.flatnonzero(robot.moves(link_of(robot)))[2])]


def elbow_of(robot: mk.Robot) -> str:
    """The link that the middle joint of the chain moves."""
    names = {joint.name: joint for joint in robot.description.joints}
    chain = [robot.joint_names[k] for k in np.flatnonzero(robot.moves(link_of(robot)))]
    return names[chain[len(chain) // 2]].child


def hard_goal(robot: mk.Robot) -> mk.Goal:
    """The pose of the link, or its position where there are no more joints than a pose needs."""
    link = link_of(robot)
    return mk.Pose(link) if int(np.sum(robot.moves(link))) > 6 else mk.Position(link)


def path_of(robot: mk.Robot, link: str, steps: int, problem: mk.Problem) -> tuple[np.ndarray, np.ndarray] | None:
    """Poses (steps, 4, 4) on a closed curve that the robot follows without soft goals, and where it starts."""
    for k in range(200):
        q = robot.random(k)
        middle = 0.5 * q + 0.5 * np.clip(robot.neutral, robot.lower, robot.upper)
        centre, radius = robot.pose(link, middle), STEP * steps / (2.0 * np.pi)
        angle = np.linspace(0.0, 2.0 * np.pi, steps)
        poses = np.tile(centre, (steps, 1, 1))
        radius = min(radius, 0.1)
        poses[:, 0, 3] += radius * np.sin(angle)
        poses[:, 1, 3] += radius * (1.0 - np.cos(angle))
        found = follow(problem, poses, middle)
        if found is not None and steps_of(found) < 0.1:
            return poses, middle
    return None


def target_of(problem: mk.Problem, pose: np.ndarray) -> np.ndarray:
    return pose if isinstance(problem.goals[0], mk.Pose) else pose[:3, 3]


def follow(problem: mk.Problem, poses: np.ndarray, q: np.ndarray) -> np.ndarray | None:
    """Answers (N, dof), each from the last; None where one is missing."""
    answers: list[np.ndarray] = []
    for pose in poses:
        settles = None if answers else False
        solution = problem.solve(target_of(problem, pose), seed=q, timeout=LONG, explore=settles)
        if not solution.success:
            return None
        q = solution.q
        answers.append(q)
    return np.array(answers)


def steps_of(answers: np.ndarray) -> float:
    return float(np.abs(np.diff(answers[FIRST:], axis=0)).max())


def ratio_of(plain: mk.Problem, poses: np.ndarray, answers: np.ndarray) -> float:
    """The largest ratio of a step to that without soft goals from the same seed, or to CREEP where that is less."""
    worst = 0.0
    for k in range(FIRST + 1, len(poses)):
        found = plain.solve(target_of(plain, poses[k]), seed=answers[k - 1], timeout=LONG)
        least = max(float(np.abs(found.q - answers[k - 1]).max()), CREEP)
        worst = max(worst, float(np.abs(answers[k] - answers[k - 1]).max()) / least)
    return worst


def measure(name: str, goals: list[str], steps: int) -> list[bool]:
    """Whether each soft goal holds what is asked for, on one robot."""
    load, link = ROBOTS[name]
    robot = load()
    LINKS[id(robot)] = link = link or robot.tip
    plain = mk.Problem(robot, [hard_goal(robot)])
    found = path_of(robot, link, steps, plain)
    if found is None:
        print(f"{name}: no path that is followed without soft goals")
        return [False] * len(goals)
    poses, start = found
    without = follow(plain, poses, start)
    assert without is not None
    holds: list[bool] = []
    for goal in goals:
        problem = mk.Problem(robot, [hard_goal(robot), GOALS[goal](robot)])
        begin = time.perf_counter()
        answers = follow(problem, poses, start)
        seconds = (time.perf_counter() - begin) / steps
        if answers is None:
            print(f"{name:10} {goal:20} a target was not reached  MISSED")
            holds.append(False)
            continue
        step, bound, same = steps_of(answers), steps_of(without), follow(plain, poses, answers[0])
        own = ratio_of(plain, poses, answers)
        target = target_of(problem, poses[-1])
        last = problem.solve(target, seed=answers[-1], timeout=LONG).preference_cost
        best = problem.solve(target, seed=answers[-1], refine=0.05, timeout=0.5, explore=False).preference_cost
        missed = ["step"] * (step > MOST_STEP * bound) + ["cost"] * (last > MOST_COST * best + NOTHING)
        holds.append(not missed)
        print(
            f"{name:10} {goal:20} step {step:.4f} without {bound:.4f} ({step / bound:.2f}; from the same answer "
            f"{step / steps_of(same) if same is not None else np.inf:.2f}; seeds {own:.2f})  soft cost {last:.4g} "
            f"({last / max(best, 1e-12):.3f} of the branch's)  {seconds * 1e3:.2f} ms"
            f"{'  MISSED: ' + ' and '.join(missed) if missed else ''}",
            flush=True,
        )
    return holds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--robots", default=",".join(ROBOTS))
    parser.add_argument("--goals", default=",".join(GOALS))
    given = parser.parse_args()
    kept = [hold for name in given.robots.split(",") for hold in measure(name, given.goals.split(","), given.steps)]
    print(f"{sum(kept)} of {len(kept)} hold both.")
    return int(not all(kept))


if __name__ == "__main__":
    sys.exit(main())
