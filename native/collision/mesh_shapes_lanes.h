// Separation of boxes and triangles, and distances of points, over single precision lanes. Included by kernels only.
//
// "Apart" always means: farther apart than m for sure. Any axis that separates two bodies proves it; axes that are not
// of unit length L ask for m L.
#pragma once

#include "base/float_lanes.h"
#include "collision/mesh_view.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

MEMETIK_INLINE Floats3 into(const FloatPose &pose, const Floats3 &x) {
  const Floats a = x.x - Floats(pose.p[0]), b = x.y - Floats(pose.p[1]), c = x.z - Floats(pose.p[2]);
  const float *R = pose.R;
  return {Floats(R[0]) * a + Floats(R[3]) * b + Floats(R[6]) * c,
          Floats(R[1]) * a + Floats(R[4]) * b + Floats(R[7]) * c,
          Floats(R[2]) * a + Floats(R[5]) * b + Floats(R[8]) * c};
}

// The same of a frame.
MEMETIK_INLINE FloatFrame within(const FloatPose &pose, const FloatFrame &f) {
  const float *R = pose.R;
  const auto back = [&](const Floats3 &v) {
    return Floats3{Floats(R[0]) * v.x + Floats(R[3]) * v.y + Floats(R[6]) * v.z,
                   Floats(R[1]) * v.x + Floats(R[4]) * v.y + Floats(R[7]) * v.z,
                   Floats(R[2]) * v.x + Floats(R[5]) * v.y + Floats(R[8]) * v.z};
  };
  return {back(f.x), back(f.y), back(f.z), into(pose, f.p)};
}

MEMETIK_INLINE Floats box_square(const Floats3 &x, const float *half) {
  const Floats zero(0.0f), a = max(abs(x.x) - Floats(half[0]), zero), b = max(abs(x.y) - Floats(half[1]), zero),
                           c = max(abs(x.z) - Floats(half[2]), zero);
  return a * a + b * b + c * c;
}

// The squared distance of points from a shape, in its frame, 0 inside; for cones, meshes and clouds a lower bound.
MEMETIK_INLINE Floats point_square(const ShapeView &shape, const Floats3 &x) {
  const Floats zero(0.0f);
  const auto beyond = [&](const Floats &square, float radius) {
    const Floats d = max(sqrt(square) - Floats(radius), zero);
    return d * d;
  };
  switch (shape.kind) {
    case ShapeKind::sphere:
      return beyond(dot(x, x), shape.size[0]);
    case ShapeKind::box:
      return box_square(x, shape.size);
    case ShapeKind::capsule: {
      const Floats z = max(abs(x.z) - Floats(shape.size[2]), zero);
      return beyond(x.x * x.x + x.y * x.y + z * z, shape.size[0]);
    }
    case ShapeKind::cylinder:
    case ShapeKind::cone: {
      const Floats along = max(abs(x.z) - Floats(shape.size[2]), zero);
      return beyond(x.x * x.x + x.y * x.y, shape.size[0]) + along * along;
    }
    case ShapeKind::half_space: {
      const Floats above = max(x.z, zero);
      return above * above;
    }
    default: {
      const Floats3 y = {x.x - Floats(shape.centre[0]), x.y - Floats(shape.centre[1]), x.z - Floats(shape.centre[2])};
      return box_square(y, shape.half);
    }
  }
}

MEMETIK_INLINE bool has_exact_distance(ShapeKind kind) {
  return kind == ShapeKind::sphere || kind == ShapeKind::box || kind == ShapeKind::capsule ||
         kind == ShapeKind::cylinder || kind == ShapeKind::half_space;
}

// A box against eight others: a frame's pose in the frame of the box, in plain numbers.
struct BoxView {
  float R[9], p[3], half[3];

  // pose: rotation (row major) and position of the other frame in the frame in which the box is given.
  MEMETIK_INLINE BoxView(const BoxNode &box, const float *rotation, const float *position) {
    const float d[3] = {position[0] - box.centre[0], position[1] - box.centre[1], position[2] - box.centre[2]};
    const float *A = box.axes;
    for (int i = 0; i < 3; ++i) {
      p[i] = A[i] * d[0] + A[3 + i] * d[1] + A[6 + i] * d[2];
      half[i] = box.half[i];
      for (int k = 0; k < 3; ++k)
        R[3 * i + k] = A[i] * rotation[k] + A[3 + i] * rotation[3 + k] + A[6 + i] * rotation[6 + k];
    }
  }
};

// Bits of the boxes of a block that are apart from a box; `distance2` are the squared distances of their centres.
inline unsigned boxes_apart(const BoxView &a, const BoxBlock &block, const Floats &m, Floats &distance2) {
  Floats R[3][3], A[3][3], t[3];
  const Floats b[3] = {load(block.half[0]), load(block.half[1]), load(block.half[2])};
  for (int i = 0; i < 3; ++i) {
    const Floats x(a.R[3 * i]), y(a.R[3 * i + 1]), z(a.R[3 * i + 2]);
    t[i] = Floats(a.p[i]) + x * load(block.centre[0]) + y * load(block.centre[1]) + z * load(block.centre[2]);
    for (int j = 0; j < 3; ++j) {
      R[i][j] = x * load(block.axes[j]) + y * load(block.axes[3 + j]) + z * load(block.axes[6 + j]);
      // A little more than the absolute value: axes of nearly parallel edges are of no use but must do no harm.
      A[i][j] = abs(R[i][j]) + Floats(1e-6f);
    }
  }
  distance2 = t[0] * t[0] + t[1] * t[1] + t[2] * t[2];
  FloatMask apart = Floats(1.0f) < Floats(0.0f);
  for (int i = 0; i < 3; ++i) {
    const Floats reach = Floats(a.half[i]) + A[i][0] * b[0] + A[i][1] * b[1] + A[i][2] * b[2];
    apart = apart | (abs(t[i]) > reach + m);
  }
  for (int j = 0; j < 3; ++j) {
    const Floats reach = b[j] + A[0][j] * Floats(a.half[0]) + A[1][j] * Floats(a.half[1]) + A[2][j] * Floats(a.half[2]);
    apart = apart | (abs(t[0] * R[0][j] + t[1] * R[1][j] + t[2] * R[2][j]) > reach + m);
  }
  if ((~bits(apart) & block.used) == 0) return 0xff;
  for (int i = 0; i < 3; ++i) {
    const int i1 = (i + 1) % 3, i2 = (i + 2) % 3;
    for (int j = 0; j < 3; ++j) {
      const int j1 = (j + 1) % 3, j2 = (j + 2) % 3;
      const Floats reach =
          Floats(a.half[i1]) * A[i2][j] + Floats(a.half[i2]) * A[i1][j] + b[j1] * A[i][j2] + b[j2] * A[i][j1];
      apart = apart | (abs(t[i2] * R[i1][j] - t[i1] * R[i2][j]) > reach + m);
    }
  }
  return bits(apart);
}

struct Triangles {
  Floats3 corners[3];
};

MEMETIK_INLINE FloatMask apart_along(const Floats3 &axis, const Triangles &a, const Triangles &b, const Floats &m) {
  const Floats a0 = dot(axis, a.corners[0]), a1 = dot(axis, a.corners[1]), a2 = dot(axis, a.corners[2]);
  const Floats b0 = dot(axis, b.corners[0]), b1 = dot(axis, b.corners[1]), b2 = dot(axis, b.corners[2]);
  const Floats gap = max(min(min(b0, b1), b2) - max(max(a0, a1), a2), min(min(a0, a1), a2) - max(max(b0, b1), b2));
  return gap > m * sqrt(dot(axis, axis));
}

// Triangles lane by lane.
inline FloatMask triangles_apart(const Triangles &a, const Triangles &b, const Floats &m) {
  const Floats3 ea[3] = {a.corners[1] - a.corners[0], a.corners[2] - a.corners[1], a.corners[0] - a.corners[2]};
  const Floats3 eb[3] = {b.corners[1] - b.corners[0], b.corners[2] - b.corners[1], b.corners[0] - b.corners[2]};
  FloatMask apart = apart_along(cross(ea[0], ea[1]), a, b, m) | apart_along(cross(eb[0], eb[1]), a, b, m);
  // The line of their centres: good for triangles that are far from each other for their size.
  apart =
      apart |
      apart_along((b.corners[0] + b.corners[1] + b.corners[2]) - (a.corners[0] + a.corners[1] + a.corners[2]), a, b, m);
  if (bits(apart) == 0xff) return apart;
  for (const Floats3 &u : ea)
    for (const Floats3 &v : eb) apart = apart | apart_along(cross(u, v), a, b, m);
  return apart;
}

// Triangles in the frame of a box about the origin.
inline FloatMask box_apart(const float *half, const Triangles &t, const Floats &m) {
  const Floats h[3] = {Floats(half[0]), Floats(half[1]), Floats(half[2])};
  const auto along = [&](const Floats3 &axis) {
    const Floats p0 = dot(axis, t.corners[0]), p1 = dot(axis, t.corners[1]), p2 = dot(axis, t.corners[2]);
    const Floats reach = h[0] * abs(axis.x) + h[1] * abs(axis.y) + h[2] * abs(axis.z);
    const Floats gap = max(min(min(p0, p1), p2), -max(max(p0, p1), p2)) - reach;
    return gap > m * sqrt(dot(axis, axis));
  };
  const Floats zero(0.0f), one(1.0f);
  FloatMask apart = along({one, zero, zero}) | along({zero, one, zero}) | along({zero, zero, one});
  const Floats3 edges[3] = {t.corners[1] - t.corners[0], t.corners[2] - t.corners[1], t.corners[0] - t.corners[2]};
  apart = apart | along(cross(edges[0], edges[1]));
  if (bits(apart) == 0xff) return apart;
  for (const Floats3 &e : edges)
    apart = apart | along({zero, -e.z, e.y}) | along({e.z, zero, -e.x}) | along({-e.y, e.x, zero});
  return apart;
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
