#include "goals/closed_form.h"

#include <algorithm>
#include <cmath>

#include "base/angles.h"
#include "tree/placement.h"

namespace memetik {
namespace {

// Directions that differ by less are parallel, lines that pass each other by less meet (radians, metres). What is left
// of a pose after that is mended or refused where the configuration is checked.
constexpr double kSame = 1e-9;

double dot(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

void cross(const double *a, const double *b, double *out) {
  out[0] = a[1] * b[2] - a[2] * b[1], out[1] = a[2] * b[0] - a[0] * b[2], out[2] = a[0] * b[1] - a[1] * b[0];
}

bool parallel(const double *a, const double *b) {
  double c[3];
  cross(a, b, c);
  return std::sqrt(dot(c, c)) < kSame;
}

// Where two lines meet; false where they pass each other or are parallel.
bool meet(const double *p, const double *u, const double *q, const double *v, double *out) {
  double normal[3], between[3], w[3];
  cross(u, v, normal);
  const double square = dot(normal, normal);
  if (square < 1e-6) return false;
  for (int k = 0; k < 3; ++k) between[k] = q[k] - p[k];
  if (std::abs(dot(between, normal)) / std::sqrt(square) > kSame) return false;
  cross(between, v, w);
  const double along = dot(w, normal) / square;
  for (int k = 0; k < 3; ++k) out[k] = p[k] + along * u[k];
  return true;
}

bool on_line(const double *point, const double *p, const double *u) {
  double between[3], c[3];
  for (int k = 0; k < 3; ++k) between[k] = point[k] - p[k];
  cross(between, u, c);
  return std::sqrt(dot(c, c)) < kSame;
}

Placement inverse(const Placement &a) {
  Placement out;
  for (int r = 0; r < 3; ++r) {
    out.p[r] = -(a.R[r] * a.p[0] + a.R[3 + r] * a.p[1] + a.R[6 + r] * a.p[2]);
    for (int c = 0; c < 3; ++c) out.R[3 * r + c] = a.R[3 * c + r];
  }
  return out;
}

// The families of six joints.
ClosedFormKind six_joints(ClosedForm &form) {
  const auto &h = form.direction;
  const auto &p = form.point;
  if (!parallel(h[1], h[2]) || parallel(h[0], h[1])) return ClosedFormKind::none;
  for (int i = 0; i < 6; ++i) form.sign[i] = dot(h[1], h[i]) < 0 ? -1 : 1;
  // Any vector across axis 2 will do: that nearest to a coordinate axis is well made.
  int least = 0;
  for (int k = 1; k < 3; ++k)
    if (std::abs(h[1][k]) < std::abs(h[1][least])) least = k;
  const double unit[3] = {double(least == 0), double(least == 1), double(least == 2)};
  cross(h[1], unit, form.across);
  const double length = std::sqrt(dot(form.across, form.across));
  for (double &x : form.across) x /= length;
  if (!meet(p[4], h[4], p[5], h[5], form.meeting) || parallel(h[3], h[4])) return ClosedFormKind::none;
  if (parallel(h[1], h[3])) return ClosedFormKind::parallel;
  return on_line(form.meeting, p[3], h[3]) ? ClosedFormKind::wrist : ClosedFormKind::none;
}

// The side to which limits let the elbow bend; 0 where both have room. The two angles that hold the wrist at a distance
// from the shoulder lie on either side of the one that stretches the arm most.
int32_t side_of_elbow(const ClosedForm &form, double lower, double upper) {
  constexpr double kRoom = 0.5;
  const double *h = form.direction[3];
  double from[3], to[3], c[3];
  for (int k = 0; k < 3; ++k) from[k] = form.meeting[k] - form.point[3][k], to[k] = form.point[3][k] - form.shoulder[k];
  cross(from, to, c);
  const double stretched = std::atan2(dot(h, c), dot(from, to) - dot(h, from) * dot(h, to));
  const double one = form.multiplier[3] * lower + form.offset[3], other = form.multiplier[3] * upper + form.offset[3];
  const double least = std::min(one, other) - stretched, most = std::max(one, other) - stretched;
  if (most - least > kFullTurn - kRoom) return 0;
  const double turns = std::round(0.5 * (least + most) / kFullTurn) * kFullTurn;
  const bool below = std::min(most - turns, 0.0) - std::max(least - turns, -kPi) > kRoom;
  const bool above = std::min(most - turns, kPi) - std::max(least - turns, 0.0) > kRoom;
  return above == below ? 0 : above ? 1 : -1;
}

// The family of seven joints.
ClosedFormKind seven_joints(ClosedForm &form, double lower, double upper) {
  const auto &h = form.direction;
  const auto &p = form.point;
  if (!meet(p[0], h[0], p[1], h[1], form.shoulder) || !on_line(form.shoulder, p[2], h[2]) || parallel(h[1], h[2]) ||
      !meet(p[4], h[4], p[5], h[5], form.meeting) || on_line(form.meeting, p[3], h[3]) ||
      on_line(form.shoulder, p[3], h[3]))
    return ClosedFormKind::none;
  form.elbow = side_of_elbow(form, lower, upper);
  return ClosedFormKind::shoulder;
}

}  // namespace

ClosedForm find_closed_form(const ProblemView &v, int frame) {
  ClosedForm form;
  const int n = v.variable_count;
  if (n != 6 && n != 7) return form;
  int chain[kClosedJoints], count = 0;
  for (int a = v.frames[frame].axis; a >= 0; a = v.axes[a].axis.parent) {
    if (count == n) return form;
    chain[count++] = a;
  }
  if (count != n) return form;
  std::reverse(chain, chain + n);
  bool taken[kClosedJoints] = {};
  Placement at{{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};
  for (int i = 0; i < n; ++i) {
    const Axis &axis = v.axes[chain[i]].axis;
    if (axis.prismatic || axis.variable < 0 || taken[axis.variable] || std::abs(axis.multiplier) != 1) return form;
    taken[axis.variable] = true;
    at = product(at, axis.placement);
    for (int k = 0; k < 3; ++k) form.direction[i][k] = at.R[3 * k + 2], form.point[i][k] = at.p[k];
    form.multiplier[i] = axis.multiplier, form.offset[i] = axis.offset, form.variable[i] = axis.variable;
  }
  form.joints = n;
  form.tool_inverse = inverse(product(at, v.frames[frame].placement));
  const int elbow = form.variable[3];
  form.kind = n == 6 ? six_joints(form) : seven_joints(form, v.lower[elbow], v.upper[elbow]);
  return form;
}

}  // namespace memetik
