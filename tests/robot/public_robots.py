"""Where the public robots are that tests read: those of example-robot-data and rtb-data."""

import importlib.util
from pathlib import Path


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    assert spec is not None, f"{name} is not installed"
    locations = list(spec.submodule_search_locations or [])
    return Path(locations[0] if locations else str(spec.origin)).resolve()


def _example_robots() -> Path:
    for parent in _package("pinocchio").parents:
        folder = parent / "share" / "example-robot-data" / "robots"
        if folder.is_dir():
            return folder
    raise AssertionError("example-robot-data is not installed")


EXAMPLES = _example_robots()
TOOLBOX = _package("rtbdata") / "xacro"

EMPTY = "ur3.urdf"
"""An empty <robot> in example-robot-data."""
DANGLING_MIMIC = "alex_psyonic_hands.urdf"
"""Its finger joints mimic joints that do not exist, so that they move by themselves."""

URDF_FILES = sorted(EXAMPLES.rglob("*.urdf")) + sorted(TOOLBOX.rglob("*.urdf"))
GOOD_URDF_FILES = [path for path in URDF_FILES if path.name not in (EMPTY, DANGLING_MIMIC)]
SRDF_FILES = sorted(EXAMPLES.rglob("*.srdf"))


def robot_file(name: str) -> Path:
    """The file of that name among all public URDF files."""
    return next(path for path in URDF_FILES if path.name == name)
