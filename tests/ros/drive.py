"""Drives an arm through RosDriver: to a goal, half way back and cancelled, and with trajectories that must be refused.
Prints one JSON object."""

from __future__ import annotations

import json
import sys
import time

import numpy as np

import memetik as mk


def main() -> None:
    robot = mk.load_robot("panda")
    by = sys.argv[1] if len(sys.argv) > 1 else "auto"
    with mk.RosDriver("arm_controller", robot=robot, by=by, transport="dds") as driver:
        q = robot.clip(driver.state().q)
        goal = robot.clip(q + np.array([0.6, 0.3, 0.0, 0.3, 0.0, 0.2, 0.0, 0.0]))
        plan = mk.plan(robot, goal, start=q, velocity_scale=0.3)
        done = mk.execute(plan, driver, tolerance=0.2, goal_tolerance=0.02).result(30.0)
        back = mk.plan(robot, q, start=robot.clip(driver.state().q), velocity_scale=0.3)
        handle = mk.execute(back, driver, tolerance=0.2, goal_tolerance=0.02)
        time.sleep(0.4 * back.duration)
        handle.cancel()
        stopped = handle.result(10.0)
        assert plan.trajectory is not None
        report = {
            "by": driver.by,
            "success": done.success,
            "message": done.message,
            "deviation": done.deviation,
            "cancelled": stopped.reason,
            "at rest": stopped.at_rest,
            "off at cancel": float(np.abs(stopped.q - stopped.goal).max()),
            "elsewhere": refusal(driver, plan.trajectory),
            "too fast": refusal(driver, fast(driver, robot)),
        }
    print(json.dumps(report), flush=True)


def refusal(driver: mk.RosDriver, trajectory: mk.Trajectory) -> str:
    try:
        driver.send(trajectory)
    except mk.DriverError as error:
        return str(error)
    return ""


def fast(driver: mk.RosDriver, robot: mk.Robot) -> mk.Trajectory:
    q = driver.state().q
    return mk.Trajectory.from_points(driver.joint_names, [0.0, 0.05], [q, robot.clip(q + 0.4)])


if __name__ == "__main__":
    main()
