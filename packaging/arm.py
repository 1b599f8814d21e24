"""Cross-compiles the core for 64-bit ARM and tests it under user-mode emulation.

Run: python packaging/arm.py [--folder build/arm] [--targets 1000]        (make test-arm)

Needs Debian or Ubuntu with g++-aarch64-linux-gnu and qemu-user. An arm64 Python and its libraries come out of the
distribution's packages into a folder, numpy and pytest out of wheels; nothing is installed. Runs the native unit tests,
a part of the Python tests, and solves whose successes have to be those of this machine's baseline kernels.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
PACKAGES = [
    "python3.11-minimal",
    "libpython3.11-minimal",
    "libpython3.11-stdlib",
    "libpython3.11-dev",
    "libc6",
    "libgcc-s1",
    "libstdc++6",
    "libssl3",
    "libffi8",
    "zlib1g",
    "libexpat1",
    "libbz2-1.0",
    "liblzma5",
    "libuuid1",
]
WHEELS = ("numpy", "pytest", "pluggy", "iniconfig", "packaging", "pygments")
TESTS = (
    "tests/solve/test_options.py",
    "tests/solve/test_buffers.py",
    "tests/solve/test_closed_form.py",
    "tests/robot/test_joint_kinds.py",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=ROOT / "build/arm")
    parser.add_argument("--targets", type=int, default=1000)
    parser.add_argument("--doctest", type=Path, help="the folder that has doctest/doctest.h")
    options = parser.parse_args()
    folder = options.folder.resolve()
    for program in ("aarch64-linux-gnu-g++", "qemu-aarch64"):
        if not shutil.which(program):
            print(f"{program} is missing: apt-get install g++-aarch64-linux-gnu qemu-user")
            return 1
    unpack_python(folder)
    unpack_wheels(folder)
    build(folder, options.doctest)
    tests = folder / "core/memetik_tests"
    if tests.exists():
        run(*emulator(folder), tests)
    python = (*emulator(folder), folder / "root/usr/bin/python3.11")
    environment = {**os.environ, "PYTHONPATH": str(folder / "site"), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run(
        [*python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS], cwd=ROOT, env=environment, check=True
    )
    solves = [ROOT / "packaging/arm_solves.py", str(options.targets)]
    ours = output([*python, *solves], environment)
    theirs = output([sys.executable, *solves], {**os.environ, "MEMETIK_ARCH": "baseline"})
    return compare(json.loads(ours), json.loads(theirs))


def emulator(folder: Path) -> tuple[str, ...]:
    return ("qemu-aarch64", "-L", str(folder / "root"))


def unpack_python(folder: Path) -> None:
    """The distribution's arm64 packages, by lists and a cache of our own: the system's stay as they are."""
    root, state = folder / "root", folder / "apt"
    if (root / "usr/bin/python3.11").exists():
        return
    for part in ("lists/partial", "cache/archives/partial", "packages"):
        (state / part).mkdir(parents=True, exist_ok=True)
    settings = (
        "APT::Architecture=arm64",
        "APT::Architectures=arm64",
        "APT::Sandbox::User=root",
        "Dir::State::status=/dev/null",
    )
    own = (f"Dir::State::Lists={state / 'lists'}", f"Dir::Cache={state / 'cache'}")
    apt = ["apt-get", "-qq", *(f"-o{setting}" for setting in (*settings, *own))]
    run(*apt, "update")
    subprocess.run([*apt, "download", *PACKAGES], cwd=state / "packages", check=True)
    for package in sorted((state / "packages").glob("*.deb")):
        run("dpkg", "-x", package, root)


def unpack_wheels(folder: Path) -> None:
    site, wheels = folder / "site", folder / "wheels"
    if not (site / "numpy").exists():
        platforms = [f"--platform=manylinux_{version}_aarch64" for version in ("2_17", "2_27", "2_28")]
        pip = (
            sys.executable,
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "--only-binary=:all:",
            "--python-version=311",
        )
        run(*pip, *platforms, "-d", wheels, *WHEELS)
        for wheel in wheels.glob("*.whl"):
            shutil.unpack_archive(wheel, site, "zip")


def build(folder: Path, doctest: Path | None) -> None:
    """The core as a module of the arm64 Python, and its unit tests."""
    include = folder / "root/usr/include"
    settings = {
        "CMAKE_TOOLCHAIN_FILE": ROOT / "cmake/aarch64.cmake",
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_CXX_FLAGS": f"-I{include}",
        "MEMETIK_TESTS": "ON",
        "Python_EXECUTABLE": sys.executable,
        "Python_INCLUDE_DIR": include / "python3.11",
        **({"DOCTEST_INCLUDE_DIR": doctest} if doctest else {}),
    }
    defined = [f"-D{name}={value}" for name, value in settings.items()]
    run("cmake", "-GNinja", "-S", ROOT, "-B", folder / "core", *defined)
    run("cmake", "--build", folder / "core")
    package = folder / "site/memetik"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(ROOT / "src/memetik", package)
    (module,) = (folder / "core").glob("_core*.so")
    shutil.copy(module, package / "_core.cpython-311-aarch64-linux-gnu.so")


def compare(ours: dict, theirs: dict) -> int:
    """Prints successes on both processors; 1 where they differ."""
    differ = 0
    for name in theirs:
        if name == "architecture":
            continue
        here, there = np.array(ours[name]["success"]), np.array(theirs[name]["success"])
        gaps = np.abs(np.array(ours[name]["q"]) - np.array(theirs[name]["q"])).max(axis=1)
        differ += int((here != there).sum())
        print(
            f"{name}: {here.sum()} of {len(here)} solved on ARM, {there.sum()} on x86-64, "
            f"{(here != there).sum()} differ; "
            f"{(gaps < 1e-6).sum()} configurations within 1e-6; largest error of a pose {ours[name]['error']:.1e}"
        )
    return int(differ > 0)


def output(command: list, environment: dict[str, str]) -> str:
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout


def run(*command: object) -> None:
    subprocess.run([str(part) for part in command], check=True)


if __name__ == "__main__":
    sys.exit(main())
