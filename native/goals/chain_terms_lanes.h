// Any link of a chain passes through a point: the line through the origins of the chain's frames. Included by kernels
// only.
#pragma once

#include "goals/evaluation_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

// r = x - point with x the nearest point of the line, in the reference's axes. On the segment from a to b, side = b -
// a, x = a + t side, t = (point - a).side / side^2 within [0, 1]. Each lane takes the segment that is nearest to its
// point.
template <bool kDerive>
inline void pivot_chain_term(const ProblemView &v, const EvaluationInput &s, Evaluation &e, const Term &term) {
  const double *d = s.data + term.data, *frames = d + 4;
  const int count = int(d[3]);
  const Frame *reference = term.reference >= 0 ? &e.points[term.reference] : nullptr;
  const Vector3 pivot = reference ? reference->p + turn(*reference, vector(d)) : vector(d);

  Lane nearest(1e300), t(0.0), square(1.0), open(0.0), segment(0.0);
  Vector3 r = zero3(), a = zero3(), b = zero3();
  for (int m = 0; m + 1 < count; ++m) {
    const Vector3 &from = e.points[int(frames[m])].p, &to = e.points[int(frames[m + 1])].p;
    const Vector3 side = to - from;
    const Lane length = max(dot(side, side), Lane(1e-18)), along = dot(pivot - from, side) / length;
    const Lane share = clamp(along, Lane(0.0), Lane(1.0));
    const Vector3 offset = from + share * side - pivot;
    const Lane distance = dot(offset, offset);
    const Mask nearer = distance < nearest;
    nearest = select(nearer, distance, nearest);
    t = select(nearer, share, t);
    square = select(nearer, length, square);
    open = select(nearer, select((along > Lane(0.0)) & (along < Lane(1.0)), Lane(1.0), Lane(0.0)), open);
    segment = select(nearer, Lane(double(m)), segment);
    r = choose(nearer, offset, r), a = choose(nearer, from, a), b = choose(nearer, to, b);
  }
  const Vector3 seen = reference ? back(*reference, r) : r;
  e.residual[term.row] = seen.x, e.residual[term.row + 1] = seen.y, e.residual[term.row + 2] = seen.z;

  if constexpr (kDerive) {
    const Vector3 side = b - a, to_pivot = pivot - a;
    const Frame axes = reference ? *reference : world();
    const Vector3 normals[3] = {axes.x, axes.y, axes.z};
    for (int k = 0; k < 3; ++k) {
      // n.dr = n.((1 - t) da + t db) + dt n.side, side^2 dt = -side.da + (to_pivot - 2 t side).(db - da) off the ends.
      const Vector3 n = normals[k];
      const Lane slip = open * dot(n, side) / square;
      const Vector3 turning = slip * (to_pivot - (2.0 * t) * side);
      const Vector3 by_a = (1.0 - t) * n - slip * side - turning, by_b = t * n + turning;
      const Vector3 lever_a = cross(a, by_a), lever_b = cross(b, by_b);
      Lane *row = e.jacobian + size_t(term.row + k) * v.variable_count;
      for (int i = 0; i < term.variable_count; ++i) row[v.term_variables[term.variables + i]] = Lane(0.0);
      for (int i = 0; i < term.axis_count; ++i) {
        const TermAxis &ta = v.term_axes[term.axes + i];
        // The frames lie on one path, on which axes are numbered outwards. The reference's axes move all of them.
        int first = 0;
        while (!ta.of_reference && v.frames[int(frames[first])].axis < ta.axis) ++first;
        const Mask moves_a = segment >= Lane(double(first)), moves_b = segment >= Lane(double(first - 1));
        const Frame &f = e.axes[ta.axis];
        Lane rate_a = dot(f.z, by_a), rate_b = dot(f.z, by_b);
        if (!v.axes[ta.axis].axis.prismatic) {
          rate_a = dot(f.z, lever_a) + dot(e.moment[ta.axis], by_a);
          rate_b = dot(f.z, lever_b) + dot(e.moment[ta.axis], by_b);
        }
        row[ta.variable] += ta.sign * (select(moves_a, rate_a, Lane(0.0)) + select(moves_b, rate_b, Lane(0.0)));
      }
    }
  }
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
