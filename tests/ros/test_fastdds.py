"""memetik's participant beside a C++ program on the system's Fast DDS (Debian: libfastrtps-dev), without ROS."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from namespaces import loss, ours, run

pytestmark = pytest.mark.ros
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if subprocess.run(["unshare", "-n", "-m", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("network namespaces are not permitted here")
    compiler = shutil.which("c++")
    if compiler is None or not Path("/usr/include/fastdds/dds/domain/DomainParticipant.hpp").exists():
        pytest.skip("a C++ compiler and Fast DDS are needed; on Debian: apt install libfastrtps-dev")
    built = tmp_path_factory.mktemp("peer") / "fastdds_peer"
    source = str(HERE / "rig" / "fastdds_peer.cpp")
    command = [compiler, "-std=c++17", "-O1", source, "-o", str(built), "-lfastrtps", "-lfastcdr"]
    subprocess.run(command, check=True)
    return built


@pytest.mark.parametrize(("share", "calls"), [(0.0, 1000), (0.05, 60)])
def test_every_call_of_a_cpp_client_is_answered(peer: Path, share: float, calls: int):
    lossy, own, _ = loss(share)
    server = ours(str(HERE / "lossy_server.py"), str(own))
    done = run(f"{lossy}{server} & sleep 3; {peer} {calls}", 300.0)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    assert lines, done.stdout[-500:] + done.stderr[-2000:]
    report = json.loads(lines[-1])
    assert (report["calls"], report["wrong"]) == (calls, 0)
