#include "goals/verify.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/angles.h"
#include "geometry/geometry_distance.h"
#include "tree/placement.h"

namespace memetik {
namespace {

struct V {
  double x, y, z;
};
V operator+(V a, V b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
V operator-(V a, V b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
V operator*(double s, V a) { return {s * a.x, s * a.y, s * a.z}; }
double dot(V a, V b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
V cross(V a, V b) { return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
double norm(V a) { return std::sqrt(dot(a, a)); }
V at(const double *d) { return {d[0], d[1], d[2]}; }
V turn(const double *R, V v) { return {dot(at(R), v), dot(at(R + 3), v), dot(at(R + 6), v)}; }
V back(const double *R, V v) { return v.x * at(R) + v.y * at(R + 3) + v.z * at(R + 6); }
double angle(V a, V b) { return std::atan2(norm(cross(a, b)), dot(a, b)); }
// Infinite where anything is not a number: such an error is within no tolerance.
double outside(double x, double lower, double upper) {
  if (!std::isfinite(x) || std::isnan(lower) || std::isnan(upper)) return std::numeric_limits<double>::infinity();
  return x > upper ? x - upper : x < lower ? x - lower : 0.0;
}
// The part above zero. Unlike std::max it keeps what is not a number.
double above_zero(double x) { return x <= 0 ? 0.0 : x; }

Placement relative(const Placement &reference, const Placement &p) {
  Placement out;
  const V x = back(reference.R, at(p.p) - at(reference.p));
  out.p[0] = x.x, out.p[1] = x.y, out.p[2] = x.z;
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 3; ++c) {
      double sum = 0;
      for (int k = 0; k < 3; ++k) sum += reference.R[3 * k + r] * p.R[3 * k + c];
      out.R[3 * r + c] = sum;
    }
  return out;
}

// Rotation R_target^T R, row major.
void rotation_error(const double *target, const double *R, double *E) {
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 3; ++c) E[3 * r + c] = target[r] * R[c] + target[3 + r] * R[3 + c] + target[6 + r] * R[6 + c];
}

struct Quaternion {
  double w;
  V v;
};

Quaternion quaternion(const double *E) {
  // The four candidates of Shepperd's method; the largest is the safest to divide by.
  const double squares[4] = {1 + E[0] + E[4] + E[8], 1 + E[0] - E[4] - E[8], 1 - E[0] + E[4] - E[8],
                             1 - E[0] - E[4] + E[8]};
  const int best = int(std::max_element(squares, squares + 4) - squares);
  const double s = 2 * std::sqrt(std::max(squares[best], 1e-300));
  Quaternion q{};
  switch (best) {
    case 0:
      q = {s / 4, {(E[7] - E[5]) / s, (E[2] - E[6]) / s, (E[3] - E[1]) / s}};
      break;
    case 1:
      q = {(E[7] - E[5]) / s, {s / 4, (E[1] + E[3]) / s, (E[2] + E[6]) / s}};
      break;
    case 2:
      q = {(E[2] - E[6]) / s, {(E[1] + E[3]) / s, s / 4, (E[5] + E[7]) / s}};
      break;
    default:
      q = {(E[3] - E[1]) / s, {(E[2] + E[6]) / s, (E[5] + E[7]) / s, s / 4}};
  }
  return q.w < 0 ? Quaternion{-q.w, -1.0 * q.v} : q;
}

// How far a vector lies outside of ranges of its entries.
double outside(V v, const double *lower, const double *upper) {
  return norm({outside(v.x, lower[0], upper[0]), outside(v.y, lower[1], upper[1]), outside(v.z, lower[2], upper[2])});
}

// At the poles, where pitch is a right angle, only yaw -+ roll is defined: roll is taken at its centre d[0].
double roll_pitch_yaw_error(const double *d, const double *R) {
  const double cosine = std::hypot(R[0], R[3]);
  const bool at_pole = cosine < 1e-6;
  const double roll = at_pole ? d[0] : std::atan2(R[7], R[8]), pitch = std::atan2(-R[6], cosine);
  const double yaw = at_pole ? std::atan2(-R[1], R[4]) + (R[6] < 0 ? d[0] : -d[0]) : std::atan2(R[3], R[0]);
  const auto from_center = [&](double value, int k) { return std::remainder(value - d[k], kFullTurn); };
  return outside({from_center(roll, 0), from_center(pitch, 1), from_center(yaw, 2)}, d + 3, d + 6);
}

double frame_error(const Term &term, const double *d, const Placement &f) {
  const V x = at(f.p);
  double E[9];
  switch (term.kind) {
    case TermKind::point:
      return outside(back(d, x - at(d + 9)), d + 12, d + 15);
    case TermKind::rotation: {
      rotation_error(d, f.R, E);
      const Quaternion q = quaternion(E);
      return 2 * std::atan2(norm(q.v), q.w);
    }
    case TermKind::rotation_range: {
      rotation_error(d, f.R, E);
      const Quaternion q = quaternion(E);
      const double s = norm(q.v), scale = s < 1e-9 ? 2.0 : 2 * std::atan2(s, q.w) / s;
      return outside(scale * q.v, d + 9, d + 12);
    }
    case TermKind::swing_range: {
      const V a = at(d + 9), turned = back(d, turn(f.R, a)), c = cross(a, turned);
      const double sine = norm(c), scale = sine < 1e-9 ? 1.0 : angle(a, turned) / sine;
      return outside(scale * c, d + 12, d + 15);
    }
    case TermKind::align:
      return angle(turn(f.R, at(d)), at(d + 3));
    case TermKind::twist: {
      rotation_error(d, f.R, E);
      const Quaternion q = quaternion(E);
      return std::abs(outside(2 * std::atan2(dot(q.v, at(d + 9)), q.w), d[12], d[13]));
    }
    case TermKind::cone:
      return std::abs(outside(angle(turn(f.R, at(d)), at(d + 3)), d[6], d[7]));
    case TermKind::side:
      return std::asin(std::clamp(dot(turn(f.R, at(d)), at(d + 3)), 0.0, 1.0));
    case TermKind::look_at:
      return angle(turn(f.R, at(d)), at(d + 3) - x);
    case TermKind::line: {
      const V to = x - at(d), u = at(d + 3);
      return norm(to - dot(to, u) * u);
    }
    case TermKind::plane:
      return std::abs(outside(dot(x - at(d), at(d + 3)), d[6], d[7]));
    case TermKind::distance:
      return std::abs(outside(norm(x - at(d)), d[3], d[4]));
    case TermKind::repulsion:
      return above_zero(d[3] - norm(x - at(d)));
    case TermKind::roll_pitch_yaw:
      return roll_pitch_yaw_error(d, f.R);
    case TermKind::pivot: {
      const V a = turn(f.R, at(d)), to = at(d + 5) - x;
      return norm(std::clamp(dot(to, a), d[3], d[4]) * a - to);
    }
    case TermKind::view:
      return above_zero(angle(turn(f.R, at(d)), at(d + 3) - x) - d[6]);
    case TermKind::incidence:
      return above_zero(angle(x - at(d), at(d + 3)) - d[6]);
    case TermKind::pivot_chain:
    case TermKind::balance:
    case TermKind::support:
    case TermKind::joints:
    case TermKind::manipulability:
    case TermKind::effort:
    case TermKind::compiled:
    case TermKind::callback:
    case TermKind::point_distance:
    case TermKind::touch:
    case TermKind::project_point:
    case TermKind::project_axis:
    case TermKind::contacts:
      break;
  }
  return 0.0;
}

double geometry_error(const ProblemView &v, const Term &term, const double *d, const Placement &f) {
  const GeometryView &geometry = v.geometries[int(d[0])];
  const V x = at(f.p);
  if (term.kind == TermKind::point_distance) {
    const V seen = back(f.R, at(d + 1) - x);
    const double point[3] = {seen.x, seen.y, seen.z};
    return std::abs(outside(geometry_distance(geometry, point), d[4], d[5]));
  }
  if (term.kind == TermKind::touch) {
    const V down = back(f.R, at(d + 4));
    const double direction[3] = {down.x, down.y, down.z};
    return std::abs(dot(x - at(d + 1), at(d + 4)) + geometry_height(geometry, direction) - d[7]);
  }
  // Project: the hit of the ray, else the fallback, else the nearest point of the surface.
  const V a = turn(f.R, at(d + 1));
  const double direction[3] = {a.x, a.y, a.z};
  const bool is_point = term.kind == TermKind::project_point;
  SurfaceHit hit;
  if (surface_hit(*geometry.surfaces[0], f.p, direction, d[5], d[6], hit))
    return is_point ? norm(hit.along * a + d[4] * at(hit.normal)) : angle(a, -1.0 * at(hit.normal));
  if (d[7] != 0) {
    Term fallback = term;
    fallback.kind = is_point ? TermKind::point : TermKind::rotation;
    return frame_error(fallback, d + 8, f);
  }
  int32_t guess = -1;
  const double height = surface_distance(*geometry.surfaces[0], f.p, hit.normal, guess);
  return is_point ? std::abs(height - d[4]) : angle(a, -1.0 * at(hit.normal));
}

}  // namespace

void Verifier::place(const ProblemView &v, const double *configuration) {
  axes_.resize(size_t(v.goal_axis_count));
  points_.resize(size_t(v.frame_count));
  for (int a = 0; a < v.goal_axis_count; ++a) {
    const Axis &axis = v.axes[a].axis;
    Placement f = axis.parent < 0 ? axis.placement : product(axes_[size_t(axis.parent)], axis.placement);
    const double value = axis.multiplier * configuration[v.axes[a].source] + axis.offset;
    if (axis.prismatic) {
      for (int r = 0; r < 3; ++r) f.p[r] += value * f.R[3 * r + 2];
    } else {
      const double c = std::cos(value), s = std::sin(value);
      for (int r = 0; r < 3; ++r) {
        const double x = f.R[3 * r], y = f.R[3 * r + 1];
        f.R[3 * r] = c * x + s * y;
        f.R[3 * r + 1] = c * y - s * x;
      }
    }
    axes_[size_t(a)] = f;
  }
  for (int i = 0; i < v.frame_count; ++i) {
    const LinkPoint &point = v.frames[i];
    points_[size_t(i)] = point.axis < 0 ? point.placement : product(axes_[size_t(point.axis)], point.placement);
  }
}

void Verifier::center_of_mass(const ProblemView &v, double *out) const {
  for (int k = 0; k < 3; ++k) out[k] = v.fixed_moment[k];
  for (int b = 0; b < v.body_count; ++b) {
    const Placement &f = axes_[size_t(v.bodies[b].axis)];
    const V x = at(f.p) + turn(f.R, at(v.bodies[b].com));
    out[0] += v.bodies[b].mass * x.x, out[1] += v.bodies[b].mass * x.y, out[2] += v.bodies[b].mass * x.z;
  }
  for (int k = 0; k < 3; ++k) out[k] /= v.total_mass;
}

// Norm of the scaled gravity torques: each mass turns the axes that carry it.
double Verifier::effort(const ProblemView &v, const Term &term, const double *d) const {
  std::vector<double> torque(size_t(v.variable_count), 0.0);
  for (int b = 0; b < v.body_count; ++b) {
    const Body &body = v.bodies[b];
    const Placement &carrier = axes_[size_t(body.axis)];
    const V x = at(carrier.p) + turn(carrier.R, at(body.com));
    for (int a = body.axis; a >= 0; a = v.axes[a].axis.parent) {
      const Axis &axis = v.axes[a].axis;
      if (axis.variable < 0) continue;
      const Placement &f = axes_[size_t(a)];
      const V z = {f.R[2], f.R[5], f.R[8]}, rate = axis.prismatic ? z : cross(z, x - at(f.p));
      torque[size_t(axis.variable)] -= axis.multiplier * body.mass * dot(at(d), rate);
    }
  }
  double square = 0;
  for (int i = 0; i < term.variable_count; ++i) {
    const double scaled = d[3 + i] * torque[size_t(v.term_variables[term.variables + i])];
    square += scaled * scaled;
  }
  return std::sqrt(square);
}

// sqrt(det(J J^T)) of the rows that the mode asks for, by elimination.
double Verifier::manipulability(const ProblemView &v, const Term &term, const double *d) const {
  const int rows = d[0] == 0 ? 6 : 3, first = d[0] == 2 ? 3 : 0;
  std::vector<double> J(size_t(6 * v.variable_count), 0.0);
  const V tip = at(points_[size_t(term.frame)].p);
  for (int i = 0; i < term.axis_count; ++i) {
    const TermAxis &ta = v.term_axes[term.axes + i];
    const Placement &f = axes_[size_t(ta.axis)];
    const bool prismatic = v.axes[ta.axis].axis.prismatic;
    const V z = {f.R[2], f.R[5], f.R[8]}, linear = prismatic ? z : cross(z, tip - at(f.p)),
            angular = prismatic ? V{0, 0, 0} : z;
    const double column[6] = {linear.x, linear.y, linear.z, angular.x, angular.y, angular.z};
    for (int k = 0; k < 6; ++k) J[size_t(6 * ta.variable + k)] += ta.sign * column[k];
  }
  double A[6][6] = {}, determinant = 1;
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < rows; ++c)
      for (int i = 0; i < v.variable_count; ++i) A[r][c] += J[size_t(6 * i + first + r)] * J[size_t(6 * i + first + c)];
  for (int k = 0; k < rows; ++k) {
    if (!(A[k][k] > 0)) return 0.0;
    determinant *= A[k][k];
    for (int r = k + 1; r < rows; ++r) {
      const double factor = A[r][k] / A[k][k];
      for (int c = k; c < rows; ++c) A[r][c] -= factor * A[k][c];
    }
  }
  return std::sqrt(determinant);
}

double Verifier::user_error(const UserFunction &function, const double *configuration) const {
  double q[kMostUserJoints], poses[16 * kMostUserLinks], residual[kMostUserRows], square = 0;
  for (int j = 0; j < function.joints; ++j) q[j] = configuration[int(function.entries[j])];
  for (int l = 0; l < function.links; ++l) {
    const Placement &f = points_[size_t(function.frames[l])];
    double *pose = poses + 16 * l;
    for (int r = 0; r < 3; ++r) {
      std::copy(f.R + 3 * r, f.R + 3 * r + 3, pose + 4 * r);
      pose[4 * r + 3] = f.p[r];
    }
    pose[12] = pose[13] = pose[14] = 0, pose[15] = 1;
  }
  std::fill(residual, residual + function.rows, kUnset);
  function.residual(q, poses, residual);
  for (int k = 0; k < function.rows; ++k) square += residual[k] * residual[k];
  return std::isfinite(square) ? std::sqrt(square) : std::numeric_limits<double>::infinity();
}

double Verifier::error(const ProblemView &v, const Term &term, const double *data, const double *configuration) const {
  const double *d = data + term.data;
  // Whatever a formula below makes of a number that is none, it is not an error within tolerance.
  if (term.kind != TermKind::compiled)
    for (int k = 0; k < term.data_size; ++k)
      if (std::isnan(d[k])) return std::numeric_limits<double>::infinity();
  switch (term.kind) {
    case TermKind::joints: {
      double square = 0;
      for (int i = 0; i < term.variable_count; ++i, d += 4) {
        const double r =
            outside(d[0] * (configuration[v.q_index[v.term_variables[term.variables + i]]] - d[1]), d[2], d[3]);
        square += r * r;
      }
      return std::sqrt(square);
    }
    case TermKind::balance: {
      double com[3];
      center_of_mass(v, com);
      V r = at(com) - at(d);
      r = r - dot(r, at(d + 3)) * at(d + 3);
      return norm(r - dot(r, at(d + 6)) * at(d + 6));
    }
    case TermKind::support: {
      double com[3], worst = 0;
      center_of_mass(v, com);
      for (int k = 0; k < term.rows; ++k) {
        const double beyond = dot(at(com), at(d + 1 + 4 * k)) - d[4 + 4 * k];
        if (!(beyond <= worst)) worst = beyond;
        if (std::isnan(worst)) return worst;
      }
      return worst;
    }
    case TermKind::effort:
      return effort(v, term, d);
    case TermKind::manipulability:
      return 1.0 / (1.0 + manipulability(v, term, d) / d[1]);
    case TermKind::pivot_chain: {
      const V pivot = term.reference < 0
                          ? at(d)
                          : at(points_[size_t(term.reference)].p) + turn(points_[size_t(term.reference)].R, at(d));
      double nearest = std::numeric_limits<double>::infinity();
      for (int k = 4; k + 1 < term.data_size; ++k) {
        const V a = at(points_[size_t(d[k])].p), side = at(points_[size_t(d[k + 1])].p) - a;
        const double square = dot(side, side),
                     t = square > 0 ? std::clamp(dot(pivot - a, side) / square, 0.0, 1.0) : 0.0;
        nearest = std::min(nearest, norm(a + t * side - pivot));
      }
      return nearest;
    }
    case TermKind::compiled:
      return user_error(UserFunction(d, term.rows), configuration);
    case TermKind::contacts:
    case TermKind::callback:
      return 0.0;
    default:
      break;
  }
  const Placement &own = points_[size_t(term.frame)];
  const Placement seen = term.reference >= 0 ? relative(points_[size_t(term.reference)], own) : own;
  return uses_geometry(term.kind) ? geometry_error(v, term, d, seen) : frame_error(term, d, seen);
}

}  // namespace memetik
