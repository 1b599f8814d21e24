"""Where should this arm stand? The reach of a UR5 over a workpiece, and the best place for its base.

Run: python examples/17_reach.py
"""

from pathlib import Path

import trimesh
from pictures import FOLDER

FOLDER.mkdir(parents=True, exist_ok=True)
part = trimesh.creation.annulus(r_min=0.18, r_max=0.30, height=0.25, sections=48)
part.apply_translation((0.75, 0.0, 0.35))
path = FOLDER / "17_workpiece.stl"
part.export(path)


def reach(*options: str) -> None:
    """What `memetik reach` prints and writes, called as a program would be."""
    import subprocess
    import sys

    subprocess.run([sys.executable, "-m", "memetik.cli", "reach", "ur5", str(path), *options], check=True)


reach("--targets", "120", "-o", str(FOLDER / "17_reach.html"), "-o", str(FOLDER / "17_reach.png"))
reach("--targets", "60", "--place", "x=-0.4:0.4 y=-0.5:0.5", "-o", str(FOLDER / "17_place.html"))
print(f"pages: {', '.join(str(p) for p in sorted(Path(FOLDER).glob('17_*.html')))}")
print(f"picture: {FOLDER / '17_reach.png'}")
