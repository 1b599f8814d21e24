"""Processes in a network namespace and a /dev/shm of their own, and what real ROS 2 is there for tests."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
DISTRIBUTIONS = ("jazzy", "kilted")
SETUP = "ip link set lo up; mount -t tmpfs none /dev/shm; "


def environment(distribution: str) -> Path:
    """Where a distribution is installed by `make test-ros`."""
    return ROOT / "build" / "ros" / distribution


@cache
def reason_to_skip(distribution: str) -> str:
    """Why tests against a distribution cannot run; empty where they can."""
    if not (environment(distribution) / "installed").exists():
        return f"ROS 2 {distribution} is not installed; run make test-ros"
    if subprocess.run(["unshare", "-n", "-m", "true"], capture_output=True, check=False).returncode != 0:
        return "network namespaces are not permitted here"
    return ""


def ours(*words: str) -> str:
    """A command line of this Python."""
    return " ".join([sys.executable, *words])


def theirs(distribution: str, *words: str) -> str:
    """A command line of real rclpy."""
    peer = ROOT / "tests" / "ros" / "rig" / "peer.py"
    return " ".join([str(environment(distribution) / "bin" / "python"), str(peer), *words])


def run(script: str, timeout: float = 120.0) -> subprocess.CompletedProcess[str]:
    """A shell script in a fresh namespace; what it started ends with it."""
    command = ["unshare", "-n", "-m", "--pid", "--fork", "--kill-child", "bash", "-c", SETUP + script]
    settings = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST", "ROS_DOMAIN_ID": "0"}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=timeout, check=False, env={**os.environ, **settings}
    )
