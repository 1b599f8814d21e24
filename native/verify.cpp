#include "verify.h"

#include <algorithm>
#include <cmath>

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
double outside(double x, double lower, double upper) { return x > upper ? x - upper : x < lower ? x - lower : 0.0; }

Placement product(const Placement &a, const Placement &b) {
  Placement out;
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 3; ++c) out.R[3 * r + c] = a.R[3 * r] * b.R[c] + a.R[3 * r + 1] * b.R[3 + c] + a.R[3 * r + 2] * b.R[6 + c];
    out.p[r] = a.p[r] + dot(at(a.R + 3 * r), at(b.p));
  }
  return out;
}

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
  const double squares[4] = {1 + E[0] + E[4] + E[8], 1 + E[0] - E[4] - E[8], 1 - E[0] + E[4] - E[8], 1 - E[0] - E[4] + E[8]};
  const int best = int(std::max_element(squares, squares + 4) - squares);
  const double s = 2 * std::sqrt(std::max(squares[best], 1e-300));
  Quaternion q{};
  switch (best) {
    case 0: q = {s / 4, {(E[7] - E[5]) / s, (E[2] - E[6]) / s, (E[3] - E[1]) / s}}; break;
    case 1: q = {(E[7] - E[5]) / s, {s / 4, (E[1] + E[3]) / s, (E[2] + E[6]) / s}}; break;
    case 2: q = {(E[2] - E[6]) / s, {(E[1] + E[3]) / s, s / 4, (E[5] + E[7]) / s}}; break;
    default: q = {(E[3] - E[1]) / s, {(E[2] + E[6]) / s, (E[5] + E[7]) / s, s / 4}};
  }
  return q.w < 0 ? Quaternion{-q.w, -1.0 * q.v} : q;
}

double norm3(double a, double b, double c) { return std::sqrt(a * a + b * b + c * c); }

double frame_error(const Term &term, const double *d, const Placement &f) {
  const V x = at(f.p);
  double E[9];
  switch (term.kind) {
    case TermKind::point: {
      const V e = back(d, x - at(d + 9));
      return norm3(outside(e.x, d[12], d[15]), outside(e.y, d[13], d[16]), outside(e.z, d[14], d[17]));
    }
    case TermKind::rotation: {
      rotation_error(d, f.R, E);
      const Quaternion q = quaternion(E);
      return 2 * std::atan2(norm(q.v), q.w);
    }
    case TermKind::rotation_range: {
      rotation_error(d, f.R, E);
      const Quaternion q = quaternion(E);
      const double s = norm(q.v), scale = s < 1e-9 ? 2.0 : 2 * std::atan2(s, q.w) / s;
      return norm3(outside(scale * q.v.x, d[9], d[12]), outside(scale * q.v.y, d[10], d[13]), outside(scale * q.v.z, d[11], d[14]));
    }
    case TermKind::align: return angle(turn(f.R, at(d)), at(d + 3));
    case TermKind::twist: {
      rotation_error(d, f.R, E);
      const Quaternion q = quaternion(E);
      return std::abs(outside(2 * std::atan2(dot(q.v, at(d + 9)), q.w), d[12], d[13]));
    }
    case TermKind::cone: return std::max(0.0, angle(turn(f.R, at(d)), at(d + 3)) - d[6]);
    case TermKind::side: return std::max(0.0, dot(turn(f.R, at(d)), at(d + 3)));
    case TermKind::look_at: return angle(turn(f.R, at(d)), at(d + 3) - x);
    case TermKind::line: {
      const V to = x - at(d), u = at(d + 3);
      return norm(to - dot(to, u) * u);
    }
    case TermKind::plane: return std::abs(outside(dot(x - at(d), at(d + 3)), d[6], d[7]));
    case TermKind::distance: return std::abs(outside(norm(x - at(d)), d[3], d[4]));
    case TermKind::repulsion: return std::max(0.0, d[3] - norm(x - at(d)));
    case TermKind::roll_pitch_yaw: {
      rotation_error(d, f.R, E);
      const double cosine = std::hypot(E[0], E[3]);
      const bool upright = cosine < 1e-6;
      const double roll = upright ? 0.0 : std::atan2(E[7], E[8]), pitch = std::atan2(-E[6], cosine);
      const double yaw = upright ? std::atan2(-E[1], E[4]) : std::atan2(E[3], E[0]);
      return norm3(outside(roll, d[9], d[12]), outside(pitch, d[10], d[13]), outside(yaw, d[11], d[14]));
    }
    case TermKind::pivot: {
      const V a = turn(f.R, at(d)), to = at(d + 5) - x;
      return norm(std::clamp(dot(to, a), d[3], d[4]) * a - to);
    }
    case TermKind::view: return std::max(0.0, angle(turn(f.R, at(d)), at(d + 3) - x) - d[6]);
    case TermKind::incidence: return std::max(0.0, angle(x - at(d), at(d + 3)) - d[6]);
    default: return 0.0;
  }
}

}  // namespace

void Verifier::place(const ProblemView &v, const double *posture) {
  axes_.resize(size_t(v.axis_count));
  points_.resize(size_t(v.frame_count));
  for (int a = 0; a < v.axis_count; ++a) {
    const Axis &axis = v.axes[a].axis;
    Placement f = axis.parent < 0 ? axis.placement : product(axes_[size_t(axis.parent)], axis.placement);
    const double value = axis.multiplier * posture[v.axes[a].source] + axis.offset;
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

double Verifier::error(const ProblemView &v, const Term &term, const double *data, const double *posture) const {
  const double *d = data + term.data;
  switch (term.kind) {
    case TermKind::joints: {
      double square = 0;
      for (int i = 0; i < term.variable_count; ++i, d += 4) {
        const double r = outside(d[0] * (posture[v.sources[v.term_variables[term.variables + i]]] - d[1]), d[2], d[3]);
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
      for (int k = 0; k < term.rows; ++k) worst = std::max(worst, dot(at(com), at(d + 1 + 4 * k)) - d[4 + 4 * k]);
      return worst;
    }
    case TermKind::effort:
    case TermKind::manipulability:
    case TermKind::callback: return 0.0;
    default:
      return frame_error(term, d,
                         term.reference >= 0 ? relative(points_[size_t(term.reference)], points_[size_t(term.frame)])
                                             : points_[size_t(term.frame)]);
  }
}

}  // namespace memetik
