// Collision as a cost over lanes: squared hinges of all contacts, with gradient and normal matrix. For kernels only.
#pragma once

#include "collision/contacts_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

// Memory of one thread for accumulate_hinge.
struct HingeScratch {
  Lane *row;        // per column
  int32_t *used;    // per column
  uint8_t *marked;  // per column; all zero between calls
};

// A contact's clearance changes with axis j at the rate W_j.w, w = (x cross g, g) with its point x and gradient g,
// W_j = (z_j, p_j cross z_j) for a turn, (0, z_j) for a slide. Contacts between the same two rigid parts share the W_j,
// so that their sums of w w^T and h w are taken first and the joints come in once. Axes that carry both parts change
// nothing, and the second part's count negative; w is the same for both, for the gradient is along the line between the
// points.
struct HingeSink {
  static constexpr bool kGradient = true;
  const CollisionView &model;
  const Placed &where;
  HingeScratch scratch;
  int columns;
  double weight;
  Lane margin, cost;
  Lane *jtr, *jtj;
  int first, second;  // axes of the two parts
  int contacts;
  Lane wrench[6], on, hinge;  // of the first contact
  Lane square[21], sum[6];    // of all, where there are several: lower triangle of w w^T, and h w

  MEMETIK_INLINE const Lane &enough() const { return margin; }
  MEMETIK_INLINE bool done() const { return false; }

  void world(int group, int, const Lane &c, const Vector3 &x, const Vector3 &gradient) {
    add(model.groups[group].axis, -1, c, x, gradient);
  }

  void self(int pair, const Lane &c, const Vector3 &x, const Vector3 &, const Vector3 &gradient) {
    add(model.groups[model.pairs[pair].first].axis, second_axis(model, pair), c, x, gradient);
  }

  void add(int a, int b, const Lane &c, const Vector3 &x, const Vector3 &g) {
    if (contacts > 0 && (a != first || b != second)) flush();
    first = a, second = b;
    const Lane h = max(margin - c, Lane(0.0));
    const Lane active = select(h > Lane(0.0), Lane(weight * weight), Lane(0.0));
    cost += active * h * h;
    const Vector3 turned = cross(x, g);
    const Lane w[6] = {turned.x, turned.y, turned.z, g.x, g.y, g.z};
    if (contacts++ == 0) {
      for (int i = 0; i < 6; ++i) wrench[i] = w[i];
      on = active, hinge = h;
      return;
    }
    if (contacts == 2) {
      for (Lane &entry : square) entry = Lane(0.0);
      for (Lane &entry : sum) entry = Lane(0.0);
      gather(wrench, on, hinge);
    }
    gather(w, active, h);
  }

  MEMETIK_INLINE void gather(const Lane *w, const Lane &active, const Lane &h) {
    int k = 0;
    for (int i = 0; i < 6; ++i) {
      const Lane scaled = active * w[i];
      sum[i] += scaled * h;
      for (int j = 0; j <= i; ++j) square[k++] += scaled * w[j];
    }
  }

  // Calls visit(column, W) for the columns that move the parts against each other; axes that share one are summed.
  template <class Visit>
  MEMETIK_INLINE void each_axis(const Visit &visit) const {
    int a = first, b = second;
    while (a != b) {
      const bool ahead = a > b;
      const CollisionAxis &axis = where.axes[ahead ? a : b];
      if (axis.column >= 0) {
        const Lane sign(ahead ? axis.multiplier : -axis.multiplier);
        const Frame &f = where.frames[axis.frame];
        const Vector3 turn = axis.prismatic ? zero3() : sign * f.z;
        const Vector3 shift = sign * (axis.prismatic ? f.z : cross(f.p, f.z));
        const Lane twist[6] = {turn.x, turn.y, turn.z, shift.x, shift.y, shift.z};
        visit(axis.column, twist);
      }
      (ahead ? a : b) = axis.parent;
    }
  }

  MEMETIK_INLINE void finish() { flush(); }

  void flush() {
    if (contacts == 1)
      flush_one();
    else if (contacts > 1)
      flush_many();
    contacts = 0;
  }

  void flush_one() {
    int used = 0;
    each_axis([&](int column, const Lane *twist) {
      Lane rate = twist[0] * wrench[0];
      for (int i = 1; i < 6; ++i) rate += twist[i] * wrench[i];
      if (!scratch.marked[column]) {
        scratch.marked[column] = 1;
        scratch.used[used++] = column;
        scratch.row[column] = rate;
      } else {
        scratch.row[column] += rate;
      }
    });
    for (int i = 0; i < used; ++i) {
      const int a = scratch.used[i];
      const Lane scaled = on * scratch.row[a];
      jtr[a] -= scaled * hinge;  // the residual falls where the clearance grows
      for (int j = 0; j <= i; ++j) add_to(a, scratch.used[j], scaled * scratch.row[scratch.used[j]]);
      scratch.marked[a] = 0;
    }
  }

  void flush_many() {
    each_axis([&](int column, const Lane *twist) {
      // square * twist, from the lower triangle
      Lane image[6];
      Lane pull = twist[0] * sum[0];
      for (int i = 1; i < 6; ++i) pull += twist[i] * sum[i];
      jtr[column] -= pull;
      for (int i = 0; i < 6; ++i) {
        Lane entry(0.0);
        for (int j = 0; j < 6; ++j) entry += square[i >= j ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i] * twist[j];
        image[i] = entry;
      }
      each_axis([&](int other, const Lane *second_twist) {
        if (other > column) return;  // the lower triangle; each pair of axes of one column comes twice, as it should
        Lane entry = second_twist[0] * image[0];
        for (int i = 1; i < 6; ++i) entry += second_twist[i] * image[i];
        jtj[column * columns + other] += entry;
      });
    });
  }

  MEMETIK_INLINE void add_to(int a, int b, const Lane &value) {
    Lane &entry = a > b ? jtj[a * columns + b] : jtj[b * columns + a];
    entry += value;
  }
};

// J^T r (columns) and the lower triangle of J^T J (columns x columns, row major).
struct NormalEquations {
  Lane *jtr, *jtj;
  int columns;
};

// Residuals r = weight max(0, margin - c) of all contacts: adds to the normal equations and returns the sum of r^2.
// Lanes with a margin of -kFar see no contact.
inline Lane accumulate_hinge(const CollisionView &model, const Placed &where, const Lane &margin, double weight,
                             const NormalEquations &sums, const HingeScratch &scratch) {
  HingeSink sink{model, where, scratch, sums.columns, weight, margin, Lane(0.0), sums.jtr, sums.jtj,
                 -1,    -1,    0,       {},           {},     {},     {},        {}};
  all_contacts(model, where, sink);
  return sink.cost;
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
