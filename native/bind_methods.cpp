// Parameters of the methods other than the memetic search.
#include <nanobind/nanobind.h>

#include "bindings.h"
#include "methods/options.h"

namespace nb = nanobind;

namespace memetik {
namespace {

// Enumerations are whole numbers in Python; names stand for them in the methods' own classes.
template <class Owner, class Enum>
auto enum_getter(Enum Owner::*member) {
  return [member](const Owner &owner) { return int(owner.*member); };
}
template <class Owner, class Enum>
auto enum_setter(Enum Owner::*member) {
  return [member](Owner &owner, int value) { owner.*member = Enum(value); };
}

}  // namespace

void bind_methods(nb::module_ &m) {
  nb::class_<FitnessOptions>(m, "FitnessOptions")
      .def(nb::init<>())
      .def_prop_rw("rotation", enum_getter(&FitnessOptions::rotation), enum_setter(&FitnessOptions::rotation))
      .def_prop_rw("combination", enum_getter(&FitnessOptions::combination), enum_setter(&FitnessOptions::combination))
      .def_rw("rotation_scale", &FitnessOptions::rotation_scale)
      .def_rw("normalized", &FitnessOptions::normalized);
  nb::class_<Bio2Options>(m, "Bio2Options")
      .def(nb::init<>())
      .def_rw("population", &Bio2Options::population)
      .def_rw("children", &Bio2Options::children)
      .def_rw("elites", &Bio2Options::elites)
      .def_rw("species", &Bio2Options::species)
      .def_rw("evolution_generations", &Bio2Options::evolution_generations)
      .def_rw("local_generations", &Bio2Options::local_generations)
      .def_prop_rw("local", enum_getter(&Bio2Options::local), enum_setter(&Bio2Options::local))
      .def_rw("mutation_low", &Bio2Options::mutation_low)
      .def_rw("mutation_high", &Bio2Options::mutation_high)
      .def_rw("wipeout", &Bio2Options::wipeout)
      .def_rw("mutate_per_gene", &Bio2Options::mutate_per_gene)
      .def_rw("swarm", &Bio2Options::swarm)
      .def_rw("wipeouts", &Bio2Options::wipeouts)
      .def_rw("random_start", &Bio2Options::random_start)
      .def_rw("extrapolate", &Bio2Options::extrapolate);
  nb::class_<Bio1Options>(m, "Bio1Options")
      .def(nb::init<>())
      .def_rw("population", &Bio1Options::population)
      .def_rw("elites", &Bio1Options::elites)
      .def_rw("exploitation", &Bio1Options::exploitation)
      .def_prop_rw("elite_selection", enum_getter(&Bio1Options::elite_selection),
                   enum_setter(&Bio1Options::elite_selection))
      .def_rw("numeric_gradient", &Bio1Options::numeric_gradient)
      .def_rw("adoption", &Bio1Options::adoption)
      .def_rw("exploit", &Bio1Options::exploit)
      .def_rw("wipeout", &Bio1Options::wipeout)
      .def_rw("random_weights", &Bio1Options::random_weights)
      .def_rw("parallel_elites", &Bio1Options::parallel_elites);
  nb::class_<Bio1RosOptions>(m, "Bio1RosOptions")
      .def(nb::init<>())
      .def_rw("population", &Bio1RosOptions::population)
      .def_rw("elites", &Bio1RosOptions::elites);
  nb::class_<DescentOptions>(m, "DescentOptions")
      .def(nb::init<>())
      .def_prop_rw("acceptance", enum_getter(&DescentOptions::acceptance), enum_setter(&DescentOptions::acceptance))
      .def_rw("difference", &DescentOptions::difference)
      .def_rw("patience", &DescentOptions::patience);
  nb::class_<NewtonOptions>(m, "NewtonOptions")
      .def(nb::init<>())
      .def_prop_rw("inverse", enum_getter(&NewtonOptions::inverse), enum_setter(&NewtonOptions::inverse))
      .def_rw("iterations", &NewtonOptions::iterations)
      .def_rw("patience", &NewtonOptions::patience)
      .def_rw("damping", &NewtonOptions::damping)
      .def_rw("cutoff", &NewtonOptions::cutoff)
      .def_rw("tau", &NewtonOptions::tau)
      .def_rw("adaptive", &NewtonOptions::adaptive)
      .def_rw("stop_at_limits", &NewtonOptions::stop_at_limits);
  nb::class_<PickOptions>(m, "PickOptions")
      .def(nb::init<>())
      .def_prop_rw("mode", enum_getter(&PickOptions::mode), enum_setter(&PickOptions::mode))
      .def_rw("population", &PickOptions::population)
      .def_rw("elites", &PickOptions::elites)
      .def_rw("local_iterations", &PickOptions::local_iterations)
      .def_rw("generations", &PickOptions::generations)
      .def_rw("local_only_iterations", &PickOptions::local_only_iterations)
      .def_rw("wipeout_tolerance", &PickOptions::wipeout_tolerance)
      .def_rw("difference", &PickOptions::difference)
      .def_rw("least_progress", &PickOptions::least_progress);
  nb::class_<DifferentialOptions>(m, "DifferentialOptions")
      .def(nb::init<>())
      .def_rw("population", &DifferentialOptions::population)
      .def_rw("generations", &DifferentialOptions::generations)
      .def_rw("patience", &DifferentialOptions::patience)
      .def_rw("first", &DifferentialOptions::first)
      .def_rw("second", &DifferentialOptions::second)
      .def_rw("crossover", &DifferentialOptions::crossover)
      .def_rw("converged", &DifferentialOptions::converged)
      .def_rw("share", &DifferentialOptions::share)
      .def_rw("more_generations", &DifferentialOptions::more_generations)
      .def_rw("more_individuals", &DifferentialOptions::more_individuals);
  nb::class_<SwarmOptions>(m, "SwarmOptions")
      .def(nb::init<>())
      .def_rw("particles", &SwarmOptions::particles)
      .def_rw("neighbours", &SwarmOptions::neighbours)
      .def_rw("patience", &SwarmOptions::patience)
      .def_rw("inertia", &SwarmOptions::inertia)
      .def_rw("own", &SwarmOptions::own)
      .def_rw("near", &SwarmOptions::near)
      .def_rw("all", &SwarmOptions::all);
  nb::class_<GeneticOptions>(m, "GeneticOptions")
      .def(nb::init<>())
      .def_rw("population", &GeneticOptions::population)
      .def_rw("elites", &GeneticOptions::elites)
      .def_rw("patience", &GeneticOptions::patience)
      .def_rw("mutation_rate", &GeneticOptions::mutation_rate)
      .def_rw("mutation_scale", &GeneticOptions::mutation_scale)
      .def_rw("crossover", &GeneticOptions::crossover);
  nb::class_<MethodOptions>(m, "MethodOptions")
      .def(nb::init<>())
      .def_prop_rw("kind", enum_getter(&MethodOptions::kind), enum_setter(&MethodOptions::kind))
      .def_rw("restarts", &MethodOptions::restarts)
      .def_rw("keep_seed", &MethodOptions::keep_seed)
      .def_rw("free_turns", &MethodOptions::free_turns)
      .def_rw("fitness", &MethodOptions::fitness)
      .def_rw("bio2", &MethodOptions::bio2)
      .def_rw("bio1", &MethodOptions::bio1)
      .def_rw("bio1_ros", &MethodOptions::bio1_ros)
      .def_rw("descent", &MethodOptions::descent)
      .def_rw("newton", &MethodOptions::newton)
      .def_rw("pick", &MethodOptions::pick)
      .def_rw("differential", &MethodOptions::differential)
      .def_rw("swarm", &MethodOptions::swarm)
      .def_rw("genetic", &MethodOptions::genetic);
}

}  // namespace memetik
