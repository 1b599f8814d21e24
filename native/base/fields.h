// A struct's list of fields, written once beside them, for whoever reads or writes them all by name:
//   struct Options { int rounds; double share; MEMETIK_FIELDS(rounds, share) };
//   Options::with_fields([](auto... fields) { ... });    each has a name, and get(object) gives the member
#pragma once

namespace memetik {

template <class Get>
struct NamedMember {
  const char *name;
  Get get;
};
template <class Get>
NamedMember(const char *, Get) -> NamedMember<Get>;

}  // namespace memetik

#define MEMETIK_MEMBER(member)                                  \
  ::memetik::NamedMember {                                      \
    #member, [](auto &owner) -> auto & { return owner.member; } \
  }

// Calls X for up to 64 arguments, with commas between.
#define MEMETIK_EACH(X, ...) __VA_OPT__(MEMETIK_EXPAND(MEMETIK_EACH_NEXT(X, __VA_ARGS__)))
#define MEMETIK_EACH_NEXT(X, first, ...) X(first) __VA_OPT__(, MEMETIK_EACH_AGAIN MEMETIK_PARENS(X, __VA_ARGS__))
#define MEMETIK_EACH_AGAIN() MEMETIK_EACH_NEXT
#define MEMETIK_PARENS ()
#define MEMETIK_EXPAND(...) MEMETIK_EXPAND_3(MEMETIK_EXPAND_3(MEMETIK_EXPAND_3(MEMETIK_EXPAND_3(__VA_ARGS__))))
#define MEMETIK_EXPAND_3(...) MEMETIK_EXPAND_2(MEMETIK_EXPAND_2(MEMETIK_EXPAND_2(MEMETIK_EXPAND_2(__VA_ARGS__))))
#define MEMETIK_EXPAND_2(...) MEMETIK_EXPAND_1(MEMETIK_EXPAND_1(MEMETIK_EXPAND_1(MEMETIK_EXPAND_1(__VA_ARGS__))))
#define MEMETIK_EXPAND_1(...) __VA_ARGS__

#define MEMETIK_FIELDS(...)                                \
  template <class Use>                                     \
  static decltype(auto) with_fields(Use &&use) {           \
    return use(MEMETIK_EACH(MEMETIK_MEMBER, __VA_ARGS__)); \
  }
