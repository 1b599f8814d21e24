// Contacts inside the search; see contact_search_lanes.h.
#include "search/contact_search_lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

unsigned blocked_lanes(IslandControl &c, const Evaluation &e, unsigned lanes) {
  if (!lanes) return 0;
  const ContactTime time(c);
  return bits(collides(*c.collision, c.collision_axes, e.axes, c.margin, ~mask_of(lanes))) & lanes;
}

unsigned free_lanes(IslandControl &c, const Evaluation &e, unsigned lanes) {
  if (!c.collision || !lanes) return lanes;
  const ContactTime time(c);
  return lanes & ~bits(collides(*c.conservative, c.collision_axes, e.axes, c.margin, ~mask_of(lanes)));
}

Lane add_hinges(const ProblemView &v, IslandControl &c, Evaluation &e, Step &s, const ContactSearch &contact_search,
                double weight) {
  const ContactTime time(c);
  Lane margin(-kFar);
  for (int lane = 0; lane < kWidth; ++lane)
    if (contact_search.pushing[lane]) set(margin, lane, c.hinge_margin);
  const Placed where = placed(c.collision_axes, e.axes);
  HingeSink sink{*c.collision, where, contact_search.scratch, v.variable_count, weight, margin, Lane(0.0), s.gradient,
                 s.matrix,     0};
  all_contacts(*c.collision, where, sink);
  return sink.cost;
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
