// What is asked of a solve, and what it finds.
#include <nanobind/stl/vector.h>

#include "python/bindings.h"
#include "python/fields.h"
#include "search/outcome.h"
#include "search/solve_options.h"

namespace memetik {

// By name: what a dict holds.
template <>
struct Wire<Profile> {
  using In = nanobind::typed<nanobind::dict, std::string, double>;
  static Profile take(const In &seconds) {
    Profile profile{};
    Profile::with_fields([&](auto... field) {
      ((field.get(profile) =
            seconds.contains(field.name) ? nanobind::cast<double>(nanobind::handle(seconds[field.name])) : 0.0),
       ...);
    });
    return profile;
  }
  static In give(const Profile &profile) {
    nanobind::dict seconds;
    Profile::with_fields([&](auto... field) { ((seconds[field.name] = field.get(profile)), ...); });
    return nanobind::borrow<In>(seconds);
  }
};

namespace {

#define COUNT(name) make_field<false>(#name, [](auto &outcome) -> auto & { return outcome.counts.name; })

void bind_outcome(nanobind::module_ &m) {
  bind_enum<Ending>(m, "Ending", "Why a search ended.");
  bind_enum<RefinementEnd>(m, "RefinementEnd", "Why the refinement of soft goals ended.");
  bind_fields<Generation>(m, "Generation", "One iteration of an island: its 8 individuals and their costs.",
                          FIELD(island), FIELD(variables), FIELD(cost));
  bind_fields<Answer>(m, "Answer", "One of several distinct answers.", FIELD(q), FIELD(errors), FIELD(cost));
  bind_fields<Outcome>(m, "Outcome", "What a search found.", FIELD(ending), FIELD(success), FIELD(q), FIELD(errors),
                       FIELD(cost), FIELD(soft_cost), FIELD(refinement), FIELD(seconds), COUNT(evaluations),
                       COUNT(starts), COUNT(random_starts), COUNT(bred_starts), COUNT(wipeouts), COUNT(rejected),
                       COUNT(refined), COUNT(blocked), COUNT(generations), FIELD(island), FIELD(generation),
                       FIELD(collision_free), FIELD(clipped), FIELD(trace), FIELD(profile), FIELD(answers),
                       FIELD(branches));
}

}  // namespace

void bind_options(nanobind::module_ &m) {
  bind_listed<MemeticOptions>(m, "MemeticOptions", "Parameters of the memetic search.");
  nanobind::class_<MethodRef>(m, "MethodRef", "A method of the core and its parameters.").def(nanobind::init<>());
  bind_listed<SolveOptions>(m, "SolveOptions", "What is asked of one solve. Counts of -1 are no bound.");
  m.attr("MOST_THREADS") = kMostThreads;
  bind_outcome(m);
}

}  // namespace memetik
