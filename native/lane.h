// Lanes: W numbers that advance together. A kernel is written once over Lane and compiled for each instruction set.
//
// Lane<W> is a binary tree of native vectors: Lane<8> is one 512-bit register, two 256-bit or four 128-bit ones.
// (A single over-wide vector type would be spilled to memory by the compiler; a pair of halves is not.)
#pragma once

#include <cstdint>

namespace memetik {
inline namespace MEMETIK_ARCH {

#if defined(__AVX512F__)
constexpr int kNative = 8;
#elif defined(__AVX__)
constexpr int kNative = 4;
#else
constexpr int kNative = 2;
#endif
constexpr int kWidth = 8;

using Vector = double __attribute__((vector_size(kNative * 8)));
using Bits = int64_t __attribute__((vector_size(kNative * 8)));

#define MEMETIK_INLINE inline __attribute__((always_inline))

template <int W>
struct MaskOf {
  MaskOf<W / 2> lo, hi;
  MEMETIK_INLINE MaskOf operator&(const MaskOf &o) const { return {lo & o.lo, hi & o.hi}; }
  MEMETIK_INLINE MaskOf operator|(const MaskOf &o) const { return {lo | o.lo, hi | o.hi}; }
  MEMETIK_INLINE MaskOf operator~() const { return {~lo, ~hi}; }
};

template <>
struct MaskOf<kNative> {
  Bits bits;
  MEMETIK_INLINE MaskOf operator&(const MaskOf &o) const { return {bits & o.bits}; }
  MEMETIK_INLINE MaskOf operator|(const MaskOf &o) const { return {bits | o.bits}; }
  MEMETIK_INLINE MaskOf operator~() const { return {~bits}; }
};

template <int W>
struct LaneOf {
  LaneOf<W / 2> lo, hi;

  LaneOf() = default;
  MEMETIK_INLINE LaneOf(double x) : lo(x), hi(x) {}
  MEMETIK_INLINE LaneOf(const LaneOf<W / 2> &l, const LaneOf<W / 2> &h) : lo(l), hi(h) {}
  MEMETIK_INLINE LaneOf operator+(const LaneOf &o) const { return {lo + o.lo, hi + o.hi}; }
  MEMETIK_INLINE LaneOf operator-(const LaneOf &o) const { return {lo - o.lo, hi - o.hi}; }
  MEMETIK_INLINE LaneOf operator*(const LaneOf &o) const { return {lo * o.lo, hi * o.hi}; }
  MEMETIK_INLINE LaneOf operator/(const LaneOf &o) const { return {lo / o.lo, hi / o.hi}; }
  MEMETIK_INLINE LaneOf operator-() const { return {-lo, -hi}; }
  MEMETIK_INLINE MaskOf<W> operator<(const LaneOf &o) const { return {lo < o.lo, hi < o.hi}; }
  MEMETIK_INLINE MaskOf<W> operator>(const LaneOf &o) const { return {lo > o.lo, hi > o.hi}; }
  MEMETIK_INLINE MaskOf<W> operator<=(const LaneOf &o) const { return {lo <= o.lo, hi <= o.hi}; }
  MEMETIK_INLINE MaskOf<W> operator>=(const LaneOf &o) const { return {lo >= o.lo, hi >= o.hi}; }
};

template <>
struct LaneOf<kNative> {
  Vector v;

  LaneOf() = default;
  MEMETIK_INLINE LaneOf(double x) : v(Vector{} + x) {}
  MEMETIK_INLINE LaneOf(Vector x) : v(x) {}
  MEMETIK_INLINE LaneOf operator+(const LaneOf &o) const { return v + o.v; }
  MEMETIK_INLINE LaneOf operator-(const LaneOf &o) const { return v - o.v; }
  MEMETIK_INLINE LaneOf operator*(const LaneOf &o) const { return v * o.v; }
  MEMETIK_INLINE LaneOf operator/(const LaneOf &o) const { return v / o.v; }
  MEMETIK_INLINE LaneOf operator-() const { return -v; }
  MEMETIK_INLINE MaskOf<kNative> operator<(const LaneOf &o) const { return {v < o.v}; }
  MEMETIK_INLINE MaskOf<kNative> operator>(const LaneOf &o) const { return {v > o.v}; }
  MEMETIK_INLINE MaskOf<kNative> operator<=(const LaneOf &o) const { return {v <= o.v}; }
  MEMETIK_INLINE MaskOf<kNative> operator>=(const LaneOf &o) const { return {v >= o.v}; }
};

using Lane = LaneOf<kWidth>;
using Mask = MaskOf<kWidth>;

template <int W>
MEMETIK_INLINE LaneOf<W> &operator+=(LaneOf<W> &a, const LaneOf<W> &b) { return a = a + b; }
template <int W>
MEMETIK_INLINE LaneOf<W> &operator-=(LaneOf<W> &a, const LaneOf<W> &b) { return a = a - b; }
template <int W>
MEMETIK_INLINE LaneOf<W> &operator*=(LaneOf<W> &a, const LaneOf<W> &b) { return a = a * b; }
MEMETIK_INLINE Lane operator*(double a, const Lane &b) { return Lane(a) * b; }
MEMETIK_INLINE Lane operator+(double a, const Lane &b) { return Lane(a) + b; }
MEMETIK_INLINE Lane operator-(double a, const Lane &b) { return Lane(a) - b; }
MEMETIK_INLINE Lane operator/(double a, const Lane &b) { return Lane(a) / b; }

template <int W>
MEMETIK_INLINE LaneOf<W> select(const MaskOf<W> &m, const LaneOf<W> &a, const LaneOf<W> &b) {
  if constexpr (W == kNative)
    return LaneOf<W>(Vector(m.bits ? a.v : b.v));
  else
    return {select(m.lo, a.lo, b.lo), select(m.hi, a.hi, b.hi)};
}

template <int W>
MEMETIK_INLINE LaneOf<W> sqrt(const LaneOf<W> &x) {
  if constexpr (W == kNative) {
    Vector r;
    for (int i = 0; i < kNative; ++i) r[i] = __builtin_sqrt(x.v[i]);
    return r;
  } else {
    return {sqrt(x.lo), sqrt(x.hi)};
  }
}

// Each bit of the result says whether that lane of the mask is set.
template <int W>
MEMETIK_INLINE unsigned bits(const MaskOf<W> &m) {
  if constexpr (W == kNative) {
    unsigned r = 0;
    for (int i = 0; i < kNative; ++i) r |= unsigned(m.bits[i] & 1) << i;
    return r;
  } else {
    return bits(m.lo) | bits(m.hi) << (W / 2);
  }
}

template <int W>
MEMETIK_INLINE bool any(const MaskOf<W> &m) {
  if constexpr (W == kNative) {
    int64_t r = 0;
    for (int i = 0; i < kNative; ++i) r |= m.bits[i];
    return r != 0;
  } else {
    return any(m.lo | m.hi);
  }
}

MEMETIK_INLINE Mask none() { return Lane(0.0) < Lane(0.0); }
MEMETIK_INLINE Lane max(const Lane &a, const Lane &b) { return select(a > b, a, b); }
MEMETIK_INLINE Lane min(const Lane &a, const Lane &b) { return select(a < b, a, b); }
MEMETIK_INLINE Lane abs(const Lane &a) { return max(a, -a); }
MEMETIK_INLINE Lane clamp(const Lane &x, const Lane &lo, const Lane &hi) { return min(max(x, lo), hi); }

// One lane as a plain number; lanes lie in memory one after the other.
MEMETIK_INLINE double get(const Lane &x, int lane) { return reinterpret_cast<const double *>(&x)[lane]; }
MEMETIK_INLINE void set(Lane &x, int lane, double value) { reinterpret_cast<double *>(&x)[lane] = value; }

MEMETIK_INLINE Lane round(const Lane &x) {
  // Adding and taking away 1.5 * 2^52 rounds to the nearest integer for |x| < 2^51.
  const Lane magic(6755399441055744.0);
  return (x + magic) - magic;
}

// sin and cos for |x| up to 1e5 with an absolute error near 1e-16; larger arguments go through the library.
MEMETIK_INLINE void sincos(const Lane &x, Lane &s, Lane &c) {
  const Lane n = round(x * Lane(0.63661977236758134308));
  // Cody-Waite: pi/2 in three parts, so that n times each of the first two is exact.
  Lane r = x - n * Lane(1.57079632673412561417e+00);
  r = r - n * Lane(6.07710050630396597660e-11);
  r = r - n * Lane(2.02226624879595063154e-21);
  const Lane z = r * r;
  Lane p = Lane(1.58962301576546568060e-10);
  p = p * z + Lane(-2.50507477628578072866e-08);
  p = p * z + Lane(2.75573136213857245213e-06);
  p = p * z + Lane(-1.98412698295895385996e-04);
  p = p * z + Lane(8.33333333332211858878e-03);
  p = p * z + Lane(-1.66666666666666307295e-01);
  const Lane sine = r + r * z * p;
  Lane k = Lane(-1.13585365213876817300e-11);
  k = k * z + Lane(2.08757008419747316778e-09);
  k = k * z + Lane(-2.75573141792967388112e-07);
  k = k * z + Lane(2.48015872888517045348e-05);
  k = k * z + Lane(-1.38888888888730564116e-03);
  k = k * z + Lane(4.16666666666665929218e-02);
  const Lane cosine = Lane(1.0) - Lane(0.5) * z + z * z * k;
  // Quadrant: n mod 4 in floating point.
  const Lane quarter = n - Lane(4.0) * round(n * Lane(0.25));  // in -2..2
  const Mask odd = (abs(quarter) > Lane(0.5)) & (abs(quarter) < Lane(1.5));
  const Mask half = abs(quarter) > Lane(1.5);
  const Mask minus_one = (quarter < Lane(-0.5)) & (quarter > Lane(-1.5));
  const Mask plus_one = (quarter > Lane(0.5)) & (quarter < Lane(1.5));
  const Lane a = select(odd, cosine, sine);
  const Lane b = select(odd, sine, cosine);
  s = select(half | minus_one, -a, a);
  c = select(half | plus_one, -b, b);
  if (any(abs(x) > Lane(1e5))) {
    for (int i = 0; i < kWidth; ++i) {
      const double value = get(x, i);
      if (value > 1e5 || value < -1e5) {
        set(s, i, __builtin_sin(value));
        set(c, i, __builtin_cos(value));
      }
    }
  }
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
