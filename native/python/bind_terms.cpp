// What a problem is stated in: terms, frames and open targets.
#include <nanobind/stl/shared_ptr.h>

#include "goals/problem_spec.h"
#include "python/bindings.h"
#include "python/fields.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace memetik {
namespace {

// A kind's line of the table as Python reads it.
struct Traits {
  TermInput input{};
  int rows = -1, data = -1;
  TermAspect aspect{};
  TargetPart target{};
  int target_at = -1;
  bool extrapolates = false;
};

Traits traits_of(TermKind kind) {
  const TermTraits &t = traits(kind);
  return {t.input, t.rows, t.data, t.aspect, t.target.part, t.target.at, t.extrapolates};
}

void bind_kinds(nb::module_ &m) {
  bind_enum<TermInput>(m, "TermInput", "What a kind of term is evaluated on.");
  bind_enum<TermAspect>(m, "TermAspect", "What a kind of term constrains.");
  bind_enum<TargetPart>(m, "TargetPart", "What of a term's data is its target.");
  bind_enum<ContactForm>(m, "ContactForm", "What a term makes of clearances.");
  m.attr("OBJECT_KEYS") = kObjectKeys;
  nb::enum_<TermKind> kinds(m, "TermKind", "The residuals that the core knows.", nb::is_arithmetic());
  for (int k = 0; k < kTermKinds; ++k) kinds.value(traits(TermKind(k)).name, TermKind(k));
  bind_fields<Traits>(m, "TermTraits", "What the table of terms says of a kind; -1: the term states it.", FIELD(input),
                      FIELD(rows), FIELD(data), FIELD(aspect), FIELD(target), FIELD(target_at), FIELD(extrapolates));
  m.def("term_traits", &traits_of, "kind"_a);
}

}  // namespace

void bind_terms(nb::module_ &m) {
  bind_kinds(m);
  bind_enum<Loss>(m, "LossKind", "How the size of a residual turns into cost.");
  bind_fields<LossSpec>(m, "LossSpec", "A loss and its parameters.", FIELD(kind), FIELD(parameters));
  bind_fields<TermSpec>(m, "TermSpec", "One residual: what it measures, of which frames, for which goal.",
                        REQUIRED(kind), FIELD(loss), FIELD(goal), FIELD(frame), FIELD(reference), FIELD(priority),
                        FIELD(rows), FIELD(weight), FIELD(tolerance), FIELD(entries), FIELD(data))
      .def_prop_ro(
          "demands", [](const TermSpec &spec) { return count_demands(spec, traits(spec.kind).demands); },
          "How many independent constraints it makes that leave no room; a range that is not narrow makes none.");
  bind_fields<FrameSpec>(m, "FrameSpec", "A frame fixed to a link: its placement (3, 4) in the link's frame.",
                         REQUIRED(link), REQUIRED(placement));
  bind_enum<TargetForm>(m, "TargetForm", "What an open target holds.");
  bind_fields<TargetSpec>(m, "TargetSpec", "An open target: how many numbers, what they are, dimensions of its array.",
                          REQUIRED(size), FIELD(form), FIELD(dimensions));
  bind_fields<TargetCopy>(m, "TargetCopy", "A number of an open target that goes into a term's data at each solve.",
                          REQUIRED(target), REQUIRED(source), REQUIRED(term), REQUIRED(destination));
  bind_fields<SeedCopy>(m, "SeedCopy", "An entry of the seed that goes into a term's data at each solve.",
                        REQUIRED(entry), REQUIRED(term), REQUIRED(destination));
  bind_fields<ProblemSpec>(m, "ProblemSpec", "A problem as it is stated.", REQUIRED(tree), FIELD(frames), FIELD(terms),
                           REQUIRED(lower), REQUIRED(upper), FIELD(held), FIELD(named), FIELD(targets),
                           FIELD(target_copies), FIELD(seed_copies), FIELD(collision), FIELD(geometries));
}

}  // namespace memetik
