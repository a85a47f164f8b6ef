// Memory of the simulated device: host memory, counted as Metal's heaps would be.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Storage.h>

#include <array>
#include <mutex>

namespace mps_simulator {

// How torch sizes Metal's heaps. A buffer is cut out of a heap of its tier, and a heap stays with the
// driver after its last buffer is gone, until the cache is emptied.
enum class Tier : uint8_t { Small, Large, ExtraLarge, Oversize };

// Bytes in use, the limit on them, and both of torch's out-of-memory errors. Thread safe.
class Accounts {
 public:
  // Raises the texts that a Mac raises when a variable for the watermarks has a bad value.
  Accounts();

  // Counts a new buffer. Raises RuntimeError, not torch.OutOfMemoryError, when it does not fit: so does torch there.
  Tier take(size_t bytes);
  void give(size_t bytes, Tier tier) noexcept;
  void empty_cache();
  void set_high_watermark(double ratio);

  size_t current() const;
  size_t driver() const;
  c10::CachingDeviceAllocator::DeviceStats stats() const;
  void reset_peak();
  void reset_accumulated();

 private:
  struct Pool {
    size_t used = 0;
    size_t reserved = 0;
  };

  Tier tier_of(size_t bytes) const;
  size_t limit() const;
  size_t reserved() const;
  void reserve(Pool& pool, size_t bytes);
  void release(Pool& pool, size_t keep);
  void drop_cache();
  [[noreturn]] void refuse(size_t bytes);

  mutable std::mutex mutex_;
  std::array<Pool, 4> pools_;
  c10::CachingDeviceAllocator::DeviceStats stats_;
  double high_watermark_;
};

// The one of this process. The first use raises when a variable for the watermarks has a bad value.
Accounts& accounts();

// The allocator of the device type; its storages live on mps:0.
c10::DeviceAllocator* device_allocator();

// Host memory that counts as pinned: a CPU tensor that the device can read.
c10::Allocator* pinned_allocator();
bool is_pinned(const void* data);

// A storage of the device over the memory of a CPU storage, which it keeps alive. The memory is counted from now on.
c10::DataPtr adopt(const c10::Storage& host);

} // namespace mps_simulator
