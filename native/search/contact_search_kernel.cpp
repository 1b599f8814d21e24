// Contacts inside the search; see contact_search_lanes.h.
#include "search/contact_search_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

namespace {

unsigned exactly_blocked(const ProblemView &v, const ExactContacts &exact, const Evaluation &e, unsigned lanes) {
  double *row = exact.variables;
  for (unsigned left = lanes; left != 0; left &= left - 1, row += v.variable_count)
    for (int i = 0; i < v.variable_count; ++i) row[i] = get(e.q[i], __builtin_ctz(left));
  const unsigned hits = exact.blocked(exact.self, __builtin_popcount(lanes));
  unsigned blocked = 0, k = 0;
  for (unsigned left = lanes; left != 0; left &= left - 1, ++k)
    if (hits >> k & 1) blocked |= left & -left;
  return blocked;
}

}  // namespace

unsigned blocked_lanes(const ProblemView &v, IslandControl &c, Evaluation &e, unsigned lanes) {
  if (!lanes) return 0;
  const ContactTime time(c);
  if (c.exact) return exactly_blocked(v, *c.exact, e, lanes);
  place_bodies(v, c.configuration, e);
  return bits(collides(*c.collision, c.collision_axes, e.axes, c.margin, ~mask_of(lanes))) & lanes;
}

Lane free_lengths(const ProblemView &v, IslandControl &c, Evaluation &e, unsigned lanes) {
  const ContactTime time(c);
  place_bodies(v, c.configuration, e);
  return free_length(*c.collision, c.collision_axes, e.axes, c.margin, ~mask_of(lanes));
}

unsigned free_lanes(const ProblemView &v, IslandControl &c, Evaluation &e, unsigned lanes) {
  if (!c.collision || !lanes || c.exact) return lanes;
  const ContactTime time(c);
  place_bodies(v, c.configuration, e);
  return lanes & ~bits(collides(*c.conservative, c.collision_axes, e.axes, c.margin, ~mask_of(lanes)));
}

Lane add_hinges(const ProblemView &v, IslandControl &c, Evaluation &e, Step &s, const ContactSearch &contact_search,
                double weight) {
  const ContactTime time(c);
  Lane margin(-kFar);
  for (int lane = 0; lane < kWidth; ++lane)
    if (contact_search.pushing[lane]) set(margin, lane, c.hinge_margin);
  place_bodies(v, c.configuration, e);
  const Placed where = placed(c.collision_axes, e.axes);
  HingeSink sink{*c.collision, where, contact_search.scratch, v.variable_count, weight, margin, Lane(0.0), s.gradient,
                 s.matrix,     0};
  all_contacts(*c.collision, where, sink);
  return sink.cost;
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
