"""Runs a pick-and-place task through RosDriver; prints one JSON object when it ends, however it ends."""

from __future__ import annotations

import json
import sys

import memetik as mk


def main() -> None:
    path, horizon = sys.argv[1], float(sys.argv[2])
    task = mk.load_task(path)
    options = {"horizon": horizon} if horizon else {}
    with mk.RosDriver(
        "arm_controller", robot=task.robot, transport="dds", stale=0.7, timeout=30.0, **options
    ) as driver:
        print("connected", flush=True)
        try:
            report = mk.run_task(task, driver, tolerance=0.3, goal_tolerance=0.02)
        except mk.errors.MemetikError as error:
            print(json.dumps({"error": str(error)}), flush=True)
            return
    steps = [step.label for step in report.steps if step.success]
    print(json.dumps({"success": report.success, "message": report.message, "steps": len(steps)}), flush=True)


if __name__ == "__main__":
    main()
