"""memetik's node beside real ROS 2, each part in a network namespace of its own, figures beside their goals.

    python benchmarks/ros_bars.py                                   all parts, full size: hours on a small machine
    python benchmarks/ros_bars.py ik --calls 10000 --clients 2      one part, smaller
    python benchmarks/ros_bars.py stream fuzz --distribution jazzy

ik        IK calls from rclpy, every answer checked by Pinocchio; one call's latency beside services that do nothing
runs      clients that come, ask, die and return, without loss and with it: by `tc netem`, or by nftables where the
          kernel has no netem, or at memetik's sockets where it has neither; the row says which
stream    JointStates at 1 kHz from rclpy in, a command for each out
messages  bytes against rosbags and rclpy, hashes against the generators, recordings through both readers: the tests
fuzz      mutated samples and packets

`make test-ros` installs the distributions. What needs them is left out where they are not there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
HERE = ROOT / "tests" / "ros"
sys.path.insert(0, str(HERE))

from namespaces import DISTRIBUTIONS, ours, reason_to_skip, run, theirs  # noqa: E402
from namespaces import loss as packet_loss  # noqa: E402
from test_rclpy import NODE, check_answers, poses_file  # noqa: E402

HOURS = 6 * 3600.0
LATENCY_CALLS = 2000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help="ik, runs, stream, messages, fuzz; all where none is named")
    parser.add_argument("--distribution", action="append", choices=DISTRIBUTIONS)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--clients", type=int, default=4, help="that ask for IK at a time")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--run-calls", type=int, default=1000)
    parser.add_argument("--beside", type=int, default=10, help="runs at a time, each in a namespace of its own")
    parser.add_argument("--loss", type=float, default=0.05)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--samples", type=int, default=1_000_000)
    given = parser.parse_args()
    parts = given.parts or ["messages", "fuzz", "stream", "ik", "runs"]
    if "messages" in parts:
        check_messages()
    if "fuzz" in parts:
        fuzz(given.samples)
    for distribution in given.distribution or DISTRIBUTIONS:
        if reason := reason_to_skip(distribution):
            print(f"{distribution}: nothing is measured: {reason}")
            continue
        if "stream" in parts:
            measure_stream(distribution, given.seconds)
        if "ik" in parts:
            measure_latency(distribution)
            measure_ik(distribution, given.calls, given.clients)
        if "runs" in parts:
            for loss in (0.0, given.loss):
                measure_runs(distribution, given, loss)


def measure_ik(distribution: str, calls: int, clients: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, poses = poses_file(Path(folder) / "poses.json", 1000)
        share = -(-calls // clients)
        client = theirs(distribution, f"ik {share} {path} panda_arm panda_hand_tcp")
        each = f'for k in $(seq {clients}); do {client} > {folder}/$k.json & p="$p $!"; done; wait $p'
        found = reports(f"{NODE} & sleep 3; {each}; cat {folder}/[0-9]*.json")
        answers = [answer for report in found for answer in report.get("answers", [])]
        solved = check_answers(answers, poses) if answers else 0.0
    stalled = sum("stalled" in report for report in found)
    show(f"{distribution}: IK calls answered, {clients} clients", f"{len(answers)}", f"{share * clients}")
    show("  solved, each checked by Pinocchio", f"{solved:.3%}", "all answers right")
    show("  clients that stalled", f"{stalled}", "0")


def measure_latency(distribution: str) -> None:
    """One client: a call of IK, and of services that do nothing."""
    with tempfile.TemporaryDirectory() as folder:
        path, _ = poses_file(Path(folder) / "poses.json", 1000)
        client = theirs(distribution, f"ik {LATENCY_CALLS} {path} panda_arm panda_hand_tcp")
        rows = {"an IK call": reports(f"{NODE} & sleep 3; {client}")}
    noop = theirs(distribution, f"noop {LATENCY_CALLS}")
    rows["memetik's service that does nothing"] = reports(
        f"{ours(str(HERE / 'lossy_server.py'), '0')} & sleep 2; {noop}"
    )
    rows["rclpy's service that does nothing"] = reports(f"{theirs(distribution, 'serve')} & sleep 2; {noop}")
    for name, found in rows.items():
        show(f"{distribution}: {name}", latency(found[-1]) if found else "no answer", "shown")


def measure_runs(distribution: str, given: argparse.Namespace, loss: float) -> None:
    """Two clients one after the other in each namespace, the first killed in the middle of its calls."""
    lossy, own, way = packet_loss(loss)
    server = ours(str(HERE / "lossy_server.py"), str(own))
    client = theirs(distribution, f"noop {given.run_calls}")
    script = f"{lossy}{server} & sleep 2; timeout -s KILL 5 {client} >/dev/null; {client}"
    with ThreadPoolExecutor(given.beside) as pool:
        found = list(pool.map(lambda _: reports(script), range(given.runs)))
    whole = sum(bool(each) and each[-1].get("calls") == given.run_calls for each in found)
    what = f"{distribution}: runs of {given.run_calls} calls, {loss:.0%} lost{f' by {way}' if loss else ''}"
    show(what, f"{whole} with every reply", f"{given.runs}")
    for each in found:
        if not each or "calls" not in each[-1]:
            print(f"    {each[-1] if each else 'no report'}")


def measure_stream(distribution: str, seconds: float) -> None:
    server = ours(str(HERE / "stream_server.py"), "echo", str(seconds + 30.0))
    done = run(f"{server} & sleep 2; {theirs(distribution, f'loop {seconds}')}; wait", seconds + 120.0)
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    report = next((each for each in found if "sent" in each), None)
    own = next((each for each in found if "received" in each), None)
    if report is None or own is None:
        show(f"{distribution}: 1 kHz for {seconds:g} s", f"{found} {done.stderr.strip()[-200:]}", "no loss")
        return
    show(f"{distribution}: JointStates sent in {seconds:g} s", f"{report['sent']}", f"{int(1000 * seconds)}")
    show("  received by memetik, missing", f"{own['received']}, {own['missing']}", "all, 0")
    where = f" (from {report['lost'][0]} to {report['lost'][-1]})" if report["missing"] else ""
    show("  commands back, missing", f"{report['back']}, {report['missing']}{where}", "all, 0")
    show("  from state to command", latency(report), "shown")
    show("  CPU of a core, memetik and rclpy", f"{own['cpu']:.0%} and {report['cpu']:.0%}", "shown")


def fuzz(samples: int) -> None:
    for script in ("fuzz_messages.py", "fuzz_packets.py"):
        done = subprocess.run(
            [sys.executable, HERE / script, str(samples)], capture_output=True, text=True, check=False
        )
        show(script, (done.stdout or done.stderr[-300:]).strip(), f"{samples}, no other outcome")


def check_messages() -> None:
    words = ["bytes", "hash", "reads_what_memetik_writes", "readers"]
    command = [sys.executable, "-m", "pytest", "-m", "", str(HERE), "-k", " or ".join(words)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    show("bytes, hashes, recordings", done.stdout.strip().splitlines()[-1], "all equal")


def reports(script: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run(script, HOURS).stdout.splitlines() if line.startswith("{")]


def latency(report: dict[str, Any]) -> str:
    return f"p50 {1e3 * report['p50']:.2f} ms, p99 {1e3 * report['p99']:.2f} ms" if "p50" in report else str(report)


def show(what: str, measured: str, goal: str) -> None:
    print(f"{what:<62} {measured:<40} goal: {goal}", flush=True)


if __name__ == "__main__":
    main()
