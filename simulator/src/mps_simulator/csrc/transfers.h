// Copies to the device that a Mac may not have done yet.
#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace mps_simulator {

// On a Mac, a copy with non_blocking=True from memory that is not pinned reads its source some time before the next
// synchronisation. Here it is done at once; this remembers what the source was, and tells when a Mac could have read
// something else. Thread safe. It keeps no memory alive.
class Transfers {
 public:
  // Whether the copy is one that a Mac does later.
  static bool is_late(const at::Tensor& to, const at::Tensor& from, bool non_blocking);

  // Remembers a copy that was just done. `place` is where the program asked for it.
  void add(const at::Tensor& to, const at::Tensor& from, std::string place);

  // What is wrong with reading this tensor of the device now, if anything.
  std::optional<std::string> read(const at::Tensor& tensor);

  // Every copy so far is done. Returns what a Mac could have got wrong, if anything.
  std::optional<std::string> finish();

  // The same up to the copies that were remembered when the event was recorded.
  void mark(uintptr_t event);
  std::optional<std::string> finish(uintptr_t event);

  bool none() const {
    return count_.load(std::memory_order_relaxed) == 0;
  }

 private:
  struct Late {
    uint64_t number;
    c10::weak_intrusive_ptr<c10::StorageImpl> to;
    c10::weak_intrusive_ptr<c10::StorageImpl> from;
    const void* data; // of the source
    at::Tensor shape; // like the source, without memory
    std::vector<int64_t> to_sizes;
    int64_t to_offset;
    uint64_t content;
    std::string place;
  };
  enum class Source : uint8_t { Intact, Changed, Freed };

  static uint64_t content(const c10::Storage& storage, const at::Tensor& like);
  static Source state_of(const Late& late);
  static std::string describe(const Late& late, const char* wrong);
  template <class Wanted>
  std::vector<Late> take(Wanted wanted);
  std::optional<std::string> finish_up_to(uint64_t number);

  mutable std::mutex mutex_;
  std::vector<Late> late_;
  std::map<uintptr_t, uint64_t> marks_;
  uint64_t last_ = 0;
  std::atomic<size_t> count_{0};
};

// A number that differs, but for chance, when the bytes differ.
uint64_t hash_bytes(const void* data, size_t bytes);

} // namespace mps_simulator
