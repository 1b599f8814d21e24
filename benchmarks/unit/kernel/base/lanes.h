// Lanes: W numbers that advance together. A kernel is written once over Lane and compiled for each instruction set.
//
// Lane<W> is a binary tree of native vectors: Lane<8> is one 512-bit register, two 256-bit or four 128-bit ones.
// (A single over-wide vector type would be spilled to memory by the compiler; a pair of halves is not.)
#pragma once

#include <cstdint>
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace memetik {
inline namespace MEMETIK_ARCH {

#if defined(__AVX512F__) && defined(__AVX512DQ__)
constexpr int kNative = 8;
#elif defined(__AVX__)
constexpr int kNative = 4;
#else
constexpr int kNative = 2;
#endif
constexpr int kWidth = 8;

using Vector = double __attribute__((vector_size(kNative * 8)));
using Bits = int64_t __attribute__((vector_size(kNative * 8)));
using UnsignedBits = uint64_t __attribute__((vector_size(kNative * 8)));

#if defined(__SANITIZE_ADDRESS__)
#define MEMETIK_INLINE inline  // sanitized code is large: forcing it all into one function takes the compiler minutes
#else
#define MEMETIK_INLINE inline __attribute__((always_inline))
#endif
// Before a short loop over registers, which must not become memory.
#if defined(__clang__)
#define MEMETIK_UNROLL _Pragma("unroll")
#else
#define MEMETIK_UNROLL _Pragma("GCC unroll 8")
#endif

template <int W>
struct MaskOf {
  MaskOf<W / 2> lo, hi;
  MEMETIK_INLINE MaskOf operator&(const MaskOf &o) const { return {lo & o.lo, hi & o.hi}; }
  MEMETIK_INLINE MaskOf operator|(const MaskOf &o) const { return {lo | o.lo, hi | o.hi}; }
  MEMETIK_INLINE MaskOf operator~() const { return {~lo, ~hi}; }
};

#if defined(__AVX512DQ__)
// Mask registers: one bit a lane.
template <>
struct MaskOf<kNative> {
  __mmask8 bits;
  MEMETIK_INLINE MaskOf operator&(const MaskOf &o) const { return {__mmask8(bits & o.bits)}; }
  MEMETIK_INLINE MaskOf operator|(const MaskOf &o) const { return {__mmask8(bits | o.bits)}; }
  MEMETIK_INLINE MaskOf operator~() const { return {__mmask8(~bits)}; }
};
#else
template <>
struct MaskOf<kNative> {
  Bits bits;
  MEMETIK_INLINE MaskOf operator&(const MaskOf &o) const { return {bits & o.bits}; }
  MEMETIK_INLINE MaskOf operator|(const MaskOf &o) const { return {bits | o.bits}; }
  MEMETIK_INLINE MaskOf operator~() const { return {~bits}; }
};
#endif

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
  MEMETIK_INLINE LaneOf(double x) : v(x - Vector{}) {}  // x - 0 is x for every x: one broadcast
  MEMETIK_INLINE LaneOf(Vector x) : v(x) {}
  MEMETIK_INLINE LaneOf operator+(const LaneOf &o) const { return v + o.v; }
  MEMETIK_INLINE LaneOf operator-(const LaneOf &o) const { return v - o.v; }
  MEMETIK_INLINE LaneOf operator*(const LaneOf &o) const { return v * o.v; }
  MEMETIK_INLINE LaneOf operator/(const LaneOf &o) const { return v / o.v; }
  MEMETIK_INLINE LaneOf operator-() const { return -v; }
#if defined(__AVX512DQ__)
  MEMETIK_INLINE MaskOf<kNative> operator<(const LaneOf &o) const { return {_mm512_cmp_pd_mask(v, o.v, _CMP_LT_OQ)}; }
  MEMETIK_INLINE MaskOf<kNative> operator>(const LaneOf &o) const { return {_mm512_cmp_pd_mask(v, o.v, _CMP_GT_OQ)}; }
  MEMETIK_INLINE MaskOf<kNative> operator<=(const LaneOf &o) const { return {_mm512_cmp_pd_mask(v, o.v, _CMP_LE_OQ)}; }
  MEMETIK_INLINE MaskOf<kNative> operator>=(const LaneOf &o) const { return {_mm512_cmp_pd_mask(v, o.v, _CMP_GE_OQ)}; }
#else
  MEMETIK_INLINE MaskOf<kNative> operator<(const LaneOf &o) const { return {v < o.v}; }
  MEMETIK_INLINE MaskOf<kNative> operator>(const LaneOf &o) const { return {v > o.v}; }
  MEMETIK_INLINE MaskOf<kNative> operator<=(const LaneOf &o) const { return {v <= o.v}; }
  MEMETIK_INLINE MaskOf<kNative> operator>=(const LaneOf &o) const { return {v >= o.v}; }
#endif
};

using Lane = LaneOf<kWidth>;
using Mask = MaskOf<kWidth>;

template <int W>
MEMETIK_INLINE LaneOf<W> &operator+=(LaneOf<W> &a, const LaneOf<W> &b) {
  return a = a + b;
}
template <int W>
MEMETIK_INLINE LaneOf<W> &operator-=(LaneOf<W> &a, const LaneOf<W> &b) {
  return a = a - b;
}
template <int W>
MEMETIK_INLINE LaneOf<W> &operator*=(LaneOf<W> &a, const LaneOf<W> &b) {
  return a = a * b;
}
template <int W>
MEMETIK_INLINE LaneOf<W> operator*(double a, const LaneOf<W> &b) {
  return LaneOf<W>(a) * b;
}
template <int W>
MEMETIK_INLINE LaneOf<W> operator+(double a, const LaneOf<W> &b) {
  return LaneOf<W>(a) + b;
}
template <int W>
MEMETIK_INLINE LaneOf<W> operator-(double a, const LaneOf<W> &b) {
  return LaneOf<W>(a) - b;
}
template <int W>
MEMETIK_INLINE LaneOf<W> operator/(double a, const LaneOf<W> &b) {
  return LaneOf<W>(a) / b;
}

template <int W>
MEMETIK_INLINE LaneOf<W> select(const MaskOf<W> &m, const LaneOf<W> &a, const LaneOf<W> &b) {
  if constexpr (W == kNative) {
#if defined(__AVX512DQ__)
    return LaneOf<W>(Vector(_mm512_mask_blend_pd(m.bits, b.v, a.v)));
#else
    return LaneOf<W>(Vector(m.bits ? a.v : b.v));
#endif
  } else {
    return {select(m.lo, a.lo, b.lo), select(m.hi, a.hi, b.hi)};
  }
}

template <int W>
MEMETIK_INLINE LaneOf<W> sqrt(const LaneOf<W> &x) {
  if constexpr (W == kNative) {
#if defined(__AVX512DQ__)
    return Vector(_mm512_maskz_sqrt_pd(0xff, x.v));
#elif defined(__AVX__)
    return Vector(_mm256_sqrt_pd(x.v));
#elif defined(__SSE2__)
    return Vector(_mm_sqrt_pd(x.v));
#else
    Vector r;
    for (int i = 0; i < kNative; ++i) r[i] = __builtin_sqrt(x.v[i]);
    return r;
#endif
  } else {
    return {sqrt(x.lo), sqrt(x.hi)};
  }
}

// Each bit of the result says whether that lane of the mask is set.
template <int W>
MEMETIK_INLINE unsigned bits(const MaskOf<W> &m) {
  if constexpr (W == kNative) {
#if defined(__AVX512DQ__)
    return m.bits;
#elif defined(__AVX__)
    return unsigned(_mm256_movemask_pd(__m256d(m.bits)));
#elif defined(__SSE2__)
    return unsigned(_mm_movemask_pd(__m128d(m.bits)));
#else
    unsigned r = 0;
    for (int i = 0; i < kNative; ++i) r |= unsigned(m.bits[i] & 1) << i;
    return r;
#endif
  } else {
    return bits(m.lo) | bits(m.hi) << (W / 2);
  }
}

template <int W>
MEMETIK_INLINE bool any(const MaskOf<W> &m) {
  if constexpr (W == kNative)
    return bits(m) != 0;
  else
    return any(m.lo | m.hi);
}

template <int W>
MEMETIK_INLINE LaneOf<W> abs(const LaneOf<W> &x) {
  if constexpr (W == kNative)
    return Vector(Bits(x.v) & INT64_MAX);
  else
    return {abs(x.lo), abs(x.hi)};
}

MEMETIK_INLINE Mask none() { return Lane(0.0) < Lane(0.0); }

// a > b ? a : b and a < b ? a : b, as the instructions have it: b where one of the two is NaN.
template <int W>
MEMETIK_INLINE LaneOf<W> larger(const LaneOf<W> &a, const LaneOf<W> &b) {
  if constexpr (W == kNative) {
#if defined(__AVX512DQ__)
    return Vector(_mm512_maskz_max_pd(0xff, a.v, b.v));
#elif defined(__AVX__)
    return Vector(_mm256_max_pd(a.v, b.v));
#elif defined(__SSE2__)
    return Vector(_mm_max_pd(a.v, b.v));
#else
    return select(a > b, a, b);
#endif
  } else {
    return {larger(a.lo, b.lo), larger(a.hi, b.hi)};
  }
}

template <int W>
MEMETIK_INLINE LaneOf<W> smaller(const LaneOf<W> &a, const LaneOf<W> &b) {
  if constexpr (W == kNative) {
#if defined(__AVX512DQ__)
    return Vector(_mm512_maskz_min_pd(0xff, a.v, b.v));
#elif defined(__AVX__)
    return Vector(_mm256_min_pd(a.v, b.v));
#elif defined(__SSE2__)
    return Vector(_mm_min_pd(a.v, b.v));
#else
    return select(a < b, a, b);
#endif
  } else {
    return {smaller(a.lo, b.lo), smaller(a.hi, b.hi)};
  }
}

MEMETIK_INLINE Lane max(const Lane &a, const Lane &b) { return larger(a, b); }
MEMETIK_INLINE Lane min(const Lane &a, const Lane &b) { return smaller(a, b); }

MEMETIK_INLINE Lane clamp(const Lane &x, const Lane &lo, const Lane &hi) { return min(max(x, lo), hi); }

// One lane as a plain number; lanes lie in memory one after the other.
template <int W>
MEMETIK_INLINE double get(const LaneOf<W> &x, int lane) {
  return reinterpret_cast<const double *>(&x)[lane];
}
template <int W>
MEMETIK_INLINE void set(LaneOf<W> &x, int lane, double value) {
  reinterpret_cast<double *>(&x)[lane] = value;
}

// The W numbers of a lane that start at group * W.
template <int W>
MEMETIK_INLINE LaneOf<W> &part(Lane &x, int group) {
  return reinterpret_cast<LaneOf<W> *>(&x)[group];
}
template <int W>
MEMETIK_INLINE const LaneOf<W> &part(const Lane &x, int group) {
  return reinterpret_cast<const LaneOf<W> *>(&x)[group];
}

MEMETIK_INLINE Lane round(const Lane &x) {
  // Adding and taking away 1.5 * 2^52 rounds to the nearest integer for |x| < 2^51.
  const Lane magic(6755399441055744.0);
  return (x + magic) - magic;
}

// Turns the sine and cosine of the remainder r = x - n pi/2 into those of x. The lowest bits of `shifted` are those of
// n: an odd n swaps the two, its second bit (that of n + 1) changes the sign of the sine (the cosine).
template <int W>
MEMETIK_INLINE void turn_quarters(const LaneOf<W> &shifted, LaneOf<W> &s, LaneOf<W> &c) {
  if constexpr (W == kNative) {
    constexpr uint64_t sign = uint64_t(1) << 63;
    const UnsignedBits n = UnsignedBits(shifted.v), sine = UnsignedBits(s.v), cosine = UnsignedBits(c.v);
    const UnsignedBits signs = n << 62;
#if defined(__AVX512DQ__)
    const __mmask8 odd = _mm512_test_epi64_mask(__m512i(n), _mm512_set1_epi64(1));
    const UnsignedBits turned_sine = UnsignedBits(_mm512_mask_blend_epi64(odd, __m512i(sine), __m512i(cosine)));
    const UnsignedBits turned_cosine = UnsignedBits(_mm512_mask_blend_epi64(odd, __m512i(cosine), __m512i(sine)));
#else
    const UnsignedBits exchange = (sine ^ cosine) & -(n & 1);
    const UnsignedBits turned_sine = sine ^ exchange, turned_cosine = cosine ^ exchange;
#endif
    s.v = Vector(turned_sine ^ (signs & sign));
    c.v = Vector(turned_cosine ^ ((signs + sign / 2) & sign));
  } else {
    turn_quarters(shifted.lo, s.lo, c.lo);
    turn_quarters(shifted.hi, s.hi, c.hi);
  }
}

#if defined(__FMA__)
// x - a b, rounded once.
template <int W>
MEMETIK_INLINE LaneOf<W> minus_product(const LaneOf<W> &x, const LaneOf<W> &a, double b) {
  if constexpr (W == kNative) {
#if defined(__AVX512DQ__)
    return Vector(_mm512_fnmadd_pd(a.v, _mm512_set1_pd(b), x.v));
#else
    return Vector(_mm256_fnmadd_pd(a.v, _mm256_set1_pd(b), x.v));
#endif
  } else {
    return {minus_product(x.lo, a.lo, b), minus_product(x.hi, a.hi, b)};
  }
}
#endif

template <int W>
__attribute__((noinline, cold)) void sincos_of_large(const LaneOf<W> &x, LaneOf<W> &s, LaneOf<W> &c) {
  for (int i = 0; i < W; ++i) {
    const double value = get(x, i);
    if (value > 1e5 || value < -1e5) {
      set(s, i, __builtin_sin(value));
      set(c, i, __builtin_cos(value));
    }
  }
}

// sin and cos for |x| up to 1e5 with an absolute error near 1e-16; larger arguments go through the library.
template <int W>
MEMETIK_INLINE void sincos(const LaneOf<W> &x, LaneOf<W> &s, LaneOf<W> &c) {
  using Lane = LaneOf<W>;
  const Lane magic(6755399441055744.0);  // 1.5 * 2^52 as in round()
  const Lane shifted = x * Lane(0.63661977236758134308) + magic;
  const Lane n = shifted - magic;
#if defined(__FMA__)
  // Cody-Waite: pi/2 in two parts; the products are not rounded.
  const Lane r = minus_product(minus_product(x, n, 1.57079632679489655800e+00), n, 6.12323399573676603587e-17);
#else
  // Cody-Waite: pi/2 in three parts, so that n times each of the first two is exact.
  Lane r = x - n * Lane(1.57079632673412561417e+00);
  r = r - n * Lane(6.07710050630396597660e-11);
  r = r - n * Lane(2.02226624879595063154e-21);
#endif
  const Lane z = r * r;
  Lane p = Lane(1.58962301576546568060e-10);
  p = p * z + Lane(-2.50507477628578072866e-08);
  p = p * z + Lane(2.75573136213857245213e-06);
  p = p * z + Lane(-1.98412698295895385996e-04);
  p = p * z + Lane(8.33333333332211858878e-03);
  p = p * z + Lane(-1.66666666666666307295e-01);
  s = r + r * z * p;
  Lane k = Lane(-1.13585365213876817300e-11);
  k = k * z + Lane(2.08757008419747316778e-09);
  k = k * z + Lane(-2.75573141792967388112e-07);
  k = k * z + Lane(2.48015872888517045348e-05);
  k = k * z + Lane(-1.38888888888730564116e-03);
  k = k * z + Lane(4.16666666666665929218e-02);
  c = Lane(1.0) - Lane(0.5) * z + z * z * k;
  turn_quarters(shifted, s, c);
  if (__builtin_expect(any(abs(x) > Lane(1e5)), false)) {
    Lane sine = s, cosine = c;  // copies, so that s and c themselves can stay in registers
    sincos_of_large(x, sine, cosine);
    s = sine;
    c = cosine;
  }
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
