// The residuals of goals on clearances; see contact_terms_lanes.h.
#include "goals/contact_terms_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {
namespace {

// Adds to `row`, for the lanes of `factor` that are not zero, factor times the rate of a clearance whose bodies touch
// at x on axis a and at y on axis b (-1: something that does not move).
inline void add_rates(const Placed &where, int a, const Vector3 &x, int b, const Vector3 &y, const Vector3 &gradient,
                      const Lane &factor, Lane *row) {
  const auto add = [&](int index, const Vector3 &at, const Lane &sign) {
    const CollisionAxis &axis = where.axes[index];
    if (axis.column < 0) return;
    const Frame &f = where.frames[axis.frame];
    const Lane rate = axis.prismatic ? dot(f.z, gradient) : dot(f.z, cross(at - f.p, gradient));
    row[axis.column] += Lane(axis.multiplier) * sign * rate;
  };
  while (a != b) {
    if (a > b) {
      add(a, x, factor);
      a = where.axes[a].parent;
    } else {
      add(b, y, -factor);
      b = where.axes[b].parent;
    }
  }
}

// r^2 = sum of max(0, margin - c)^2 over all contacts; `row` gathers r dr.
struct HingeRowSink {
  static constexpr bool kGradient = true;
  const Placed &where;
  Lane margin, square;
  Lane *row;

  MEMETIK_INLINE const Lane &enough() const { return margin; }
  MEMETIK_INLINE bool done() const { return false; }
  void note(const Lane &c, int a, const Vector3 &x, int b, const Vector3 &y, const Vector3 &gradient) {
    const Lane h = max(margin - c, Lane(0.0));
    square += h * h;
    add_rates(where, a, x, b, y, gradient, -h, row);
  }
};

// The least clearance below what `least` starts with, and its rates.
struct LeastSink {
  static constexpr bool kGradient = true;
  const Placed &where;
  int columns;
  Lane least;
  Lane *row;

  MEMETIK_INLINE const Lane &enough() const { return least; }
  MEMETIK_INLINE bool done() const { return false; }
  void note(const Lane &c, int a, const Vector3 &x, int b, const Vector3 &y, const Vector3 &gradient) {
    const Mask nearer = c < least;
    least = select(nearer, c, least);
    for (int i = 0; i < columns; ++i) row[i] = select(nearer, Lane(0.0), row[i]);
    add_rates(where, a, x, b, y, gradient, select(nearer, Lane(1.0), Lane(0.0)), row);
  }
};

// Tells a sink of the contacts of two groups, on two axes.
template <class Sink>
struct PairSink {
  static constexpr bool kGradient = true;
  Sink &sink;
  int first, second;

  MEMETIK_INLINE const Lane &enough() const { return sink.enough(); }
  MEMETIK_INLINE bool done() const { return false; }
  MEMETIK_INLINE void self(int, const Lane &c, const Vector3 &x, const Vector3 &y, const Vector3 &gradient) {
    sink.note(c, first, x, second, y, gradient);
  }
};

// Calls after(sink) once for every pair of a group and an object, or of two groups, that the term is about.
template <class Sink, class After>
inline void selected_contacts(const CollisionView &model, const Placed &where, const ContactTerm &term, Sink &sink,
                              const After &after) {
  for (int g = 0; g < model.group_count; ++g) {
    const BodyGroup &group = model.groups[g];
    for (int o = 0; o < model.object_count; ++o) {
      const WorldObject &object = model.objects[o];
      if (!model.checked[size_t(g) * model.object_count + o] || !term.with_object(group.link, object)) continue;
      group_contacts(model, group, where.of(group.axis), object, FixedPose{object.pose}, sink,
                     [&](const Lane &c, const Vector3 &x, const Vector3 &gradient) {
                       sink.note(c, group.axis, x, -1, x, gradient);
                     });
      after(sink);
    }
  }
  for (int p = 0; p < model.pair_count; ++p) {
    const BodyGroup &first = model.groups[model.pairs[p].first];
    const int other = model.pairs[p].second, axis = second_axis(model, p);
    const Frame &frame = where.of(first.axis);
    if (other < model.group_count) {
      const BodyGroup &second = model.groups[other];
      if (!term.with_link(first.link, second.link)) continue;
      PairSink<Sink> pair{sink, first.axis, axis};
      bodies_contacts(model, p, first, frame, second, where.of(axis), pair);
    } else {
      const LinkObject &second = model.link_objects[other - model.group_count];
      if (!term.with_link(first.link, second.link)) continue;
      group_contacts(model, first, frame, second.object, MovingPose{place(where.of(axis), second.object.pose)}, sink,
                     [&](const Lane &c, const Vector3 &x, const Vector3 &gradient) {
                       sink.note(c, first.axis, x, axis, x, gradient);
                     });
    }
    after(sink);
  }
}

// 1 / d, continued as a straight line below a tenth of the scale, so that bodies that overlap are pushed apart too.
struct Inverse {
  Lane value, slope;

  Inverse(const Lane &d, double scale) {
    const Lane from(0.1 * scale);
    const Lane inverse = 1.0 / max(d, from);
    slope = -(inverse * inverse);
    value = inverse + slope * min(d - from, Lane(0.0));
  }
};

}  // namespace

Lane contacts_value(const CollisionView &model, const CollisionAxis *axes, const Frame *frames, int columns,
                    const ContactTerm &term, Lane *row, Lane *scratch) {
  const Placed where = placed(axes, frames);
  const auto ignore = [](auto &) {};
  for (int i = 0; i < columns; ++i) row[i] = Lane(0.0);
  switch (term.form) {
    case ContactForm::margin: {
      HingeRowSink sink{where, Lane(term.scale), Lane(0.0), row};
      selected_contacts(model, where, term, sink, ignore);
      const Lane r = sqrt(sink.square), inverse = inverse_or_zero(r);
      for (int i = 0; i < columns; ++i) row[i] *= inverse;
      return r;
    }
    case ContactForm::depth: {
      LeastSink sink{where, columns, Lane(term.scale), row};
      selected_contacts(model, where, term, sink, ignore);
      for (int i = 0; i < columns; ++i) row[i] = -row[i];
      return Lane(term.scale) - sink.least;
    }
    case ContactForm::least: {
      LeastSink sink{where, columns, Lane(term.reach), row};
      selected_contacts(model, where, term, sink, ignore);
      // s = 2 eps / (eps + d), less what it is at the reach.
      const Inverse inverse(sink.least + Lane(term.scale), term.scale);
      const double end = 2.0 * term.scale / (term.scale + term.reach);
      const Lane s = 2.0 * term.scale * inverse.value, rate = (4.0 * term.scale) * s * inverse.slope;
      for (int i = 0; i < columns; ++i) row[i] *= rate;
      return s * s - Lane(end * end);
    }
    case ContactForm::pairs:
      break;
  }
  const double square = term.scale * term.scale, end = square / (term.reach * term.reach);
  Lane sum(0.0);
  LeastSink sink{where, columns, Lane(term.reach), scratch};
  for (int i = 0; i < columns; ++i) scratch[i] = Lane(0.0);
  selected_contacts(model, where, term, sink, [&](LeastSink &found) {
    if (!any(found.least < Lane(term.reach))) return;
    const Inverse inverse(found.least, term.scale);
    sum += square * inverse.value * inverse.value - Lane(end);
    const Lane rate = (2.0 * square) * inverse.value * inverse.slope;
    for (int i = 0; i < columns; ++i) {
      row[i] += rate * scratch[i];
      scratch[i] = Lane(0.0);
    }
    found.least = Lane(term.reach);
  });
  return sum;
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
