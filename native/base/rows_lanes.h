// Between arrays of rows, one row per configuration, and lanes: kWidth rows make a tile. Included by kernels only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/lanes.h"

namespace memetik {
inline namespace MEMETIK_ARCH {

using std::ptrdiff_t;

constexpr int kLine = 64;  // bytes of a cache line

// Hands out parts of a scratch block; with no block it only adds up how many bytes are needed.
class TileScratch {
 public:
  explicit TileScratch(void *block) : block_(static_cast<char *>(block)) {}

  template <class T>
  T *take(size_t count) {
    const size_t start = used_;
    used_ += (count * sizeof(T) + kLine - 1) / kLine * kLine;
    return block_ == nullptr ? nullptr : reinterpret_cast<T *>(block_ + start);
  }
  bool counting() const { return block_ == nullptr; }
  size_t used() const { return used_; }

 private:
  char *block_;
  size_t used_ = 0;
};

// One step of a transposition by halving: exchanges the entries whose positions differ in the bit `Distance`.
template <int Distance, int... I>
MEMETIK_INLINE void exchange(Vector &a, Vector &b, std::integer_sequence<int, I...>) {
  const Vector first = __builtin_shufflevector(a, b, ((I & Distance) ? (I ^ Distance) + kNative : I)...);
  b = __builtin_shufflevector(a, b, ((I & Distance) ? I + kNative : (I ^ Distance))...);
  a = first;
}

template <int Distance>
MEMETIK_INLINE void exchange_all(Vector (&m)[kNative]) {
  if constexpr (Distance > 0) {
    MEMETIK_UNROLL
    for (int i = 0; i < kNative; ++i)
      if ((i & Distance) == 0) exchange<Distance>(m[i], m[i + Distance], std::make_integer_sequence<int, kNative>());
    exchange_all<Distance / 2>(m);
  }
}

// typedefs, as clang takes an alignment that is less than natural from these alone.
typedef double Unaligned __attribute__((vector_size(kNative * 8), aligned(8), may_alias));
typedef double UnalignedHalf __attribute__((vector_size(kNative * 4), aligned(8), may_alias));
MEMETIK_INLINE Vector load(const double *p) { return *reinterpret_cast<const Unaligned *>(p); }
MEMETIK_INLINE void store(double *p, const Vector &v) { *reinterpret_cast<Unaligned *>(p) = v; }

template <int... I>
MEMETIK_INLINE Vector load_halves(const double *low, const double *high, std::integer_sequence<int, I...>) {
  const UnalignedHalf a = *reinterpret_cast<const UnalignedHalf *>(low);
  const UnalignedHalf b = *reinterpret_cast<const UnalignedHalf *>(high);
  return __builtin_shufflevector(a, b, I...);
}

// Reads kNative rows of kNative numbers, row(i) being where row i starts, and turns them into columns.
template <class Row>
MEMETIK_INLINE void load_transposed(Row row, Vector (&m)[kNative]) {
  constexpr int half = kNative / 2;
  if constexpr (half > 1) {  // loads of halves are the first step: they spare the one port that shuffles
    constexpr std::make_integer_sequence<int, kNative> all;
    MEMETIK_UNROLL
    for (int i = 0; i < half; ++i) {
      m[i] = load_halves(row(i), row(i + half), all);
      m[i + half] = load_halves(row(i) + half, row(i + half) + half, all);
    }
    exchange_all<half / 2>(m);
  } else {
    MEMETIK_UNROLL
    for (int i = 0; i < kNative; ++i) m[i] = load(row(i));
    exchange_all<half>(m);
  }
}

// Calls block(start) for blocks of kNative columns that cover a row; the last one overlaps its neighbour.
template <class Block>
MEMETIK_INLINE void for_blocks(int length, Block block) {
  for (int start = 0; start < length; start += kNative) block(start + kNative <= length ? start : length - kNative);
}

// Rows of an array (count, length) as lanes; rows past the end repeat the last one. Notices numbers that are not
// finite.
class RowReader {
 public:
  RowReader(const double *rows, ptrdiff_t count, int length) : rows_(rows), count_(count), length_(length) {}

  // The tile that starts at row n, into lanes[0..length).
  MEMETIK_INLINE void read(ptrdiff_t n, Lane *lanes) {
    // Short rows are read past their end, into the rows behind the tile.
    const ptrdiff_t slack = length_ < kNative ? kNative : 0;
    const double *rows = rows_ + n * length_;
    if ((n + kWidth) * length_ + slack > count_ * length_)
      read_last(n, lanes);
    else if (length_ < kNative)
      read_block(rows, lanes, length_);
    else
      for_blocks(length_, [&](int start) { read_block(rows + start, lanes + start, kNative); });
    for (int i = 0; i < length_; ++i) zero_ = zero_ + lanes[i] * Lane(0.0);
  }

  bool all_finite() const { return !any(~(zero_ >= Lane(0.0))); }

 private:
  MEMETIK_INLINE void read_block(const double *rows, Lane *lanes, int columns) const {
    for (int group = 0; group < kWidth / kNative; ++group) {
      Vector m[kNative];
      load_transposed([&](int i) { return rows + (group * kNative + i) * ptrdiff_t(length_); }, m);
      MEMETIK_UNROLL
      for (int i = 0; i < kNative; ++i)
        if (i < columns) part<kNative>(lanes[i], group).v = m[i];
    }
  }

  void read_last(ptrdiff_t n, Lane *lanes) const {
    for (int lane = 0; lane < kWidth; ++lane) {
      const double *row = rows_ + (n + lane < count_ ? n + lane : count_ - 1) * length_;
      for (int i = 0; i < length_; ++i) set(lanes[i], lane, row[i]);
    }
  }

  const double *rows_;
  ptrdiff_t count_;
  int length_;
  Lane zero_ = Lane(0.0);  // NaN once something infinite or NaN was read
};

// Lanes as rows of an array (count, length), written in ascending order. A tile is gathered in a staging area and
// leaves it in whole cache lines when the next one comes: by then its stores have settled. Arrays larger than the
// caches are written past them, which spares reading each line before it is overwritten. finish() writes what is left.
class RowWriter {
 public:
  RowWriter(TileScratch &memory, double *rows, int length, bool past_caches)
      : rows_(rows),
        length_(length),
        past_caches_(past_caches),
        phase_(int(reinterpret_cast<uintptr_t>(rows) % kLine / sizeof(double))) {
    for (double *&area : staging_) area = memory.take<double>(size_t(kWidth) * length + kPerLine);
  }

  // entries[0..length) become rows n .. n + valid.
  MEMETIK_INLINE void write(ptrdiff_t n, ptrdiff_t valid, const Lane *entries) {
    flush();
    double *target = rows_ + n * length_;
    double *area = staging_[0] + kPerLine;
    transpose_to(entries, area);
    if (valid >= kWidth) {
      pending_ = target;
      return;
    }
    finish();
    std::memcpy(target, area, size_t(valid) * length_ * sizeof(double));
  }

  void finish() {
    flush();
    if (tail_ != nullptr) std::memcpy(tail_, staging_[0] + kPerLine - phase_, phase_ * sizeof(double));
    tail_ = nullptr;
  }

 private:
  static constexpr int kPerLine = kLine / int(sizeof(double));

  MEMETIK_INLINE void transpose_to(const Lane *entries, double *target) const {
    if (length_ < kNative) {
      for (int lane = 0; lane < kWidth; ++lane)
        for (int i = 0; i < length_; ++i) target[lane * length_ + i] = get(entries[i], lane);
      return;
    }
    for_blocks(length_, [&](int start) {
      for (int group = 0; group < kWidth / kNative; ++group) {
        Vector m[kNative];
        const double *numbers = reinterpret_cast<const double *>(entries + start) + group * kNative;
        load_transposed([&](int i) { return numbers + i * kWidth; }, m);
        MEMETIK_UNROLL
        for (int i = 0; i < kNative; ++i) store(target + (group * kNative + i) * ptrdiff_t(length_) + start, m[i]);
      }
    });
  }

  // Writes the tile in the staging area. A tile is `length` lines long, but the target's lines start `phase` numbers
  // before it: those are the last of the tile before, kept in front of the staging area.
  MEMETIK_INLINE void flush() {
    if (pending_ == nullptr) return;
    const double *source = staging_[0] + kPerLine - phase_;
    double *target = pending_ - phase_;
    int line = 0;
    if (tail_ == nullptr && phase_ > 0) {  // nothing comes before: the first line is not ours alone
      if (length_ > 0) std::memcpy(pending_, source + phase_, (kPerLine - phase_) * sizeof(double));
      line = 1;
    }
    if (past_caches_)
      for (; line < length_; ++line) stream_line(target + line * kPerLine, source + line * kPerLine);
    else
      for (; line < length_; ++line) copy_line(target + line * kPerLine, source + line * kPerLine);
    tail_ = target + ptrdiff_t(length_) * kPerLine;
    std::memcpy(staging_[1], staging_[0] + ptrdiff_t(length_) * kPerLine, kLine);
    std::swap(staging_[0], staging_[1]);
    pending_ = nullptr;
  }

  static MEMETIK_INLINE void copy_line(double *target, const double *source) {
    MEMETIK_UNROLL
    for (int i = 0; i < kPerLine; i += kNative) store(target + i, load(source + i));
  }

  static MEMETIK_INLINE void stream_line(double *target, const double *source) {
#if defined(__AVX512F__)
    _mm512_stream_pd(target, _mm512_loadu_pd(source));
#elif defined(__AVX__)
    for (int i = 0; i < kPerLine; i += 4) _mm256_stream_pd(target + i, _mm256_loadu_pd(source + i));
#elif defined(__SSE2__)
    for (int i = 0; i < kPerLine; i += 2) _mm_stream_pd(target + i, _mm_loadu_pd(source + i));
#else
    copy_line(target, source);
#endif
  }

  double *rows_;
  int length_;
  bool past_caches_;
  int phase_;                  // numbers between the start of a line and the start of a tile in it
  double *staging_[2];         // this tile and the next one; a line before the tile itself
  double *pending_ = nullptr;  // where the tile in staging_[0] belongs
  double *tail_ = nullptr;     // where the numbers before the tile in staging_[0] belong
};

// Streaming stores are weakly ordered: this makes them visible before the thread says it is done.
MEMETIK_INLINE void finish_stores() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace MEMETIK_ARCH
}  // namespace memetik
