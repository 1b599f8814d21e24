// Plain structs and enumerations in Python, from one list: keyword __init__, fields, replace, repr and pickle.
//
//   bind_fields<TargetSpec>(m, "TargetSpec", "What an open target holds.", REQUIRED(size), FIELD(form));
//
// Defaults are those of the C++ struct. A field may be a number, a string, an enumeration or struct bound before, what
// nanobind's casters know, or what Wire gives another form. bind_options does the same with fields that may be set.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "python/arrays.h"
#include "tree/placement.h"

namespace memetik {

// The form in which a member crosses the seam: itself, unless it is an array there.
template <class Member>
struct Wire {
  using In = Member;
  static Member take(const In &value) { return value; }
  static const Member &give(const Member &value) { return value; }
};

template <>
struct Wire<std::vector<double>> {
  using In = Input<double>;
  static std::vector<double> take(const In &array) { return {array.data(), array.data() + array.size()}; }
  static NewDoubles give(const std::vector<double> &values) { return {new_doubles(values.data(), values.size())}; }
};

template <class Scalar>
struct Wire<Input<Scalar>> {
  using In = Input<Scalar>;
  static const In &take(const In &array) { return array; }
  static nanobind::ndarray<nanobind::numpy, const Scalar> give(const In &array) {
    return nanobind::ndarray<nanobind::numpy, const Scalar>(array);
  }
};

template <>
struct Wire<Placement> {  // (3, 4): rotation and position
  using In = Input<double>;
  static Placement take(const In &array) { return to_placement(array); }
  static Array give(const Placement &placement) {
    double rows[12];
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 3; ++c) rows[4 * r + c] = placement.R[3 * r + c];
      rows[4 * r + 3] = placement.p[r];
    }
    return to_array(rows, {3, 4});
  }
};

template <class Get, bool required>
struct Field {
  const char *name;
  Get get;  // the member of a struct, by reference
  static constexpr bool kRequired = required;
  template <class T>
  using Member = std::remove_cvref_t<std::invoke_result_t<Get, T &>>;
  template <class T>
  using WireOf = Wire<Member<T>>;
};

template <bool required, class Get>
constexpr Field<Get, required> make_field(const char *name, Get get) {
  return {name, get};
}

#define MEMETIK_FIELD(required, member) \
  ::memetik::make_field<required>(#member, [](auto &owner) -> auto & { return owner.member; })
#define FIELD(member) MEMETIK_FIELD(false, member)
#define REQUIRED(member) MEMETIK_FIELD(true, member)

namespace fields {

template <class T, class F>
bool set(T &self, const F &field, nanobind::handle name, nanobind::handle value) {
  if (nanobind::cast<std::string>(name) != field.name) return false;
  field.get(self) = F::template WireOf<T>::take(nanobind::cast<typename F::template WireOf<T>::In>(value));
  return true;
}

template <class T, class... Fields>
void set_all(T &self, const nanobind::dict &values, const Fields &...fields) {
  for (auto [name, value] : values)
    if (!(set(self, fields, name, value) || ...))
      throw nanobind::type_error(("there is no field " + nanobind::cast<std::string>(name) + ".").c_str());
}

template <class T, class F>
nanobind::arg_v argument(const F &field, const T &defaults) {
  return nanobind::arg(field.name) = nanobind::cast(F::template WireOf<T>::give(field.get(defaults)));
}

template <class T, class F>
decltype(auto) declare(const F &field, const T &defaults) {
  if constexpr (F::kRequired)
    return nanobind::arg(field.name);
  else
    return argument<T>(field, defaults);
}

}  // namespace fields

template <class T, bool writable = false, class... Fields>
nanobind::class_<T> bind_fields(nanobind::module_ &m, const char *name, const char *doc, Fields... list) {
  namespace nb = nanobind;
  nb::class_<T> bound(m, name, doc);
  const T defaults{};
  bound.def(
      "__init__",
      [list...](T *self, const typename Fields::template WireOf<T>::In &...values) {
        new (self) T{};
        ((list.get(*self) = Fields::template WireOf<T>::take(values)), ...);
      },
      nb::kw_only(), fields::declare<T>(list, defaults)...);
  const auto property = [&](const auto &field) {
    using F = std::remove_cvref_t<decltype(field)>;
    const auto get = [field](const T &self) -> decltype(auto) { return F::template WireOf<T>::give(field.get(self)); };
    // Members are seen in place; what is made for Python is handed over.
    using Seen = decltype(get(defaults));
    constexpr auto policy = std::is_reference_v<Seen> ? nb::rv_policy::reference_internal_v : nb::rv_policy::move_v;
    constexpr nb::rv_policy::policy_tag<policy> tag{};
    if constexpr (writable)
      bound.def_prop_rw(
          field.name, get,
          [field](T &self, const typename F::template WireOf<T>::In &value) {
            field.get(self) = F::template WireOf<T>::take(value);
          },
          nb::for_getter(tag));
    else
      bound.def_prop_ro(field.name, get, tag);
  };
  (property(list), ...);
  const auto state = [list...](const T &self) {
    nb::dict values;
    ((values[list.name] = nb::cast(Fields::template WireOf<T>::give(list.get(self)))), ...);
    return values;
  };
  bound.def("__getstate__", state)
      .def("__setstate__",
           [list...](T &self, const nb::dict &values) {
             new (&self) T{};
             fields::set_all(self, values, list...);
           })
      .def(
          "replace",
          [list...](const T &self, const nb::kwargs &changes) {
            T changed = self;
            fields::set_all(changed, changes, list...);
            return changed;
          },
          "The same with other values of some fields.")
      .def("__repr__", [state, type = std::string(name)](const T &self) {
        std::string text;
        for (auto [field, value] : state(self))
          text += (text.empty() ? "" : ", ") + nb::cast<std::string>(field) + "=" + nb::repr(value).c_str();
        return type + "(" + text + ")";
      });
  bound.attr("field_names") = nb::make_tuple(list.name...);
  return bound;
}

template <class T, class... Fields>
nanobind::class_<T> bind_options(nanobind::module_ &m, const char *name, const char *doc, Fields... list) {
  return bind_fields<T, true>(m, name, doc, list...);
}

// A struct with MEMETIK_FIELDS (base/fields.h), likewise.
template <class T>
nanobind::class_<T> bind_listed(nanobind::module_ &m, const char *name, const char *doc) {
  return T::with_fields(
      [&](auto... field) { return bind_fields<T>(m, name, doc, make_field<false>(field.name, field.get)...); });
}

// An enumeration made by MEMETIK_ENUM; in Python whole numbers with names.
template <class Enum>
void bind_enum(nanobind::module_ &m, const char *name, const char *doc) {
  nanobind::enum_<Enum> bound(m, name, doc, nanobind::is_arithmetic());
  std::string names = enum_names(Enum{}), each;
  int value = 0;
  for (char letter : names + ",")
    if (letter == ',')
      bound.value(each.c_str(), Enum(value++)), each.clear();
    else if (letter != ' ')
      each += letter;
}

}  // namespace memetik
