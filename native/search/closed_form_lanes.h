// Eight configurations of a closed form (closed_form.h), one a lane. Included by kernels only.
//
// Angles are found as (sine, cosine) and made angles at the very end. Where a choice has no configuration, its lane
// holds nonsense that does not meet the pose: the caller checks every lane.
#pragma once

#include "goals/closed_form.h"
#include "tree/rotations_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

struct Angle {
  Lane s, c;
};

// Whether the configurations of the lanes are all that there are. A choice without a solution is `dead`; one that is
// about to lose or to double its solution, or whose angle does not matter, is in `doubt`: there may be others near it.
struct Completeness {
  Mask dead = Lane(0.0) > Lane(0.0), doubt = Lane(0.0) > Lane(0.0);

  // A sin + B cos = C with A^2 + B^2 = square, and C^2.
  void note(const Lane &square, const Lane &C2) {
    constexpr double kShare = 1e-6, kSmall = 1e-12;
    const Mask weak = (square < Lane(kSmall)) | (abs(square - C2) < kShare * square);
    doubt = doubt | (weak & ~dead);
    dead = dead | (~weak & (C2 > square));
  }
  void note_length(const Lane &square) { note(square, Lane(0.0)); }
};

// Turns v by the angle about the unit vector h, and back.
MEMETIK_INLINE Vector3 turned(const double *h, const Angle &a, const Vector3 &v) {
  const Vector3 axis = vector(h);
  return a.c * v + a.s * cross(axis, v) + ((1.0 - a.c) * dot(axis, v)) * axis;
}
MEMETIK_INLINE Vector3 rotated_back_about(const double *h, const Angle &a, const Vector3 &v) {
  return turned(h, {-a.s, a.c}, v);
}

// A sin + B cos = C, the solution on the side that `side` (1 or -1) says.
MEMETIK_INLINE Angle meeting(const Lane &A, const Lane &B, const Lane &C, const Lane &side, Completeness *all) {
  const Lane square = max(A * A + B * B, Lane(1e-300)), inverse = 1.0 / square;
  if (all) all->note(square, C * C);
  const Lane root = side * sqrt(max(square - C * C, Lane(0.0)));
  const Lane s = (A * C + B * root) * inverse, c = (B * C - A * root) * inverse;
  const Lane scale = 1.0 / sqrt(max(s * s + c * c, Lane(1e-300)));
  return {s * scale, c * scale};
}

// h . turn(k, angle) u = d.
MEMETIK_INLINE Angle to_height(const Vector3 &h, const double *k, const Vector3 &u, const Lane &d, const Lane &side,
                               Completeness *all = nullptr) {
  const Vector3 axis = vector(k);
  const Lane common = dot(axis, u) * dot(axis, h);
  return meeting(dot(h, cross(axis, u)), dot(h, u) - common, d - common, side, all);
}

// The turn about h that takes the part of a across h to that of b.
MEMETIK_INLINE Angle between(const double *h, const Vector3 &a, const Vector3 &b, Completeness *all = nullptr) {
  const Vector3 axis = vector(h);
  const Lane s = dot(axis, cross(a, b)), c = dot(a, b) - dot(axis, a) * dot(axis, b);
  if (all) all->note_length(s * s + c * c);
  const Lane scale = 1.0 / sqrt(max(s * s + c * c, Lane(1e-300)));
  return {s * scale, c * scale};
}

MEMETIK_INLINE Lane angle_of(const Angle &a) { return atan2(a.s, a.c); }

MEMETIK_INLINE Vector3 across(const double *h, const Vector3 &v) {
  const Vector3 axis = vector(h);
  return v - dot(axis, v) * axis;
}

// theta_2 and theta_3 that take the point `to_wrist` + p3 (moved by both) to x; everything across axis 2.
MEMETIK_INLINE void bend(const ClosedForm &f, const Vector3 &to_wrist, const Vector3 &x, const Lane &side, Angle &two,
                         Angle &three, Completeness *all) {
  const Vector3 a = across(f.direction[1], to_wrist);
  const Vector3 c = across(f.direction[1], vector(f.point[2]) - vector(f.point[1]));
  const Vector3 goal = across(f.direction[1], x - vector(f.point[1]));
  three = to_height(c, f.direction[2], a, 0.5 * (dot(goal, goal) - dot(a, a) - dot(c, c)), side, all);
  two = between(f.direction[1], turned(f.direction[2], three, a) + c, goal, all);
}

// The motion of the arm, M = T T0^-1, that takes its frame from the zero configuration to the target; of an arm with
// seven joints without that of the last, M E7^-1.
class Motion {
 public:
  Motion(const ClosedForm &form, const Lane *position, const Lane *rotation)
      : form_(form), R_(rotation), target_{position[0], position[1], position[2]} {}

  void take_last(const Angle &angle) { last_ = angle, seven_ = true; }

  Vector3 rotated(const Vector3 &v) const {
    const Vector3 u = turn(form_.tool_inverse.R, seven_ ? rotated_back_about(form_.direction[6], last_, v) : v);
    return {R_[0] * u.x + R_[1] * u.y + R_[2] * u.z, R_[3] * u.x + R_[4] * u.y + R_[5] * u.z,
            R_[6] * u.x + R_[7] * u.y + R_[8] * u.z};
  }
  Vector3 rotated_back(const Vector3 &v) const {
    const Vector3 u = {R_[0] * v.x + R_[3] * v.y + R_[6] * v.z, R_[1] * v.x + R_[4] * v.y + R_[7] * v.z,
                       R_[2] * v.x + R_[5] * v.y + R_[8] * v.z};
    const Vector3 w = back(form_.tool_inverse.R, u);
    return seven_ ? turned(form_.direction[6], last_, w) : w;
  }
  Vector3 moved(const Vector3 &x) const { return target_ + rotated(x - start()); }
  Vector3 moved_back(const Vector3 &x) const { return start() + rotated_back(x - target_); }

 private:
  // Where the motion begins that ends at the target: the frame's place in the zero configuration, moved by joint 7.
  Vector3 start() const {
    const Vector3 frame = -back(form_.tool_inverse.R, vector(form_.tool_inverse.p));
    if (!seven_) return frame;
    const Vector3 point = vector(form_.point[6]);
    return turned(form_.direction[6], last_, frame - point) + point;
  }

  const ClosedForm &form_;
  const Lane *R_;
  Vector3 target_;
  Angle last_;
  bool seven_ = false;
};

// Of an arm of six joints: the height of the wrist along axes 2, 3 (and 4) does not change with them, which leaves it
// to axis 1.
inline void six_joint_configurations(const ClosedForm &f, const Motion &motion, const Lane *choice, Lane *theta,
                                     Completeness *all) {
  const double (*h)[3] = f.direction;
  const Vector3 base = vector(f.point[0]), wrist = vector(f.meeting), h2 = vector(h[1]);
  Angle a[6];
  a[0] = to_height(h2, h[0], motion.moved(wrist) - base, dot(h2, wrist - base), choice[0], all);
  a[0].s = -a[0].s;  // it was the way back that was solved
  const auto without_first = [&](const Vector3 &x) { return rotated_back_about(h[0], a[0], x - base) + base; };
  if (f.kind == ClosedFormKind::parallel) {
    const Vector3 last = rotated_back_about(h[0], a[0], motion.rotated(vector(h[5])));
    a[4] = to_height(h2, h[4], vector(h[5]), dot(h2, last), choice[1], all);
    a[5] = between(h[5], motion.rotated_back(turned(h[0], a[0], h2)), rotated_back_about(h[4], a[4], h2), all);
    const auto before_wrist = [&](const Vector3 &v) {
      return rotated_back_about(h[5], a[5], rotated_back_about(h[4], a[4], v));
    };
    const Vector3 fourth = vector(f.point[3]);
    const Vector3 x = without_first(motion.moved(before_wrist(fourth - wrist) + wrist));
    bend(f, fourth - vector(f.point[2]), x, choice[2], a[1], a[2], all);
    const Vector3 k = vector(f.across);
    const Vector3 seen = rotated_back_about(h[0], a[0], motion.rotated(before_wrist(k)));
    theta[1] = angle_of(a[1]), theta[2] = angle_of(a[2]);
    theta[3] = f.sign[3] * (angle_of(between(h[1], k, seen)) - theta[1] - f.sign[2] * theta[2]);
  } else {
    bend(f, wrist - vector(f.point[2]), without_first(motion.moved(wrist)), choice[1], a[1], a[2], all);
    const auto arm = [&](const Vector3 &v) { return turned(h[0], a[0], turned(h[1], a[1], turned(h[2], a[2], v))); };
    const auto arm_back = [&](const Vector3 &v) {
      return rotated_back_about(h[2], a[2], rotated_back_about(h[1], a[1], rotated_back_about(h[0], a[0], v)));
    };
    const Vector3 h4 = vector(h[3]), h6 = vector(h[5]);
    const Vector3 last = arm_back(motion.rotated(h6));
    a[4] = to_height(h4, h[4], h6, dot(h4, last), choice[2], all);
    a[3] = between(h[3], turned(h[4], a[4], h6), last, all);
    a[5] = between(h[5], motion.rotated_back(arm(h4)), rotated_back_about(h[4], a[4], h4), all);
    theta[1] = angle_of(a[1]), theta[2] = angle_of(a[2]), theta[3] = angle_of(a[3]);
  }
  theta[0] = angle_of(a[0]), theta[4] = angle_of(a[4]), theta[5] = angle_of(a[5]);
}

// Of an arm with a shoulder, its last joint taken away: the elbow makes the distance from shoulder to wrist, axes 5 and
// 6 turn the shoulder to where the hand must see it, axes 1 to 3 do the rest of the rotation.
inline void shoulder_configurations(const ClosedForm &f, const Motion &motion, const Lane *choice, Lane *theta) {
  const double (*h)[3] = f.direction;
  const Vector3 shoulder = vector(f.shoulder), wrist = vector(f.meeting), elbow = vector(f.point[3]);
  const Vector3 reach = motion.moved(wrist) - shoulder, upper = elbow - shoulder, lower = wrist - elbow;
  Angle a[6];
  a[3] = to_height(upper, h[3], lower, 0.5 * (dot(reach, reach) - dot(upper, upper) - dot(lower, lower)), choice[0]);
  const Vector3 seen = motion.moved_back(shoulder) - wrist;
  const Vector3 bent = rotated_back_about(h[3], a[3], shoulder - elbow) + elbow - wrist;
  const Vector3 h1 = vector(h[0]), h3 = vector(h[2]), h5 = vector(h[4]);
  a[5] = to_height(h5, h[5], seen, dot(h5, bent), choice[1]);
  a[4] = between(h[4], turned(h[5], a[5], seen), bent);
  const auto arm = [&](const Vector3 &v) {  // the rotation E1 E2 E3 v, and back
    return motion.rotated(
        rotated_back_about(h[5], a[5], rotated_back_about(h[4], a[4], rotated_back_about(h[3], a[3], v))));
  };
  const auto arm_back = [&](const Vector3 &v) {
    return turned(h[3], a[3], turned(h[4], a[4], turned(h[5], a[5], motion.rotated_back(v))));
  };
  const Vector3 third = arm(h3);
  a[1] = to_height(h1, h[1], h3, dot(h1, third), choice[2]);
  a[0] = between(h[0], turned(h[1], a[1], h3), third);
  a[2] = between(h[2], arm_back(h1), rotated_back_about(h[1], a[1], h1));
  for (int i = 0; i < 6; ++i) theta[i] = angle_of(a[i]);
}

// Values of the variables for the pose (position, rotation row major) of the frame; `last` are those of joint 7. The
// lanes run through the choices; where limits leave the elbow one side, neighbours in pairs make the same. `all` is
// filled in for arms of six joints.
inline void closed_form_configurations(const ClosedForm &f, const Lane *position, const Lane *rotation,
                                       const Lane &last, Lane *q, Completeness *all = nullptr) {
  Lane choice[3], theta[kClosedJoints];
  for (int lane = 0; lane < kWidth; ++lane)
    for (int k = 0; k < 3; ++k) set(choice[k], lane, lane >> k & 1 ? -1.0 : 1.0);
  if (f.elbow != 0) choice[0] = Lane(double(f.elbow));
  Motion motion(f, position, rotation);
  if (f.kind == ClosedFormKind::shoulder) {
    theta[6] = f.multiplier[6] * last + Lane(f.offset[6]);
    Angle angle;
    sincos(theta[6], angle.s, angle.c);
    motion.take_last(angle);
    shoulder_configurations(f, motion, choice, theta);
  } else {
    six_joint_configurations(f, motion, choice, theta, all);
  }
  for (int i = 0; i < f.joints; ++i) q[f.variable[i]] = f.multiplier[i] * (theta[i] - Lane(f.offset[i]));
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
