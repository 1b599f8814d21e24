"""The node `memetik` over rclpy, set by ROS parameters; those that are not given have the defaults of `memetik ros`.

ros2 run memetik_ros node --ros-args -p robot:=my_arm.urdf -p controller:=arm_controller
"""

from __future__ import annotations

import sys

import rclpy

TEXTS = ("robot", "scene", "group", "link", "controller", "commands")
NUMBERS = ("rate", "margin", "velocity_scale", "wait")


def main() -> None:
    """Reads the parameters, then runs `memetik ros --transport rclpy` with them."""
    from memetik.cli import main as memetik

    sys.argv = ["memetik", "ros", *arguments(sys.argv)]
    memetik()


def arguments(command_line: list[str]) -> list[str]:
    """The arguments of `memetik ros` that the node's parameters state."""
    rclpy.init(args=command_line)
    node = rclpy.create_node("memetik", automatically_declare_parameters_from_overrides=True)
    given = {name: node.get_parameter(name).value for name in (*TEXTS, *NUMBERS) if node.has_parameter(name)}
    node.destroy_node()
    rclpy.shutdown()
    robot = str(given.pop("robot", "") or "")
    found = [robot] if robot else []
    for name, value in given.items():
        if value not in (None, ""):
            found += [f"--{name.replace('_', '-')}", str(value)]
    return [*found, "--transport", "rclpy"]


if __name__ == "__main__":
    main()
