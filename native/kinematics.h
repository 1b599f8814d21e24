// Forward kinematics over lanes: kWidth configurations at once. Included by kernels only.
#pragma once

#include "lane.h"
#include "tree.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

struct Vector3 {
  Lane x, y, z;
};

// A pose in the world; the columns of the rotation are the frame's axes.
struct Frame {
  Vector3 x, y, z;  // columns of the rotation
  Vector3 p;
};

MEMETIK_INLINE Vector3 operator+(const Vector3 &a, const Vector3 &b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
MEMETIK_INLINE Vector3 operator-(const Vector3 &a, const Vector3 &b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
MEMETIK_INLINE Vector3 operator*(const Lane &s, const Vector3 &a) { return {s * a.x, s * a.y, s * a.z}; }
MEMETIK_INLINE Vector3 operator*(double s, const Vector3 &a) { return Lane(s) * a; }
MEMETIK_INLINE Vector3 operator-(const Vector3 &a) { return {-a.x, -a.y, -a.z}; }
MEMETIK_INLINE Lane dot(const Vector3 &a, const Vector3 &b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
MEMETIK_INLINE Vector3 cross(const Vector3 &a, const Vector3 &b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

// The direction (x, y, z) of frame f in the world. Placements are mostly made of zeros and ones: the branches are the
// same for every configuration, so they are predicted and cost less than the products they save.
MEMETIK_INLINE Vector3 direction(const Frame &f, double x, double y, double z) {
  if (y == 0 && z == 0) return x == 1 ? f.x : x * f.x;
  if (x == 0 && z == 0) return y == 1 ? f.y : y * f.y;
  if (x == 0 && y == 0) return z == 1 ? f.z : z * f.z;
  if (x == 0) return y * f.y + z * f.z;
  return x * f.x + y * f.y + z * f.z;
}

// The point (x, y, z) of frame f in the world.
MEMETIK_INLINE Vector3 point(const Frame &f, double x, double y, double z) {
  Vector3 r = f.p;
  if (x != 0) r = r + x * f.x;
  if (y != 0) r = r + y * f.y;
  if (z != 0) r = r + z * f.z;
  return r;
}

// frame f * placement
MEMETIK_INLINE Frame place(const Frame &f, const Placement &placement) {
  const double *R = placement.R, *p = placement.p;
  return {direction(f, R[0], R[3], R[6]), direction(f, R[1], R[4], R[7]), direction(f, R[2], R[5], R[8]),
          point(f, p[0], p[1], p[2])};
}

MEMETIK_INLINE Frame constant(const Placement &placement) {
  const double *R = placement.R, *p = placement.p;
  return {{R[0], R[3], R[6]}, {R[1], R[4], R[7]}, {R[2], R[5], R[8]}, {p[0], p[1], p[2]}};
}

MEMETIK_INLINE Frame world() { return {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}, {0.0, 0.0, 0.0}}; }

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
MEMETIK_INLINE Frame place(const Frame &f, const Placement &placement, Turn turn) {
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
struct SineCosine {
  Lane s, c;
};

MEMETIK_INLINE SineCosine motion_of(const Axis &axis, const Lane &variable) {
  SineCosine motion;
  const Lane value = Lane(axis.multiplier) * variable + Lane(axis.offset);
  if (axis.prismatic)
    motion = {value, value};
  else
    sincos(value, motion.s, motion.c);
  return motion;
}

// Moves a placed axis frame: a turn about z or a slide along z.
MEMETIK_INLINE void move(const Axis &axis, const SineCosine &motion, Frame &f) {
  if (axis.prismatic) {
    f.p = f.p + motion.s * f.z;
    return;
  }
  const Vector3 x = motion.c * f.x + motion.s * f.y;
  f.y = motion.c * f.y - motion.s * f.x;
  f.x = x;
}

MEMETIK_INLINE void move(const Axis &axis, const Lane &variable, Frame &f) { move(axis, motion_of(axis, variable), f); }

inline void put_turns(const TreeView &tree, const int *order, int count, Turn *turns) {
  for (int i = 0; i < count; ++i) turns[i] = turn_of(tree.axes[order[i]].placement);
}

// Frames of the axes order[0..count), parents before children, each with all its ancestors in the list:
// frames[a] is the frame of axis a after its motion. q has one lane per variable, turns[i] is turn_of(axis order[i]).
inline void forward(const TreeView &tree, const int *order, int count, const Turn *turns, const Lane *q,
                    Frame *frames) {
  for (int i = 0; i < count; ++i) {
    const int a = order[i];
    const Axis &axis = tree.axes[a];
    Frame f = axis.parent < 0 ? constant(axis.placement) : place(frames[axis.parent], axis.placement, turns[i]);
    move(axis, q[axis.variable], f);
    frames[a] = f;
  }
}

// Frame of a link, given the frames of the axes that move it.
MEMETIK_INLINE Frame link_frame(const TreeView &tree, int link, const Frame *frames) {
  const LinkFrame &l = tree.links[link];
  return l.axis < 0 ? constant(l.placement) : place(frames[l.axis], l.placement);
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
