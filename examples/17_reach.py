"""Where should this arm stand? The reach of a UR5 over a workpiece, and the best place for its base.

Run: python examples/17_reach.py
"""

from pathlib import Path

import numpy as np
from pictures import FOLDER

from memetik.geometry.formats.ply import write_ply
from memetik.geometry.tessellate import revolve

FOLDER.mkdir(parents=True, exist_ok=True)
rectangle = np.array([(0.18, -0.125), (0.30, -0.125), (0.30, 0.125), (0.18, 0.125), (0.18, -0.125)])
ring = revolve(rectangle, sections=48)
path = FOLDER / "17_workpiece.ply"
path.write_bytes(write_ply(ring.vertices + np.array((0.75, 0.0, 0.35)), ring.faces))


def reach(*options: str) -> None:
    """What `memetik reach` prints and writes, called as a program would be."""
    import subprocess
    import sys

    subprocess.run([sys.executable, "-m", "memetik.cli", "reach", "ur5", str(path), *options], check=True)


reach("--targets", "120", "-o", str(FOLDER / "17_reach.html"), "-o", str(FOLDER / "17_reach.png"))
reach("--targets", "60", "--place", "x=-0.4:0.4 y=-0.5:0.5", "-o", str(FOLDER / "17_place.html"))
print(f"pages: {', '.join(str(p) for p in sorted(Path(FOLDER).glob('17_*.html')))}")
print(f"picture: {FOLDER / '17_reach.png'}")
