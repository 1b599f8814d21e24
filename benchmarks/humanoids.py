"""bio1 and bio2 on whole bodies with free bases: hands, feet and gaze of public humanoids beside the bundled one.

    python benchmarks/humanoids.py [--targets 10] [--evaluations 2000000] [--methods bio1,bio2_memetic]

Targets are drawn within the limits, the base within 0.2 m and 0.2 rad of upright, at the world's origin and ten metres
up; solves start from the neutral configuration at that height. Prints for each robot, height and method how many are
solved, the median of evaluations and the mean of seconds. Status 1 if a public robot has less than nine tenths of what
the bundled one has.
"""

import argparse
import sys
import time
from collections.abc import Callable

import numpy as np
from continuity import shared

import memetik as mk

HEIGHTS = (0.0, 10.0)
SHARE = 0.9

Body = tuple[Callable[[], mk.Robot], tuple[str, ...], str]

ROBOTS: dict[str, Body] = {
    "valkyrie": (
        lambda: mk.load_robot("valkyrie"),
        ("rightPalm", "leftPalm", "rightFoot", "leftFoot"),
        "upperNeckPitchLink",
    ),
    "talos": (
        shared("talos_data/robots/talos_reduced.urdf"),
        ("gripper_left_base_link", "gripper_right_base_link", "left_sole_link", "right_sole_link"),
        "head_2_link",
    ),
    "icub": (shared("icub_description/robots/icub.urdf"), ("l_hand", "r_hand", "l_sole", "r_sole"), "head"),
    "g1": (
        lambda: mk.load_robot("g1"),
        ("left_rubber_hand", "right_rubber_hand", "left_ankle_roll_link", "right_ankle_roll_link"),
        "torso_link",
    ),
}


def goals_of(robot: mk.Robot, links: tuple[str, ...], gaze: str, q: np.ndarray) -> list[mk.Goal]:
    """Poses of hands and feet, and a point that the head looks at, as they are at q."""
    head = robot.pose(gaze, q)
    poses: list[mk.Goal] = [mk.Pose(link, robot.pose(link, q)) for link in links]
    return [*poses, mk.LookAt(gaze, (1.0, 0.0, 0.0), head[:3, 3] + 2.0 * head[:3, 0])]


def measure(name: str, method: str, height: float, targets: int, evaluations: int) -> int:
    """How many targets are solved; prints them."""
    load, links, gaze = ROBOTS[name]
    robot = load().with_floating_base()
    seed, solved = np.array(robot.neutral), 0
    seed[2] = height
    work: list[int] = []
    begin = time.perf_counter()
    for k in range(targets):
        q = robot.random(k)
        q[:6] = np.random.default_rng(k).uniform(-0.2, 0.2, 6)
        q[2] += height
        found = mk.solve(
            robot, goals_of(robot, links, gaze, q), method=method, seed=seed, rng=k, evaluations=evaluations
        )
        solved += found.success
        work.append(found.evaluations)
    seconds = (time.perf_counter() - begin) / targets
    print(
        f"{method:14} {name:10} {height:4.0f} m up: {solved} of {targets}, {np.median(work):.0f} evaluations in the "
        f"median, {seconds:.2f} s in the mean",
        flush=True,
    )
    return solved


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", type=int, default=10)
    parser.add_argument("--evaluations", type=int, default=2_000_000)
    parser.add_argument("--methods", default="bio1,bio2,bio2_memetic")
    given = parser.parse_args()
    missed: list[str] = []
    for method in given.methods.split(","):
        for height in HEIGHTS:
            counts = {name: measure(name, method, height, given.targets, given.evaluations) for name in ROBOTS}
            missed += [
                f"{method} on {name}, {height:g} m up" for name in counts if counts[name] < SHARE * counts["valkyrie"]
            ]
    print(f"Less than on the bundled humanoid: {', '.join(missed) or 'none'}.")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
