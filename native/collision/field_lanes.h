// Reading a distance field over lanes. Included by kernels only.
#pragma once

#include "collision/collision_kernel.h"
#include "tree/rotations_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

// Large enough that a call costs less than one more copy in the instruction cache.
#define MEMETIK_SHARED inline __attribute__((noinline))

// The corners of the cells that W points are in: values, x fastest, and where between them the point is.
template <int W>
struct Cell {
  LaneOf<W> corners[8], fraction[3], scale;  // scale: cells per cell that is not divided
};

// One native vector of points, given in cells from the field's origin and inside its box.
MEMETIK_INLINE void read_cells(const FieldView &field, const LaneOf<kNative> &x, const LaneOf<kNative> &y,
                               const LaneOf<kNative> &z, Cell<kNative> &out) {
  const int rows = field.cells[0] + 1, sheets = rows * (field.cells[1] + 1);
#if defined(__AVX2__)
  using Whole = int __attribute__((vector_size(kNative * 4)));
  using Floats = float __attribute__((vector_size(kNative * 4)));
  using Pairs = float __attribute__((vector_size(kNative * 8)));
  const auto cell_of = [](const Vector &at, int last) {
    const Whole cell = __builtin_convertvector(at, Whole);
    return Whole(cell < last ? cell : Whole{} + last);
  };
  const Whole cx = cell_of(x.v, field.cells[0] - 1), cy = cell_of(y.v, field.cells[1] - 1),
              cz = cell_of(z.v, field.cells[2] - 1);
  const Whole cell = cx + field.cells[0] * (cy + field.cells[1] * cz);
#if defined(__AVX512F__)
  const Whole start = (Whole)_mm256_i32gather_epi32(field.starts, (__m256i)cell, 4);
#else
  const Whole start = (Whole)_mm_i32gather_epi32(field.starts, (__m128i)cell, 4);
#endif
  const Whole divided = start >= field.corner_count;
  const Bits wide = __builtin_convertvector(divided, Bits);
  const double brick = kBrick;
  const Vector rx = x.v - __builtin_convertvector(cx, Vector), ry = y.v - __builtin_convertvector(cy, Vector),
               rz = z.v - __builtin_convertvector(cz, Vector);
  const Whole ix = cell_of(brick * rx, kBrick - 1), iy = cell_of(brick * ry, kBrick - 1),
              iz = cell_of(brick * rz, kBrick - 1);
  out.fraction[0].v = wide ? brick * rx - __builtin_convertvector(ix, Vector) : rx;
  out.fraction[1].v = wide ? brick * ry - __builtin_convertvector(iy, Vector) : ry;
  out.fraction[2].v = wide ? brick * rz - __builtin_convertvector(iz, Vector) : rz;
  out.scale.v = wide ? Vector{} + brick : Vector{} + 1.0;
  const Whole first = start + (divided & (ix + kBrickEdge * (iy + kBrickEdge * iz)));
  const Whole row = divided ? Whole{} + kBrickEdge : Whole{} + rows;
  const Whole sheet = divided ? Whole{} + kBrickEdge * kBrickEdge : Whole{} + sheets;
  const auto gather = [&](const Whole &at, LaneOf<kNative> &low, LaneOf<kNative> &high) {
    const double *values = reinterpret_cast<const double *>(field.values);
#if defined(__AVX512F__)
    const Pairs pairs = (Pairs)_mm512_i32gather_pd((__m256i)at, values, 4);
    const Floats even = __builtin_shufflevector(pairs, pairs, 0, 2, 4, 6, 8, 10, 12, 14);
    const Floats odd = __builtin_shufflevector(pairs, pairs, 1, 3, 5, 7, 9, 11, 13, 15);
#else
    const Pairs pairs = (Pairs)_mm256_i32gather_pd(values, (__m128i)at, 4);
    const Floats even = __builtin_shufflevector(pairs, pairs, 0, 2, 4, 6);
    const Floats odd = __builtin_shufflevector(pairs, pairs, 1, 3, 5, 7);
#endif
    low.v = __builtin_convertvector(even, Vector);
    high.v = __builtin_convertvector(odd, Vector);
  };
  gather(first, out.corners[0], out.corners[1]);
  gather(first + row, out.corners[2], out.corners[3]);
  gather(first + sheet, out.corners[4], out.corners[5]);
  gather(first + sheet + row, out.corners[6], out.corners[7]);
#else
  for (int lane = 0; lane < kNative; ++lane) {
    const double at[3] = {x.v[lane], y.v[lane], z.v[lane]};
    int cell[3];
    double rest[3];
    for (int k = 0; k < 3; ++k) {
      cell[k] = at[k] < field.cells[k] ? int(at[k]) : field.cells[k] - 1;
      rest[k] = at[k] - cell[k];
    }
    int start = field.starts[cell[0] + field.cells[0] * (cell[1] + field.cells[1] * cell[2])];
    const bool divided = start >= field.corner_count;
    if (divided) {
      int inner[3];
      for (int k = 0; k < 3; ++k) {
        inner[k] = rest[k] * kBrick < kBrick ? int(rest[k] * kBrick) : kBrick - 1;
        rest[k] = rest[k] * kBrick - inner[k];
      }
      start += inner[0] + kBrickEdge * (inner[1] + kBrickEdge * inner[2]);
    }
    out.scale.v[lane] = divided ? kBrick : 1.0;
    const int row = divided ? kBrickEdge : rows, sheet = divided ? kBrickEdge * kBrickEdge : sheets;
    for (int k = 0; k < 3; ++k) out.fraction[k].v[lane] = rest[k];
    for (int corner = 0; corner < 8; ++corner)
      out.corners[corner].v[lane] =
          field.values[start + (corner & 1) + row * (corner >> 1 & 1) + sheet * (corner >> 2)];
  }
#endif
}

template <int W>
MEMETIK_INLINE void read_cells(const FieldView &field, const LaneOf<W> &x, const LaneOf<W> &y, const LaneOf<W> &z,
                               Cell<W> &out) {
  Cell<W / 2> lo, hi;
  read_cells(field, x.lo, y.lo, z.lo, lo);
  read_cells(field, x.hi, y.hi, z.hi, hi);
  for (int corner = 0; corner < 8; ++corner) out.corners[corner] = {lo.corners[corner], hi.corners[corner]};
  for (int k = 0; k < 3; ++k) out.fraction[k] = {lo.fraction[k], hi.fraction[k]};
  out.scale = {lo.scale, hi.scale};
}

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
  Cell<kWidth> cell;
  read_cells(field, in.x, in.y, in.z, cell);
  const Lane *corners = cell.corners, *fraction = cell.fraction;
  const Lane d0 = corners[1] - corners[0], d1 = corners[3] - corners[2], d2 = corners[5] - corners[4],
             d3 = corners[7] - corners[6];
  const Lane a0 = corners[0] + fraction[0] * d0, a1 = corners[2] + fraction[0] * d1, a2 = corners[4] + fraction[0] * d2,
             a3 = corners[6] + fraction[0] * d3;
  const Lane e0 = a1 - a0, e1 = a3 - a2;
  const Lane b0 = a0 + fraction[1] * e0, b1 = a2 + fraction[1] * e1;
  Lane value = b0 + fraction[2] * (b1 - b0);
  if (gradient != nullptr) {
    const Lane s = cell.scale * Lane(field.inverse_step);
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
      const Vector3 far =
          choose(boxed, (1.0 / max(by_box, tiny)) * beyond, (1.0 / max(by_corner, tiny)) * (off + base * along));
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
