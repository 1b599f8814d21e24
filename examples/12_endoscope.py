"""An endoscope reaches into a tank through a hole of seven centimetres, and looks at its wall.

Nothing tells the search where the hole is. The same with the hole given as a Pivot goal; then points of the wall are
inspected with a stand-off and tolerances instead of exact poses.

Run: python examples/12_endoscope.py
"""

import numpy as np
from pictures import save_animation

import memetik as mk
from memetik.bench.report.viewer import opened, scene_parts
from memetik.bench.scenarios.surroundings import allow_touch, hydrogen_tank

TARGETS = 60

robot = mk.load_robot("elise")
tank = hydrogen_tank(count=TARGETS, rng=1)
scene = allow_touch(tank, ["tip"])  # which the tip may touch
plain = mk.Problem(robot, [mk.Pose("tip")], scene=scene)
print(f"prepared in {plain.preparation_time:.1f} s (kept on disk for the next time)")

rng = np.random.default_rng(0)
times, configurations = [], []
for k, target in enumerate(tank.targets):
    solution = plain.solve(target, seed=robot.random(rng), rng=k, timeout=0.5)
    times.append(solution.time if solution else np.inf)
    configurations += [solution.q] if solution else []
print(f"no annotation: {len(configurations)} of {TARGETS}, median {1e3 * np.median(times):.1f} ms, "
      f"{100 * np.mean(np.array(times) < 0.01):.0f} % within 10 ms (source: 43 % with the hole annotated)")  # fmt: skip

batch = plain.solve(tank.targets, timeout=0.5)
print(f"one batch: {int(batch.success.sum())} of {TARGETS}, {1e3 * np.mean(batch.time):.2f} ms each")

chain = [link for link in robot.links if link.startswith("endoscope")]
pivot = mk.Pivot([*chain, "tip"], (0.0, 1.0, 0.5), tolerance=0.02)
guided = mk.Problem(robot, [mk.Pose("tip"), pivot], scene=scene)
times = [s.time if (s := guided.solve(t, seed=robot.random(rng), rng=k, timeout=0.5)) else np.inf
         for k, t in enumerate(tank.targets)]  # fmt: skip
print(f"through a given pivot: {int(np.isfinite(times).sum())} of {TARGETS}, median {1e3 * np.median(times):.1f} ms")

points = mk.sample_surface(
    tank.scene, tank.metadata["surfaces"][0], count=40, low=(-0.1, 1.08, 0.4), high=(0.1, 1.48, 0.6)
)
report = mk.plan_inspection(robot, scene, points, distance=(0.01, 0.04), view_angle=0.25, incidence_angle=0.4)
print(report)
cut = opened(scene_parts(scene), 0, 0.0)
save_animation("12_endoscope", robot, configurations[:12], rate=2.0, marks=cut, azimuth=0.25, elevation=0.2)
