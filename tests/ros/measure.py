"""Figures of the node beside real rclpy, in network namespaces: IK calls, clients that die, a stream at 1 kHz.

python tests/ros/measure.py jazzy [--calls 2000] [--runs 10] [--run-calls 200] [--seconds 20] [--loss 0.05]
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from namespaces import ours, reason_to_skip, run, theirs
from test_rclpy import HERE, NODE, check_answers, poses_file


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("distribution")
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--run-calls", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--loss", type=float, default=0.05)
    given = parser.parse_args()
    if reason := reason_to_skip(given.distribution):
        print(f"nothing is measured: {reason}")
        return
    measure_ik(given.distribution, given.calls)
    measure_runs(given.distribution, given.runs, given.run_calls, given.loss)
    measure_stream(given.distribution, given.seconds)


def measure_ik(distribution: str, calls: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, poses = poses_file(Path(folder) / "poses.json", 1000)
        client = theirs(distribution, f"ik {calls} {path} panda_arm panda_hand_tcp")
        (report,) = reports(f"{NODE} & sleep 3; {client}")
    solved = check_answers(report["answers"], poses)
    print(f"{distribution}: {len(report['answers'])} of {calls} IK calls answered, {solved:.2%} solved and checked by "
          f"Pinocchio; {latency(report)}")  # fmt: skip
    noop = theirs(distribution, f"noop {calls}")
    (own,) = reports(f"{ours(str(HERE / 'lossy_server.py'), '0')} & sleep 2; {noop}")
    (other,) = reports(f"{theirs(distribution, 'serve')} & sleep 2; {noop}")
    print(f"  a service that does nothing: memetik's {latency(own)}; rclpy's own {latency(other)}")


def measure_runs(distribution: str, runs: int, calls: int, loss: float) -> None:
    for share in (0.0, loss):
        server = ours(str(HERE / "lossy_server.py"), str(share))
        client = theirs(distribution, f"noop {calls}")
        found = reports(f"{server} & sleep 2; for k in $(seq {runs}); do {client}; done", 3600.0)
        whole = sum(report.get("calls") == calls for report in found)
        print(f"  {whole} of {runs} clients that come, ask {calls} times and die got every reply, {share:.0%} loss")


def measure_stream(distribution: str, seconds: float) -> None:
    server = ours(str(HERE / "stream_server.py"), "1000", str(seconds + 5.0))
    done = run(f"{server} & sleep 2; {theirs(distribution, f'stream {seconds}')}; wait", 300.0)
    (report,) = (json.loads(line) for line in done.stdout.splitlines() if line.startswith("{"))
    print(f"  1 kHz for {seconds:g} s: {report['count']} JointStates, {report['missing']} missing, {latency(report)}; "
          f"writer {done.stderr.strip().splitlines()[-1]}")  # fmt: skip


def reports(script: str, timeout: float = 1800.0) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run(script, timeout).stdout.splitlines() if line.startswith("{")]


def latency(report: dict[str, Any]) -> str:
    return f"p50 {1e3 * report['p50']:.2f} ms, p99 {1e3 * report['p99']:.2f} ms" if "p50" in report else str(report)


if __name__ == "__main__":
    main()
