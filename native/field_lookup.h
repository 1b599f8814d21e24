// Reading a distance field over lanes. Included by kernels only.
#pragma once

#include "collision_kernels.h"
#include "lane_math.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

// Large enough that a call costs less than one more copy in the instruction cache.
#define MEMETIK_SHARED inline __attribute__((noinline))

// Interpolated distance at x (in the field's frame) and, where asked for, its gradient.
// Outside the grid the nearest point c of the grid's box is read instead: every point y of the mesh then has
// (x - c).(y - c) <= 0, so that sqrt(|x - c|^2 + d(c)^2) is a lower bound of the distance. The distance to the box
// around the mesh is another one; the larger counts.
MEMETIK_SHARED Lane lookup(const FieldView &field, const Vector3 &x, Vector3 *gradient) {
  const Vector3 g = {(x.x - Lane(field.origin[0])) * Lane(field.inverse_step),
                     (x.y - Lane(field.origin[1])) * Lane(field.inverse_step),
                     (x.z - Lane(field.origin[2])) * Lane(field.inverse_step)};
  const Vector3 top = {Lane(field.cells[0]), Lane(field.cells[1]), Lane(field.cells[2])};
  const Vector3 in = {clamp(g.x, Lane(0.0), top.x), clamp(g.y, Lane(0.0), top.y), clamp(g.z, Lane(0.0), top.z)};
  Lane corners[8];
  Lane fraction[3], scale;
  const int rows = field.cells[0] + 1, sheets = rows * (field.cells[1] + 1);
  for (int lane = 0; lane < kWidth; ++lane) {
    const double at[3] = {get(in.x, lane), get(in.y, lane), get(in.z, lane)};
    const int cell[3] = {at[0] < field.cells[0] ? int(at[0]) : field.cells[0] - 1,
                         at[1] < field.cells[1] ? int(at[1]) : field.cells[1] - 1,
                         at[2] < field.cells[2] ? int(at[2]) : field.cells[2] - 1};
    double rest[3] = {at[0] - cell[0], at[1] - cell[1], at[2] - cell[2]};
    int start = field.starts[cell[0] + field.cells[0] * (cell[1] + field.cells[1] * cell[2])];
    int row = rows, sheet = sheets;
    if (start >= field.corner_count) {
      int inner[3];
      for (int k = 0; k < 3; ++k) {
        rest[k] *= kBrick;
        inner[k] = rest[k] < kBrick ? int(rest[k]) : kBrick - 1;
        rest[k] -= inner[k];
      }
      start += inner[0] + kBrickEdge * (inner[1] + kBrickEdge * inner[2]);
      row = kBrickEdge;
      sheet = kBrickEdge * kBrickEdge;
      set(scale, lane, kBrick);
    } else {
      set(scale, lane, 1.0);
    }
    for (int k = 0; k < 3; ++k) set(fraction[k], lane, rest[k]);
    const float *v = field.values + start;
    set(corners[0], lane, v[0]);
    set(corners[1], lane, v[1]);
    set(corners[2], lane, v[row]);
    set(corners[3], lane, v[row + 1]);
    set(corners[4], lane, v[sheet]);
    set(corners[5], lane, v[sheet + 1]);
    set(corners[6], lane, v[sheet + row]);
    set(corners[7], lane, v[sheet + row + 1]);
  }
  const Lane d0 = corners[1] - corners[0], d1 = corners[3] - corners[2], d2 = corners[5] - corners[4],
             d3 = corners[7] - corners[6];
  const Lane a0 = corners[0] + fraction[0] * d0, a1 = corners[2] + fraction[0] * d1,
             a2 = corners[4] + fraction[0] * d2, a3 = corners[6] + fraction[0] * d3;
  const Lane e0 = a1 - a0, e1 = a3 - a2;
  const Lane b0 = a0 + fraction[1] * e0, b1 = a2 + fraction[1] * e1;
  Lane value = b0 + fraction[2] * (b1 - b0);
  if (gradient != nullptr) {
    const Lane s = scale * Lane(field.inverse_step);
    const Lane x0 = d0 + fraction[1] * (d1 - d0), x1 = d2 + fraction[1] * (d3 - d2);
    *gradient = {s * (x0 + fraction[2] * (x1 - x0)), s * (e0 + fraction[2] * (e1 - e0)), s * (b1 - b0)};
  }
  const Vector3 off = Lane(field.step) * (g - in);
  const Lane square = dot(off, off);
  const Mask outside = square > Lane(0.0);
  if (any(outside)) {
    const Lane zero(0.0), tiny(1e-300);
    const Lane base = max(value, zero);
    const Lane by_corner = sqrt(square + base * base);
    const Vector3 beyond = {x.x - clamp(x.x, Lane(field.low[0]), Lane(field.high[0])),
                            x.y - clamp(x.y, Lane(field.low[1]), Lane(field.high[1])),
                            x.z - clamp(x.z, Lane(field.low[2]), Lane(field.high[2]))};
    const Lane by_box = sqrt(dot(beyond, beyond));
    const Mask boxed = by_box > by_corner;
    if (gradient != nullptr) {
      // The point that is read moves with x only where it is not held at the box.
      const Vector3 along = {select((g.x < zero) | (g.x > top.x), zero, gradient->x),
                             select((g.y < zero) | (g.y > top.y), zero, gradient->y),
                             select((g.z < zero) | (g.z > top.z), zero, gradient->z)};
      const Vector3 far = choose(boxed, (1.0 / max(by_box, tiny)) * beyond,
                                 (1.0 / max(by_corner, tiny)) * (off + base * along));
      *gradient = choose(outside, far, *gradient);
    }
    value = select(outside, max(by_corner, by_box), value);
  }
  return value - Lane(field.offset);
}

// By how much a read value may exceed the true distance, whatever that is: see below, at distance zero in fine cells
// and at the least distance in cells that are not divided.
MEMETIK_INLINE double slack(const FieldView &field) { return 0.22 * field.step; }

// Correction e of a radius: where the true distance is below `radius`, the value read is below radius + e.
// A value is the mean of the distances d_i at the corners x_i of a cell, with weights whose mean is x. With the nearest
// point y of the surface, d_i <= |x_i - y|, so that by Jensen the value is at most
//   sqrt(mean |x_i - y|^2) = sqrt(d^2 + mean |x_i - x|^2) <= sqrt(d^2 + k h^2), k = 3/4.
// The part of x_i - x along y - x cancels where d is large: k is at most 0.605 for d >= h and 0.53 for d >= 2.1 h.
// Cells that are not divided hold distances of at least band - sqrt(3)/2 step.
MEMETIK_INLINE double overestimate(const FieldView &field, double radius) {
  const double h = field.step / kBrick, square = radius * radius;
  double reach = square + (radius < h ? 0.75 : 0.605) * h * h;
  if (radius > field.band - 0.8661 * field.step) reach = square + 0.53 * field.step * field.step;
  return __builtin_sqrt(reach) - radius + 1e-6;
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
