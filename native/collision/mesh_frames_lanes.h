// Where a robot's bodies are in eight configurations, and how far they move when joints do. Included by kernels only.
#pragma once

#include "collision/mesh_narrow_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {
namespace {

// What the lanes of a robot need, in one piece of memory.
struct LaneMemory {
  FloatFrame *frames;   // per axis
  Floats3 *centres;     // per body: of its bounding ball
  Floats *axis_motion;  // per axis: its joint's spread
};

size_t rounded(size_t bytes) { return (bytes + 63) / 64 * 64; }

size_t scratch_bytes(const MeshRobotView &robot) {
  return rounded(sizeof(FloatFrame) * size_t(robot.axis_count)) + rounded(sizeof(Floats3) * size_t(robot.body_count)) +
         rounded(sizeof(Floats) * size_t(robot.axis_count)) + 64;
}

MEMETIK_INLINE LaneMemory memory_of(const MeshWork &work) {
  char *at = static_cast<char *>(work.lanes);
  LaneMemory memory;
  memory.frames = reinterpret_cast<FloatFrame *>(at);
  at += rounded(sizeof(FloatFrame) * size_t(work.robot.axis_count));
  memory.centres = reinterpret_cast<Floats3 *>(at);
  at += rounded(sizeof(Floats3) * size_t(work.robot.body_count));
  memory.axis_motion = reinterpret_cast<Floats *>(at);
  return memory;
}

MEMETIK_INLINE FloatFrame constant(const FloatPose &pose) {
  const float *R = pose.R, *p = pose.p;
  return {{R[0], R[3], R[6]}, {R[1], R[4], R[7]}, {R[2], R[5], R[8]}, {p[0], p[1], p[2]}};
}

MEMETIK_INLINE FloatFrame place(const FloatFrame &f, const FloatPose &pose) {
  const float *R = pose.R, *p = pose.p;
  return {turned(f, R[0], R[3], R[6]), turned(f, R[1], R[4], R[7]), turned(f, R[2], R[5], R[8]),
          placed(f, p[0], p[1], p[2])};
}

void forward(MeshWork &work, const MeshBlock &block, const int *axes, int count) {
  const LaneMemory memory = memory_of(work);
  for (int k = 0; k < count; ++k) {
    const int a = axes[k];
    const AxisView &axis = work.robot.axes[a];
    FloatFrame f;
    if (axis.parent < 0) {
      f = constant(axis.placement);
    } else if (axis.aligned) {
      f = memory.frames[axis.parent];
      f.p = placed(f, axis.placement.p[0], axis.placement.p[1], axis.placement.p[2]);
    } else {
      f = place(memory.frames[axis.parent], axis.placement);
    }
    Lane q;
    __builtin_memcpy(&q, block.q + 8 * axis.variable, sizeof(q));
    const Lane value = Lane(axis.multiplier) * q + Lane(axis.offset);
    if (axis.prismatic) {
      f.p = f.p + to_floats(value) * f.z;
    } else {
      // Whole turns are taken off before the number is rounded to single precision.
      const Lane turns = round(value * Lane(0.15915494309189535));
      Floats s, c;
      sincos(to_floats(value - turns * Lane(6.283185307179586)), s, c);
      const Floats3 x = c * f.x + s * f.y;
      f.y = c * f.y - s * f.x;
      f.x = x;
    }
    memory.frames[a] = f;
  }
  if (block.spread == nullptr) return;
  for (int a = 0; a < work.robot.axis_count; ++a) {
    const AxisView &axis = work.robot.axes[a];
    const float factor = float(axis.multiplier < 0 ? -axis.multiplier : axis.multiplier) * (1 + 4 * kUnitRounding);
    memory.axis_motion[a] = Floats(factor) * load(block.spread + 8 * axis.variable);
  }
}

// How far points of a body move relative to the frame `above` (an axis, -1: the world) while every joint in between
// moves by its spread to either side of the middle. Axis j turns points about a line, at a distance of at most
//   L_j = distance of the bounding centre from the line + bounding radius + what the axes after j move points by:
// relative to axis j nothing else changes that distance. Summed from the body upwards.
Floats motion_of(const MeshWork &work, const LaneMemory &memory, int body, int above) {
  const BodyView &own = work.robot.bodies[body];
  const Floats3 &centre = memory.centres[body];
  Floats sum(0.0f);
  for (int a = own.axis; a != above && a >= 0; a = work.robot.axes[a].parent) {
    const FloatFrame &f = memory.frames[a];
    if (work.robot.axes[a].prismatic) {
      sum = sum + memory.axis_motion[a];
      continue;
    }
    const Floats3 d = centre - f.p;
    const Floats along = dot(d, f.z);
    const Floats across = sqrt(max(dot(d, d) - along * along, Floats(0.0f)));
    sum = sum + memory.axis_motion[a] * (across + Floats(own.reach + own.rounding) + sum);
  }
  return sum * Floats(1.00001f);  // the roundings of this sum, a hundred times over
}

// The pose of the second frame in the first.
MEMETIK_INLINE FloatFrame relative(const FloatFrame &a, const FloatFrame &b) {
  const auto back = [&](const Floats3 &v) { return Floats3{dot(a.x, v), dot(a.y, v), dot(a.z, v)}; };
  return {back(b.x), back(b.y), back(b.z), back(b.p - a.p)};
}

MEMETIK_INLINE FloatFrame body_frame(const MeshWork &work, const LaneMemory &memory, int body) {
  const BodyView &own = work.robot.bodies[body];
  return own.axis < 0 ? constant(own.placement) : place(memory.frames[own.axis], own.placement);
}

}  // namespace
}  // namespace MEMETIK_ARCH
}  // namespace memetik
