"""The doctor's findings on 20 public robots, each with the line of the file it is about, for review by eye.

Run: python benchmarks/doctor_review.py [NAME ...]
The robots come with the packages example-robot-data and rtb-data.
"""

from __future__ import annotations

import importlib.util
import sys
import sysconfig
import time
from collections import Counter
from pathlib import Path

from memetik.doctor import Finding, diagnose

ROBOTS = {
    "panda": "robots/panda_description/urdf/panda.urdf",
    "ur5": "robots/ur_description/urdf/ur5_robot.urdf",
    "ur10": "robots/ur_description/urdf/ur10_robot.urdf",
    "baxter": "robots/baxter_description/urdf/baxter.urdf",
    "pr2": "robots/pr2_description/urdf/pr2.urdf",
    "tiago": "robots/tiago_description/robots/tiago_no_hand.urdf",
    "tiago_dual": "robots/tiago_description/robots/tiago_dual.urdf",
    "talos": "robots/talos_data/robots/talos_reduced.urdf",
    "icub": "robots/icub_description/robots/icub_reduced.urdf",
    "g1": "robots/g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "allegro": "robots/allegro_hand_description/urdf/allegro_left_hand.urdf",
    "anymal": "robots/anymal_b_simple_description/robots/anymal.urdf",
    "a1": "robots/a1_description/urdf/a1.urdf",
    "hyq": "robots/hyq_description/robots/hyq_no_sensors.urdf",
    "kinova": "robots/kinova_description/robots/kinova.urdf",
    "xarm7": "robots/xarm_description/urdf/xarm7.urdf",
    "so101": "robots/so_arm_description/urdf/so101.urdf",
    "solo12": "robots/solo_description/robots/solo12.urdf",
    "iiwa14": "xacro/kuka_description/kuka_lbr_iiwa/urdf/lbr_iiwa_14_r820.urdf",
    "kr120": "xacro/kuka_description/kuka_kr120/urdf/kr120r2500pro.urdf",
}


def main() -> None:
    """Print every finding and the text it is about."""
    total: Counter[str] = Counter()
    chosen = sys.argv[1:] or list(ROBOTS)
    for name in chosen:
        path = _find(ROBOTS[name])
        start = time.perf_counter()
        findings = diagnose(path)
        print(f"\n{name}: {len(findings)} findings in {time.perf_counter() - start:.1f} s  ({path.name})")
        for finding in findings:
            print(f"  {finding.severity:7} {finding.code:26} {finding.place}")
            print(f"          {finding.message}")
            print(f"          | {_evidence(path, finding)}")
        total.update(finding.code for finding in findings)
    print(f"\n{sum(total.values())} findings on {len(chosen)} robots:")
    for code, count in total.most_common():
        print(f"  {count:5}  {code}")


def _find(relative: str) -> Path:
    if relative.startswith("xacro/"):
        spec = importlib.util.find_spec("rtbdata")
        if spec is None or spec.origin is None:
            raise SystemExit("rtb-data is not installed; run: pip install rtb-data")
        return Path(spec.origin).parent / relative
    path = Path(sysconfig.get_paths()["purelib"]) / "cmeel.prefix/share/example-robot-data" / relative
    if not path.exists():
        raise SystemExit("example-robot-data is not installed; run: pip install example-robot-data")
    return path


def _evidence(path: Path, finding: Finding) -> str:
    """The line of the description that the finding points at."""
    if finding.place.line is None:
        return "(the model)"
    file = next((p for p in (path, *path.parents[1].rglob(finding.place.file)) if p.name == finding.place.file), path)
    return file.read_text(errors="replace").splitlines()[finding.place.line - 1].strip()[:160]


if __name__ == "__main__":
    main()
