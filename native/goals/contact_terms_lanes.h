// Goals on clearances: how near a robot's bodies are to the world and to each other. Included by kernels only.
#pragma once

#include "collision/queries_lanes.h"
#include "goals/evaluation_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

// A term's data, read.
struct ContactTerm {
  ContactForm form;
  double scale, reach;
  int count;
  const double *selected;  // count pairs: a link, and another link, an object (kObjectKeys + its key) or -1, anything

  explicit ContactTerm(const double *d)
      : form(ContactForm(int(d[0]))), scale(d[1]), reach(d[2]), count(int(d[3])), selected(d + 4) {}

  MEMETIK_INLINE bool among(double first, double second) const {
    for (int k = 0; k < count; ++k)
      if (selected[2 * k] == first && (selected[2 * k + 1] < 0 || selected[2 * k + 1] == second)) return true;
    return false;
  }
  bool with_object(int link, const WorldObject &object) const {
    return count == 0 || among(link, kObjectKeys + object.key);
  }
  bool with_link(int first, int second) const { return count == 0 || among(first, second) || among(second, first); }
};

// The residual of one term and its row, as goals/term.h states them.
Lane contacts_value(const CollisionView &model, const CollisionAxis *axes, const Frame *frames, int columns,
                    const ContactTerm &term, Lane *row, Lane *scratch);

inline void contacts_term(const ProblemView &v, const EvaluationInput &s, Evaluation &e, const Term &term) {
  Lane *row = e.jacobian + size_t(term.row) * v.variable_count;
  e.residual[term.row] = contacts_value(*s.collision, s.collision_axes, e.axes, v.variable_count,
                                        ContactTerm(s.data + term.data), row, e.contact_row);
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
