// Forward kinematics over lanes: kWidth configurations at once. Included by kernels only.
#pragma once

#include "base/lanes.h"
#include "tree/tree.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

// Everything is written for lanes of W numbers: kWidth as a rule, kNative where registers are short.
template <int W>
struct Vector3Of {
  LaneOf<W> x, y, z;
};

// A pose in the world; the columns of the rotation are the frame's axes.
template <int W>
struct FrameOf {
  Vector3Of<W> x, y, z;  // columns of the rotation
  Vector3Of<W> p;
};

using Vector3 = Vector3Of<kWidth>;
using Frame = FrameOf<kWidth>;

template <int W>
MEMETIK_INLINE Vector3Of<W> operator+(const Vector3Of<W> &a, const Vector3Of<W> &b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
template <int W>
MEMETIK_INLINE Vector3Of<W> operator-(const Vector3Of<W> &a, const Vector3Of<W> &b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}
template <int W>
MEMETIK_INLINE Vector3Of<W> operator*(const LaneOf<W> &s, const Vector3Of<W> &a) {
  return {s * a.x, s * a.y, s * a.z};
}
template <int W>
MEMETIK_INLINE Vector3Of<W> operator*(double s, const Vector3Of<W> &a) {
  return LaneOf<W>(s) * a;
}
template <int W>
MEMETIK_INLINE Vector3Of<W> operator-(const Vector3Of<W> &a) {
  return {-a.x, -a.y, -a.z};
}
template <int W>
MEMETIK_INLINE LaneOf<W> dot(const Vector3Of<W> &a, const Vector3Of<W> &b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
template <int W>
MEMETIK_INLINE Vector3Of<W> cross(const Vector3Of<W> &a, const Vector3Of<W> &b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

// The direction (x, y, z) of frame f in the world. Placements are mostly made of zeros and ones: the branches are the
// same for every configuration, so they are predicted and cost less than the products they save.
template <int W>
MEMETIK_INLINE Vector3Of<W> direction(const FrameOf<W> &f, double x, double y, double z) {
  if (y == 0 && z == 0) return x == 1 ? f.x : x * f.x;
  if (x == 0 && z == 0) return y == 1 ? f.y : y * f.y;
  if (x == 0 && y == 0) return z == 1 ? f.z : z * f.z;
  if (x == 0) return y * f.y + z * f.z;
  return x * f.x + y * f.y + z * f.z;
}

// The point (x, y, z) of frame f in the world.
template <int W>
MEMETIK_INLINE Vector3Of<W> point(const FrameOf<W> &f, double x, double y, double z) {
  Vector3Of<W> r = f.p;
  if (x != 0) r = r + x * f.x;
  if (y != 0) r = r + y * f.y;
  if (z != 0) r = r + z * f.z;
  return r;
}

// frame f * placement
template <int W>
MEMETIK_INLINE FrameOf<W> place(const FrameOf<W> &f, const Placement &placement) {
  const double *R = placement.R, *p = placement.p;
  return {direction(f, R[0], R[3], R[6]), direction(f, R[1], R[4], R[7]), direction(f, R[2], R[5], R[8]),
          point(f, p[0], p[1], p[2])};
}

template <int W = kWidth>
MEMETIK_INLINE FrameOf<W> constant(const Placement &placement) {
  const double *R = placement.R, *p = placement.p;
  return {{R[0], R[3], R[6]}, {R[1], R[4], R[7]}, {R[2], R[5], R[8]}, {p[0], p[1], p[2]}};
}

template <int W = kWidth>
MEMETIK_INLINE FrameOf<W> world() {
  return {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}, {0.0, 0.0, 0.0}};
}

// Rotations that most placements have: none, or a quarter turn about x.
enum class Turn : unsigned char { None, QuarterX, MinusQuarterX, Other };

inline Turn turn_of(const Placement &placement) {
  const double *R = placement.R;
  if (R[0] != 1 || R[1] != 0 || R[2] != 0 || R[3] != 0 || R[6] != 0) return Turn::Other;
  if (R[4] == 1 && R[5] == 0 && R[7] == 0 && R[8] == 1) return Turn::None;
  if (R[4] != 0 || R[8] != 0) return Turn::Other;
  if (R[5] == -1 && R[7] == 1) return Turn::QuarterX;
  return R[5] == 1 && R[7] == -1 ? Turn::MinusQuarterX : Turn::Other;
}

// The same, with the kind of its rotation known.
template <int W>
MEMETIK_INLINE FrameOf<W> place(const FrameOf<W> &f, const Placement &placement, Turn turn) {
  const double *p = placement.p;
  switch (turn) {
    case Turn::None:
      return {f.x, f.y, f.z, point(f, p[0], p[1], p[2])};
    case Turn::QuarterX:
      return {f.x, f.z, -f.y, point(f, p[0], p[1], p[2])};
    case Turn::MinusQuarterX:
      return {f.x, -f.z, f.y, point(f, p[0], p[1], p[2])};
    default:
      return place(f, placement);
  }
}

// What an axis does for a value of its variable: sine and cosine of its angle, or its distance as `s`.
template <int W>
struct SineCosineOf {
  LaneOf<W> s, c;
};

template <int W>
MEMETIK_INLINE SineCosineOf<W> motion_of(const Axis &axis, const LaneOf<W> &variable) {
  SineCosineOf<W> motion;
  const LaneOf<W> value = LaneOf<W>(axis.multiplier) * variable + LaneOf<W>(axis.offset);
  if (axis.prismatic)
    motion = {value, value};
  else
    sincos(value, motion.s, motion.c);
  return motion;
}

// Moves a placed axis frame: a turn about z or a slide along z.
template <int W>
MEMETIK_INLINE void move(const Axis &axis, const SineCosineOf<W> &motion, FrameOf<W> &f) {
  if (axis.prismatic) {
    f.p = f.p + motion.s * f.z;
    return;
  }
  const Vector3Of<W> x = motion.c * f.x + motion.s * f.y;
  f.y = motion.c * f.y - motion.s * f.x;
  f.x = x;
}

template <int W>
MEMETIK_INLINE void move(const Axis &axis, const LaneOf<W> &variable, FrameOf<W> &f) {
  move(axis, motion_of(axis, variable), f);
}

inline void put_turns(const TreeView &tree, const int *order, int count, Turn *turns) {
  for (int i = 0; i < count; ++i) turns[i] = turn_of(tree.axes[order[i]].placement);
}

// Frames of the axes order[0..count), parents before children, each with all its ancestors in the list:
// frames[a] is the frame of axis a after its motion, turns[i] is turn_of(axis order[i]). q has one lane per variable,
// of which the numbers of this group are used.
template <int W>
inline void forward(const TreeView &tree, const int *order, int count, const Turn *turns, const Lane *q, int group,
                    FrameOf<W> *frames) {
  for (int i = 0; i < count; ++i) {
    const int a = order[i];
    const Axis &axis = tree.axes[a];
    FrameOf<W> f = axis.parent < 0 ? constant<W>(axis.placement) : place(frames[axis.parent], axis.placement, turns[i]);
    move(axis, part<W>(q[axis.variable], group), f);
    frames[a] = f;
  }
}

// Frame of a link, given the frames of the axes that move it.
template <int W>
MEMETIK_INLINE FrameOf<W> link_frame(const TreeView &tree, int link, const FrameOf<W> *frames) {
  const LinkFrame &l = tree.links[link];
  return l.axis < 0 ? constant<W>(l.placement) : place(frames[l.axis], l.placement);
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
