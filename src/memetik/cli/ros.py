"""`memetik ros`: a node in a ROS 2 graph, without ROS."""

from __future__ import annotations

import signal
import sys
import threading
from dataclasses import dataclass

from memetik.cli.options import argument, arguments_option, json_option, option, scene_option
from memetik.cli.output import print_json
from memetik.robot.robot import load_robot
from memetik.ros.node.node import NodeOptions, RosNode, wait_for_description
from memetik.ros.transports.choice import open_transport
from memetik.scene.scene import Scene


@dataclass(frozen=True, kw_only=True)
class RosOptions:
    robot: str = argument("", "Bundled name, or path of a URDF, xacro or MJCF file; by default /robot_description.")
    arg: list[str] = arguments_option()
    scene: str | None = scene_option()
    transport: str = option("auto", "auto, rclpy, dds or zenoh.")
    node: str = option("memetik", "Name of the node.")
    domain: int | None = option(None, "Domain; by default $ROS_DOMAIN_ID, else 0.", min=0, max=232)
    interface: list[str] = option([], "Network interface, by name or address; repeatable. Loopback only by default.")
    peer: list[str] = option([], "Host, or zenoh endpoint such as tcp/10.0.0.5:7447, to connect to; repeatable.")
    group: str = option("", "Group of joints that goals and streams move.")
    link: str = option("", "Link that goals and streams refer to; by default the tip.")
    controller: str = option("", "Controller that trajectories and commands are sent to.")
    commands: str = option("trajectory", "What streaming sends: trajectory or positions.")
    rate: float = option(100.0, "Hertz of streamed commands.", min=1.0, max=1000.0)
    margin: float = option(0.01, "Metres that streaming keeps from obstacles.", min=0.0)
    velocity_scale: float = option(1.0, "Times the velocity limits.", min=0.001, max=1.0)
    wait: float = option(30.0, "Seconds to wait for /robot_description.", min=0.0)
    as_json: bool = json_option()


def ros(options: RosOptions) -> None:
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    scene = None if options.scene is None else Scene.load(options.scene)
    robot = load_robot(options.robot) if options.robot else None
    transport = open_transport(
        options.node, options.transport, domain=options.domain, interfaces=options.interface, peers=options.peer
    )
    try:
        if robot is None:
            robot = wait_for_description(transport, options.wait)
        settings = NodeOptions(
            group=options.group, link=options.link, controller=options.controller, commands=options.commands,
            rate=options.rate, margin=options.margin, velocity_scale=options.velocity_scale,
        )  # fmt: skip
        with RosNode(transport, robot, scene, settings) as node:
            services = sorted(node.services.table())
            if options.as_json:
                print_json("memetik.ros/1", {"node": node.name, "robot": robot.name, "transport": transport.name,
                                             "services": services})  # fmt: skip
            else:
                print(f"memetik ros: {robot.name} as {node.name} over {transport.name}; {', '.join(services)}")
            sys.stdout.flush()
            ended.wait()
    finally:
        transport.close()
