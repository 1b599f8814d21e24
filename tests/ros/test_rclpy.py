"""memetik's node beside real rclpy of Jazzy and Kilted with Fast DDS, each test in a network namespace of its own."""

from __future__ import annotations

import ast
import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from namespaces import DISTRIBUTIONS, ROOT, environment, loss, ours, ours_within, reason_to_skip, run, theirs
from random_messages import random_message

import memetik as mk
from memetik.ros import conversions
from memetik.ros.messages import decode, encode, type_names
from memetik.ros.messages.definitions import catalogue
from memetik.ros.messages.type_hash import type_hash

pytestmark = pytest.mark.ros
NODE = ours("-m memetik.cli ros panda --group panda_arm --transport dds")
HERE = Path(__file__).parent


@pytest.fixture(params=DISTRIBUTIONS)
def distribution(request: pytest.FixtureRequest) -> str:
    reason = reason_to_skip(request.param)
    if reason:
        pytest.skip(reason)
    return request.param


def report_of(script: str, timeout: float = 120.0) -> dict[str, Any]:
    done = run(script, timeout)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    assert lines, done.stdout[-2000:] + done.stderr[-4000:]
    return json.loads(lines[-1])


def poses_file(path: Path, count: int) -> tuple[Path, np.ndarray]:
    robot, rng = mk.load_robot("panda"), np.random.default_rng(5)
    poses = np.array([robot.pose("panda_hand_tcp", robot.random(rng)) for _ in range(count)])
    rows = []
    for pose in poses:
        message = conversions.pose_message(pose)
        p, o = message.position, message.orientation
        rows.append([p.x, p.y, p.z, o.x, o.y, o.z, o.w])
    path.write_text(json.dumps(rows))
    return path, poses


def check_answers(answers: list[Any], poses: np.ndarray) -> float:
    """Each answer by Pinocchio's forward kinematics; gives back the share of successes."""
    import pinocchio

    robot = mk.load_robot("panda")
    model = pinocchio.buildModelFromXML(robot.to_urdf())
    data, frame = model.createData(), model.getFrameId("panda_hand_tcp")
    solved = 0
    for index, code, q in answers:
        if code != 1:
            continue
        solved += 1
        whole = pinocchio.neutral(model)
        for name, value in zip(robot.joint_names, q, strict=True):
            whole[model.joints[model.getJointId(name)].idx_q] = value
        pinocchio.framesForwardKinematics(model, data, whole)
        assert np.abs(data.oMf[frame].homogeneous - poses[index]).max() < 5e-5
        assert robot.within_limits(np.array(q))
    return solved / len(answers)


def test_the_node_and_its_endpoints_are_in_the_graph(distribution: str):
    report = report_of(f"{NODE} & sleep 3; {theirs(distribution, 'graph')}")
    assert "memetik" in report["nodes"]
    assert report["services"]["/compute_ik"] == ["moveit_msgs/srv/GetPositionIK"]
    assert report["services"]["/plan_kinematic_path"] == ["moveit_msgs/srv/GetMotionPlan"]
    assert report["topics"]["/memetik/goal"] == ["geometry_msgs/msg/PoseStamped"]
    assert report["publisher"] == ["memetik"]
    assert type_hash("moveit_msgs/msg/DisplayTrajectory").removeprefix("RIHS01_") in report["hash"][0]


def test_ik_for_clients_that_come_die_and_return(distribution: str, tmp_path: Path):
    path, poses = poses_file(tmp_path / "poses.json", 100)
    client = theirs(distribution, f"ik 100 {path} panda_arm panda_hand_tcp")
    done = run(f"{NODE} & sleep 2; for k in 1 2 3; do {client}; done", 180.0)
    reports = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(reports) == 3, done.stderr[-3000:]
    for report in reports:
        assert "stalled" not in report
        assert "error" not in report
        assert len(report["answers"]) == 100
        assert check_answers(report["answers"], poses) > 0.99


def test_replies_survive_the_loss_of_packets(distribution: str):
    lossy, own, _ = loss(0.05)
    server = ours(str(HERE / "lossy_server.py"), str(own))
    report = report_of(f"{lossy}{server} & sleep 2; {theirs(distribution, 'noop 60')}", 180.0)
    # A lost request is sent again when Fast DDS's writer makes itself heard, every three seconds.
    assert report.get("calls") == 60, report


def test_a_late_subscriber_gets_the_description_in_fragments(distribution: str):
    lossy, own, _ = loss(0.05)
    server = ours(str(HERE / "lossy_server.py"), str(own))
    report = report_of(f"{lossy}{server} & sleep 2; {theirs(distribution, 'latched')}")
    assert report["heard"] == [300_000]


@pytest.mark.clock
def test_a_stream_arrives_whole_and_in_order(distribution: str):
    server = ours(str(HERE / "stream_server.py"), "250", "8")
    listener = theirs(distribution, "stream 6")
    report = report_of(f"{server} & sleep 1; {listener}")
    assert report["missing"] == 0
    assert report["in order"]
    assert report["count"] > 500


def test_real_rclpy_reads_what_memetik_writes_and_back(distribution: str, tmp_path: Path):
    rng = random.Random(3)
    written = {}
    for name in type_names():
        for k in range(3):
            message = random_message(name, rng)
            file = tmp_path / f"{name.replace('/', '+')}-{k}.cdr"
            file.write_bytes(encode(message))
            written[file.with_suffix(".back")] = message
    report = report_of(theirs(distribution, f"decode {tmp_path}"))
    assert not report["wrong"]
    assert report["read"] > 250
    backs = [file for file in written if file.exists()]
    assert len(backs) == report["read"]
    for file in backs:
        assert decode(file.read_bytes(), written[file].TYPE) == written[file]


def test_hashes_equal_those_that_the_generators_write(distribution: str):
    known = {}
    for file in environment(distribution).glob("share/*/*/*.json"):
        for entry in json.loads(file.read_text()).get("type_hashes", []):
            known[entry["type_name"]] = entry["hash_string"]
    names = [name for name in (*type_names(), *(n for n in catalogue() if "/srv/" in n)) if name in known]
    assert len(names) > 100
    for name in names:
        assert type_hash(name) == known[name], name


def test_the_driver_follows_cancels_and_stops_through_the_action(distribution: str):
    robot = mk.load_robot("panda")
    start = ",".join(f"{value:.6f}" for value in robot.state("ready"))
    controller = theirs(distribution, f"controller {','.join(robot.joint_names)} {start}")
    report = report_of(f"{controller} & sleep 3; {ours(str(HERE / 'drive.py'))}")
    assert report["by"] == "action"
    assert report["success"], report
    assert report["deviation"] < 0.05
    assert report["cancelled"] == "cancelled"
    assert report["at rest"]
    assert report["off at cancel"] > 0.05
    assert "limit" in report["too fast"]
    assert "starts with joint" in report["elsewhere"]


def test_pymoveit2_gets_what_it_would_get_from_moveit(distribution: str, tmp_path: Path):
    path, poses = poses_file(tmp_path / "poses.json", 20)
    robot = mk.load_robot("panda")
    arm = [name for name in robot.joint_names if "finger" not in name]
    q = robot.state("ready")[: len(arm)]
    start = ",".join(f"{value:.6f}" for value in q)
    client = theirs(distribution, f"pymoveit2 {path} panda_arm panda_hand_tcp panda_link0 {','.join(arm)} {start}")
    node = f"{NODE} --scene {empty_scene(tmp_path)}"
    report = report_of(f"{node} & sleep 4; {client}")
    answers = [
        [index, code, [found.get(name, 0.02) for name in robot.joint_names]] for index, code, found in report["answers"]
    ]
    assert check_answers(answers, poses) > 0.9
    ready = robot.state("ready")
    np.testing.assert_allclose(report["fk"], robot.pose("panda_hand_tcp", ready)[:3, 3], atol=1e-5)
    names, *points = report["to pose"]
    end = robot.q({**dict(zip(robot.joint_names, ready, strict=True)), **dict(zip(names, points[-1], strict=True))})
    assert np.abs(robot.pose("panda_hand_tcp", end) - poses[0])[:3, 3].max() < 2e-3
    names, *points = report["to joints"]
    reached = dict(zip(names, points[-1], strict=True))
    np.testing.assert_allclose([reached[name] for name in arm], q + 0.2, atol=2e-3)


def test_pymoveit2_moves_an_arm_through_the_controller(distribution: str):
    """pymoveit2 plans and executes with memetik, which drives a controller of rclpy."""
    robot = mk.load_robot("panda")
    arm, ready = [name for name in robot.joint_names if "finger" not in name], robot.state("ready")
    start = ",".join(f"{value:.6f}" for value in ready)
    q = ready[:7] + 0.25
    goal = ",".join(f"{value:.6f}" for value in q)
    controller = theirs(distribution, f"controller {','.join(robot.joint_names)} {start}")
    client = theirs(distribution, f"pymoveit2_moves panda_arm panda_hand_tcp panda_link0 {','.join(arm)} {goal}")
    report = report_of(f"{controller} & {NODE} --controller arm_controller & sleep 5; {client}", 240.0)
    assert report["moved"], report
    assert report["off"] < 2e-3
    assert report["joints moved"], report
    np.testing.assert_allclose(report["at"], q, atol=2e-3)
    assert report["cancelled"], report
    assert report["from far"] > 0.05
    assert report["drift"] < 1e-3


def test_recipes_of_the_documentation_do_what_they_say(distribution: str, tmp_path: Path):
    """IK asked by a node of rclpy, an arm moved by RosDriver, then by twists of rclpy: each as it is printed."""
    found = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "ros.md").read_text(encoding="utf-8"), re.DOTALL)
    robot = mk.load_robot("panda")
    for name, text in zip(("ask.py", "drive.py", "twist.py"), found, strict=False):
        (tmp_path / name).write_text(text)
    (tmp_path / "my_arm.urdf").write_text(robot.to_urdf())
    where = "import memetik as mk; d = mk.RosDriver('arm_controller'); print('at', *d.state().q); d.close()"
    (tmp_path / "where.py").write_text(where)
    scene = mk.Scene()
    scene.add_box("table", (0.6, 0.6, 0.04), mk.transform((0.5, 0.0, 0.2)))
    scene.save(tmp_path / "cell.toml")
    rclpy = environment(distribution) / "bin" / "python"
    done = run(
        f"""cd {tmp_path}; {ours(str(HERE / "controller.py"), "panda")} > controller.log & sleep 3
        {NODE} --scene cell.toml --controller arm_controller > node.log 2>&1 & sleep 4
        {rclpy} ask.py; {ours("drive.py")}; {ours("where.py")}; timeout 5 {rclpy} twist.py; {ours("where.py")}""",
        240.0,
    )
    code, solution, driven, before, after = done.stdout.splitlines()
    assert code.startswith("1 "), done.stderr[-3000:]
    values = ast.literal_eval(solution)
    pose = robot.pose("panda_hand_tcp", np.array([values[name] for name in robot.joint_names]))
    np.testing.assert_allclose(pose[:3, 3], (0.4, 0.1, 0.5), atol=2e-5)
    assert driven.startswith("True"), done.stdout + done.stderr[-3000:]
    heights = [robot.pose("panda_hand_tcp", np.array(line.split()[1:], dtype=float))[2, 3] for line in (before, after)]
    assert heights[0] == pytest.approx(0.5, abs=0.01)
    assert 0.02 < heights[0] - heights[1] < 0.28
    assert not mk.CollisionModel(robot, scene).collides(np.array(after.split()[1:], dtype=float))


def empty_scene(folder: Path) -> Path:
    mk.Scene().save(folder / "scene.toml")
    return folder / "scene.toml"


def test_the_node_serves_over_rclpy_itself(distribution: str, tmp_path: Path):
    path, poses = poses_file(tmp_path / "poses.json", 50)
    node = ours_within(distribution, "memetik ros panda --group panda_arm --transport rclpy")
    client = theirs(distribution, f"ik 50 {path} panda_arm panda_hand_tcp")
    report = report_of(f"{node} & sleep 4; {client}")
    assert "stalled" not in report
    assert len(report["answers"]) == 50
    assert check_answers(report["answers"], poses) > 0.99


def test_discovery_by_multicast_on_two_named_interfaces(distribution: str, tmp_path: Path):
    """Three machines, as namespaces with a cable from the first to each of the others; ROS has its default settings."""
    path, poses = poses_file(tmp_path / "poses.json", 20)
    client = theirs(distribution, f"ik 20 {path} panda_arm panda_hand_tcp")
    cables = "export ROS_AUTOMATIC_DISCOVERY_RANGE=SUBNET\n"
    for k in (0, 1):
        cables += f"""unshare -n sleep 200 & other{k}=$!; sleep 0.5
            ip link add v{k} type veth peer name w{k}; ip link set w{k} netns $other{k}
            ip addr add 10.7.{k}.1/24 dev v{k}; ip link set v{k} up
            nsenter -t $other{k} -n sh -c 'ip link set lo up; ip addr add 10.7.{k}.2/24 dev w{k}; ip link set w{k} up'
            """
    asked = "; ".join(f"nsenter -t $other{k} -n {client}" for k in (0, 1))
    done = run(f"{cables}\n{NODE} --interface v0 --interface v1 & sleep 6; {asked}", 180.0)
    reports = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(reports) == 2, done.stderr[-3000:]
    for report in reports:
        assert len(report.get("answers", [])) == 20, report
        assert check_answers(report["answers"], poses) > 0.99
