// Memory aligned for the kernels, grown when more is needed and kept between uses.
#pragma once

#include <cstddef>
#include <new>

namespace memetik {

class AlignedMemory {
 public:
  AlignedMemory() = default;
  AlignedMemory(const AlignedMemory &) = delete;
  AlignedMemory &operator=(const AlignedMemory &) = delete;
  ~AlignedMemory() { ::operator delete(data_, kAlignment); }

  char *get(std::size_t bytes) {
    if (bytes > size_) {
      ::operator delete(data_, kAlignment);
      data_ = nullptr, size_ = 0;
      data_ = static_cast<char *>(::operator new(bytes, kAlignment));
      size_ = bytes;
    }
    return data_;
  }
  char *data() const { return data_; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  char *data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace memetik
