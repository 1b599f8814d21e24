"""ros2 launch memetik_ros memetik.launch.py controller:=arm_controller group:=panda_arm"""

from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node
from launch_ros.substitutions import FindPackageShare

OVERRIDES = ("robot", "scene", "group", "link", "controller")


def generate_launch_description() -> LaunchDescription:
    """The node with the parameters of a file; arguments of the launch come before them."""
    default = PathJoinSubstitution([FindPackageShare("memetik_ros"), "config", "memetik.yaml"])
    declared = [DeclareLaunchArgument("parameters", default_value=default, description="a file of parameters")]
    declared += [DeclareLaunchArgument(name, default_value="") for name in OVERRIDES]
    own = {name: LaunchConfiguration(name) for name in OVERRIDES}
    node = Node(package="memetik_ros", executable="node", parameters=[LaunchConfiguration("parameters"), own])
    return LaunchDescription([*declared, node])
