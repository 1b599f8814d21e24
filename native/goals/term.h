// The kinds of terms, one line each: a new kind is a line here, its rows in a *_terms_lanes.h and its error in
// verify.cpp. Problem, the evaluation, the search, the explanations and Python read their traits from this table.
//
// A term is a residual of a few rows that depends on one frame of a link, maybe relative to another frame, on the
// masses, on the joints or on contacts. Its numbers stand in a block of data; open targets are written there before
// each solve.
#pragma once

#include <cstdint>

#include "base/enum.h"

namespace memetik {

// What a kind is evaluated on.
MEMETIK_ENUM(TermInput,
             frame,     // a frame and its reference
             geometry,  // likewise, and a geometry or surface that the data names first
             chain,     // a frame and the axes on the path to it
             mass,      // the masses that all axes carry
             joints,    // values of joints
             compiled,  // the user's compiled function of frames and joints
             callback,  // the user's function in Python
             contacts)  // the clearances of the collision model

// What a kind constrains.
MEMETIK_ENUM(TermAspect, none, position, orientation, joints)

// Which part of the data an open target fills, and how: `at` is its first number.
MEMETIK_ENUM(TargetPart, none, point, direction, rotation, pose)
struct TermTarget {
  TargetPart part = TargetPart::none;
  int32_t at = -1;
};

// Pairs of lower and upper bounds in the data; count -1: as many as the data holds.
struct TermRange {
  int32_t lower = 0, upper = 0, count = 0, stride = 1;
};

// How many joints a term binds: `fixed`, plus its ranges that are narrow (at most `most` of them), less one where the
// vector at `free_axis` is not zero.
struct Demand {
  int32_t fixed = 0, most = 0, free_axis = -1;
};

struct TermTraits {
  const char *name;
  TermInput input;
  int32_t rows, data;  // -1: the term states it
  TermRange range;
  Demand binds;    // what the search reckons with
  Demand demands;  // what explanations tell; also where a spin, a cone or a segment leaves room
  TermAspect aspect;
  TermTarget target;
  bool extrapolates;  // frames to first order suffice
};

namespace term_table {

constexpr int kStated = -1, kAll = 1 << 20;
constexpr TermRange none{};
constexpr TermRange span(int lower, int upper, int count) { return {lower, upper, count, 1}; }
constexpr TermRange each(int lower, int upper, int stride) { return {lower, upper, -1, stride}; }
constexpr Demand fixed(int count, int narrow = 0) { return {count, narrow, -1}; }
constexpr Demand narrow(int most = kAll) { return {0, most, -1}; }
constexpr Demand fixed_less_axis(int count, int axis) { return {count, 0, axis}; }
constexpr TermTarget point_at(int at) { return {TargetPart::point, at}; }
constexpr TermTarget direction_at(int at) { return {TargetPart::direction, at}; }
constexpr TermTarget rotation_at(int at) { return {TargetPart::rotation, at}; }
constexpr TermTarget pose_at(int at) { return {TargetPart::pose, at}; }
constexpr TermTarget no_target{};

}  // namespace term_table

// clang-format off
// name, input, rows, data, range, binds, demands, aspect, target, extrapolates. Stores hold the numbers: append only.
#define MEMETIK_TERMS(X)                                                                                              \
  /* target R(9) p(3), lower(3), upper(3): R^T (x - p) outside [lower, upper] */                                      \
  X(point, frame, 3, 18, span(12, 15, 3), narrow(), narrow(), position, pose_at(0), true)                             \
  /* target R(9): twice the vector part of the quaternion of R_link R^T */                                            \
  X(rotation, frame, 3, 9, none, fixed(3), fixed(3), orientation, rotation_at(0), true)                               \
  /* target R(9), lower(3), upper(3): rotation vector of R^T R_link outside the ranges */                             \
  X(rotation_range, frame, 3, 15, span(9, 12, 3), narrow(), narrow(), orientation, rotation_at(0), true)              \
  /* target R(9), axis(3), lower(3), upper(3): rotation that takes the axis to R^T R_link axis, outside the ranges */ \
  X(swing_range, frame, 3, 18, span(12, 15, 3), narrow(), narrow(2), orientation, rotation_at(0), true)               \
  /* axis in link(3), direction(3): R a - d */                                                                        \
  X(align, frame, 3, 6, none, fixed(2), fixed(2), orientation, direction_at(3), true)                                 \
  /* target R(9), axis(3), lower, upper: twist of R^T R_link about the axis outside the range */                      \
  X(twist, frame, 1, 14, span(12, 13, 1), narrow(), narrow(), orientation, rotation_at(0), true)                      \
  /* axis(3), direction(3), lower, upper: angle(R a, d) outside the range */                                          \
  X(cone, frame, 1, 8, span(6, 7, 1), fixed(0), narrow(), orientation, direction_at(3), true)                         \
  /* axis(3), direction(3): positive part of (R a).d */                                                               \
  X(side, frame, 1, 6, none, fixed(0), fixed(0), orientation, direction_at(3), true)                                  \
  /* axis(3), point(3): R a - unit(point - x) */                                                                      \
  X(look_at, frame, 3, 6, none, fixed(2), fixed(2), orientation, point_at(3), true)                                   \
  /* point(3), direction(3): part of x - point across the direction */                                                \
  X(line, frame, 3, 6, none, fixed(2), fixed(2), position, point_at(0), true)                                         \
  /* point(3), normal(3), lower, upper: (x - point).n outside the range */                                            \
  X(plane, frame, 1, 8, span(6, 7, 1), narrow(), narrow(), position, point_at(0), true)                               \
  /* point(3), lower, upper: |x - point| outside the range */                                                         \
  X(distance, frame, 1, 5, span(3, 4, 1), narrow(), narrow(), position, point_at(0), true)                            \
  /* point(3), radius: 1 / (|x - point| - radius), continued linearly below a millimetre */                           \
  X(repulsion, frame, 1, 4, none, fixed(0), fixed(0), position, point_at(0), true)                                    \
  /* centre(3), lower(3), upper(3): angles of R = Rz(yaw) Ry(pitch) Rx(roll) less centre, outside the ranges */       \
  X(roll_pitch_yaw, frame, 3, 9, span(3, 6, 3), narrow(), narrow(), orientation, no_target, true)                     \
  /* axis(3), start, end, point(3): point to the nearest point of the link's segment */                               \
  X(pivot, frame, 3, 8, span(3, 4, 1), fixed(2), fixed(2, 1), position, point_at(5), true)                            \
  /* point(3), count, then count frames from the base outwards, the term's frame last: point to the nearest point of  \
     the line through their origins */                                                                                \
  X(pivot_chain, chain, 3, kStated, none, fixed(0), fixed(2), position, point_at(0), false)                           \
  /* axis(3), point(3), angle: angle(R a, point - x) beyond the angle */                                              \
  X(view, frame, 1, 7, none, fixed(0), fixed(0), orientation, point_at(3), true)                                      \
  /* point(3), normal(3), angle: angle(x - point, n) beyond the angle */                                              \
  X(incidence, frame, 1, 7, none, fixed(0), fixed(0), position, point_at(0), true)                                    \
  /* point(3), gravity(3), line(3): centre of mass off the point, along neither vector */                             \
  X(balance, mass, 3, 9, none, fixed_less_axis(2, 6), fixed_less_axis(2, 6), position, point_at(0), false)            \
  /* count, then count times normal(3), offset: n.com - offset beyond zero */                                         \
  X(support, mass, kStated, kStated, none, fixed(0), fixed(0), position, no_target, false)                            \
  /* per joint: scale, centre, lower, upper: scale * (q - centre) outside [lower, upper] */                           \
  X(joints, joints, kStated, kStated, each(2, 3, 4), narrow(), narrow(), joints, no_target, true)                     \
  /* mode (0 all, 1 translation, 2 rotation), reference */                                                            \
  X(manipulability, chain, 1, 2, none, fixed(0), fixed(0), none, no_target, false)                                    \
  /* gravity(3), then per entry of q: scale: gravity torques */                                                       \
  X(effort, mass, kStated, kStated, none, fixed(0), fixed(0), none, no_target, false)                                 \
  /* two addresses, counts of links and joints, then frames, entries of q, variables (user_function.h) */             \
  X(compiled, compiled, kStated, kStated, none, fixed(0), fixed(0), none, no_target, true)                            \
  /* nothing: evaluated by the owner */                                                                               \
  X(callback, callback, kStated, kStated, none, fixed(0), fixed(0), none, no_target, false)                           \
  /* geometry, point(3), lower, upper: distance from the link's geometry to the point outside the range */            \
  X(point_distance, geometry, 1, 6, span(4, 5, 1), narrow(), narrow(), position, point_at(1), true)                   \
  /* geometry, point(3), normal(3), gap: height of the geometry's lowest point above the plane, less the gap */       \
  X(touch, geometry, 1, 8, none, fixed(1), fixed(1), position, point_at(1), true)                                     \
  /* surface, axis(3), stand-off, least, most, whether there is a fallback, its R(9) p(3), six zeros: x less the      \
     point at the stand-off from where x + t R a, t in [least, most], meets the surface */                            \
  X(project_point, geometry, 3, 26, none, fixed(1), fixed(1), position, no_target, true)                              \
  /* likewise: R a plus the surface's normal there */                                                                 \
  X(project_axis, geometry, 3, 26, none, fixed(2), fixed(2), orientation, no_target, true)                            \
  /* form, scale, reach, count, then count times a link, and another, an object or -1: clearances */                  \
  X(contacts, contacts, 1, kStated, none, fixed(0), fixed(0), none, no_target, false)
// clang-format on

#define MEMETIK_TERM_NAME(name, ...) name,
enum class TermKind : int32_t { MEMETIK_TERMS(MEMETIK_TERM_NAME) };
#undef MEMETIK_TERM_NAME

namespace term_table {

#define MEMETIK_TERM_TRAITS(name, input, rows, data, range, binds, demands, aspect, target, extrapolates) \
  TermTraits{#name, TermInput::input, rows, data, range, binds, demands, TermAspect::aspect, target, extrapolates},
constexpr TermTraits kTraits[] = {MEMETIK_TERMS(MEMETIK_TERM_TRAITS)};
#undef MEMETIK_TERM_TRAITS

}  // namespace term_table

constexpr int kTermKinds = int(sizeof(term_table::kTraits) / sizeof(term_table::kTraits[0]));

constexpr const TermTraits &traits(TermKind kind) { return term_table::kTraits[int(kind)]; }

constexpr bool uses_frame(TermKind kind) { return int(traits(kind).input) <= int(TermInput::chain); }
constexpr bool uses_geometry(TermKind kind) { return traits(kind).input == TermInput::geometry; }
constexpr bool uses_mass(TermKind kind) { return traits(kind).input == TermInput::mass; }
constexpr bool uses_user_code(TermKind kind) {
  return traits(kind).input == TermInput::compiled || traits(kind).input == TermInput::callback;
}
constexpr bool uses_joints(TermKind kind) { return traits(kind).input == TermInput::joints || uses_user_code(kind); }

constexpr int kMostFrameRows = 3;  // of a term on a frame, as the evaluation holds them

namespace term_table {

constexpr bool is_sound(const TermTraits &t) {
  const bool on_frame = t.input == TermInput::frame || t.input == TermInput::geometry;
  const int last = t.range.count < 0 ? 0 : t.range.upper + t.range.count;
  const int parts[] = {0, 3, 3, 9, 12};
  return (!on_frame || (t.rows >= 1 && t.rows <= kMostFrameRows && t.data > 0)) && (t.data < 0 || last <= t.data) &&
         (t.range.count == 0 ? t.binds.most == 0 && t.demands.most == 0 : t.range.lower < t.range.upper) &&
         (t.target.part == TargetPart::none) == (t.target.at < 0) &&
         (t.data < 0 || t.target.at < 0 || t.target.at + parts[int(t.target.part)] <= t.data);
}

constexpr bool all_sound() {
  for (const TermTraits &t : kTraits)
    if (!is_sound(t)) return false;
  return true;
}
static_assert(all_sound(), "a line of MEMETIK_TERMS contradicts itself.");
static_assert(int(TermKind::rotation) == 1 && int(TermKind::joints) == 20 && int(TermKind::contacts) == 29,
              "numbers of kinds are in stores and must not change.");

}  // namespace term_table

// What a term on contacts makes of the clearances c below its reach (which is the scale for the first two).
MEMETIK_ENUM(ContactForm,
             margin,  // root of the sum of (scale - c)^2 over all contacts
             depth,   // scale - c of the nearest
             pairs,   // sum over pairs of groups and objects of (scale / c)^2, less its value at the reach
             least)   // (2 scale / (scale + c))^2 of the nearest, likewise

// In the data of contacts, objects are this much plus their key; smaller numbers are links.
constexpr double kObjectKeys = 1e6;

MEMETIK_ENUM(Loss, square, huber, groove, swamp, swamp_groove)

constexpr int kLossData = 4;  // parameters of a loss

}  // namespace memetik
