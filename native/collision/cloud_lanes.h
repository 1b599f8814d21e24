// Distances of segments from point clouds, one lane after the other: eight boxes of the tree at once. For kernels only.
#pragma once

#include "base/float_lanes.h"
#include "collision/shapes_lanes.h"
#include "geometry/world_object.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

// A segment in the frame of a cloud.
struct CloudSegment {
  double start[3], unit[3], length;
};

// What is known of the point of a cloud that is nearest to a segment.
struct CloudPoint {
  double distance;      // from the point; where none was found within the limit, a lower bound above it
  double along;         // where on the segment
  const double *point;  // null: none was found within the limit
};

// The point of a cloud nearest to a segment, if it is nearer than `limit`. A point nearer than `enough` ends the
// search.
MEMETIK_SHARED CloudPoint nearest_in_cloud(const CloudView &cloud, const CloudSegment &s, double limit, double enough) {
  struct Pending {
    float square;
    int32_t child, count;
  };
  constexpr double kRounding = 1e-6;  // of single precision, as a share of the largest coordinate; with room
  // At most seven boxes wait on each of a tree's levels, of which there are no more than ten.
  Pending stack[80];
  double centre[3], half[3], largest = 0, cloud_half = 0;
  for (int i = 0; i < 3; ++i) {
    centre[i] = s.start[i] + 0.5 * s.length * s.unit[i];
    half[i] = __builtin_fabs(0.5 * s.length * s.unit[i]);
    const double far = __builtin_fabs(centre[i]) + half[i];
    largest = far > largest ? far : largest;
    const double reach = __builtin_fabs(double(cloud.root.centre[i])) + double(cloud.root.half[i]);
    cloud_half = reach > cloud_half ? reach : cloud_half;
  }
  const float loose = float(kRounding * (largest + cloud_half));
  const Floats cx = float(centre[0]), cy = float(centre[1]), cz = float(centre[2]);
  const Floats hx = float(half[0]) + loose, hy = float(half[1]) + loose, hz = float(half[2]) + loose;
  const Floats ux = float(s.unit[0]), uy = float(s.unit[1]), uz = float(s.unit[2]);
  const Floats reach = float(0.5 * s.length), slack = loose, zero = 0.0f;
  CloudPoint best{limit, 0, nullptr};
  double square = limit > 0 ? limit * limit : 0, bound = 1e60;
  int depth = 0;
  stack[depth++] = {0.0f, cloud.root.child, cloud.root.count};
  while (depth > 0) {
    const Pending at = stack[--depth];
    if (double(at.square) >= square) {
      bound = double(at.square) < bound ? double(at.square) : bound;
      continue;
    }
    if (at.child < 0) {
      const double *points = cloud.corners + 3 * kLeaf * long(~at.child);
      for (int k = 0; k < at.count; ++k, points += 3) {
        const double d[3] = {points[0] - s.start[0], points[1] - s.start[1], points[2] - s.start[2]};
        double t = d[0] * s.unit[0] + d[1] * s.unit[1] + d[2] * s.unit[2];
        t = t < 0 ? 0 : t > s.length ? s.length : t;
        const double e[3] = {d[0] - t * s.unit[0], d[1] - t * s.unit[1], d[2] - t * s.unit[2]};
        const double own = e[0] * e[0] + e[1] * e[1] + e[2] * e[2];
        if (own < square) square = own, best.along = t, best.point = points;
      }
      if (best.point != nullptr && square <= enough * enough && enough >= 0) break;
      continue;
    }
    // Along the axes, and from the middle of each box, whose ball holds it.
    const BoxBlock &block = cloud.blocks[at.child];
    const Floats bx = load(block.half[0]), by = load(block.half[1]), bz = load(block.half[2]);
    const Floats dx = cx - load(block.centre[0]), dy = cy - load(block.centre[1]), dz = cz - load(block.centre[2]);
    const Floats gx = max(abs(dx) - (hx + bx), zero), gy = max(abs(dy) - (hy + by), zero),
                 gz = max(abs(dz) - (hz + bz), zero);
    Floats squares = gx * gx + gy * gy + gz * gz;
    if (s.length > 0) {
      const Floats t = min(max(-(dx * ux + dy * uy + dz * uz), -reach), reach);
      const Floats ex = dx + t * ux, ey = dy + t * uy, ez = dz + t * uz;
      const Floats gap = max(sqrt(ex * ex + ey * ey + ez * ez) - sqrt(bx * bx + by * by + bz * bz) - slack, zero);
      squares = max(squares, gap * gap);
    }
    float values[kFloatWidth];
    store(squares, values);
    unsigned near = bits(squares < Floats(float(square))) & block.used;
    for (unsigned left = block.used & ~near; left != 0; left &= left - 1) {
      const double own = double(values[__builtin_ctz(left)]);
      bound = own < bound ? own : bound;
    }
    // The nearest comes off the stack first.
    const int base = depth;
    for (; near != 0; near &= near - 1) {
      const int slot = __builtin_ctz(near);
      int place = depth++;
      for (; place > base && stack[place - 1].square < values[slot]; --place) stack[place] = stack[place - 1];
      stack[place] = {values[slot], block.child[slot], block.count[slot]};
    }
  }
  best.distance = __builtin_sqrt(best.point != nullptr ? square : bound);
  return best;
}

MEMETIK_INLINE CloudSegment cloud_segment(const Vector3 &a, const Vector3 &u, double length, int lane) {
  return {{get(a.x, lane), get(a.y, lane), get(a.z, lane)},
          {length > 0 ? get(u.x, lane) : 0.0, length > 0 ? get(u.y, lane) : 0.0, length > 0 ? get(u.z, lane) : 0.0},
          length};
}

// Least distance over the segment from a, length `length` along the unit vector u, to the balls of a cloud; a lower
// bound that is at least `enough` where it is larger than that.
MEMETIK_SHARED ObjectPoint cloud_distance(const CloudView &cloud, const Vector3 &a, const Vector3 &u, double length,
                                          const Lane &enough) {
  ObjectPoint found{Lane(0.0), a, a};
  for (int lane = 0; lane < kWidth; ++lane) {
    const CloudSegment s = cloud_segment(a, u, length, lane);
    const CloudPoint nearest = nearest_in_cloud(cloud, s, get(enough, lane) + cloud.radius, -1.0);
    double x[3], slope[3] = {0, 0, 1};
    for (int i = 0; i < 3; ++i) x[i] = s.start[i] + nearest.along * s.unit[i];
    if (nearest.point != nullptr && nearest.distance > 0)
      for (int i = 0; i < 3; ++i) slope[i] = (x[i] - nearest.point[i]) / nearest.distance;
    set(found.distance, lane, nearest.distance - cloud.radius);
    set(found.at.x, lane, x[0]), set(found.at.y, lane, x[1]), set(found.at.z, lane, x[2]);
    set(found.gradient.x, lane, slope[0]), set(found.gradient.y, lane, slope[1]), set(found.gradient.z, lane, slope[2]);
  }
  return found;
}

// Lanes in which a ball of the cloud may be nearer to x than `limit`.
MEMETIK_SHARED Mask near_cloud(const CloudView &cloud, const Vector3 &x, const Lane &limit) {
  Lane distance(0.0);
  for (int lane = 0; lane < kWidth; ++lane) {
    const double within = get(limit, lane) + cloud.radius;
    const CloudPoint nearest = nearest_in_cloud(cloud, cloud_segment(x, x, 0.0, lane), within, within);
    set(distance, lane, nearest.distance - cloud.radius);
  }
  return distance < limit;
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
