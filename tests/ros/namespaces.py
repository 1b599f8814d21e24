"""Processes in a network namespace and a /dev/shm of their own, and what real ROS 2 is there for tests."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import sysconfig
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


@cache
def loss(share: float) -> tuple[str, float, str]:
    """How packets get lost in a namespace: words of a shell that make its kernel lose a share of them, the share that
    lossy_server.py has to lose itself where the kernel cannot, and the name of the way."""
    for words, name in (
        (f"tc qdisc add dev lo root netem loss {100.0 * share:g}%", "tc netem"),
        ('nft "add table inet loss; add chain inet loss in { type filter hook input priority 0; }; '
         f'add rule inet loss in meta l4proto udp numgen random mod 1000 < {round(1000.0 * share)} drop"', "nftables"),
    ):  # fmt: skip
        if share > 0.0 and run(words).returncode == 0:
            return f"{words}; ", 0.0, name
    return "", share, "memetik's sockets"


def ours(*words: str) -> str:
    """A command line of this Python."""
    return " ".join([sys.executable, *words])


def theirs(distribution: str, *words: str) -> str:
    """A command line of real rclpy."""
    peer = ROOT / "tests" / "ros" / "rig" / "peer.py"
    return " ".join([str(environment(distribution) / "bin" / "python"), str(peer), *words])


def run(script: str, timeout: float = 120.0) -> subprocess.CompletedProcess[str]:
    """A shell script in a fresh namespace; what it started ends with it."""
    command = ["unshare", "-n", "-m", "--pid", "--fork", "--kill-child", "--mount-proc", "bash", "-c", SETUP + script]
    settings = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST", "ROS_DOMAIN_ID": "0"}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=timeout, check=False, env={**os.environ, **settings}
    )


def ours_within(distribution: str, *words: str) -> str:
    """A command line of memetik in the environment of real rclpy."""
    here = sysconfig.get_paths()["purelib"]
    start = f"import site, sys; site.addsitedir({here!r}); sys.argv = sys.argv[1:]; import memetik.cli as c; c.main()"
    return " ".join([str(environment(distribution) / "bin" / "python"), "-c", shlex.quote(start), *words])
