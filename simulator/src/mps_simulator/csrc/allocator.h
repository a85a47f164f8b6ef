// Memory of the simulated device: host memory, counted as Metal's heaps would be.
#pragma once

#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/Storage.h>

#include <list>
#include <mutex>

namespace mps_simulator {

// What torch asks of Metal, and cuts its buffers out of. A heap stays with the driver after its last buffer is gone,
// until the cache is emptied.
struct Heap {
  size_t size;
  size_t used;
  bool small; // of the pool for small buffers
};

// Bytes in use, the limit on them, and both of torch's out-of-memory errors. Thread safe.
class Accounts {
 public:
  // Raises the texts that a Mac raises when a variable for the watermarks has a bad value.
  Accounts();

  // Counts a new buffer. Raises RuntimeError, not torch.OutOfMemoryError, when it does not fit: so does torch there.
  Heap* take(size_t bytes);
  void give(size_t bytes, Heap* heap) noexcept;
  void empty_cache();
  void set_high_watermark(double ratio);

  size_t current() const;
  size_t driver() const;
  // The most that was ever in use at once. The program cannot reset it.
  size_t highest() const;
  c10::CachingDeviceAllocator::DeviceStats stats() const;
  void reset_peak();
  void reset_accumulated();

 private:
  size_t limit() const;
  size_t reserved() const;
  Heap* find(size_t bytes);
  Heap* make(size_t bytes);
  void drop_cache();
  [[noreturn]] void refuse(size_t bytes);

  mutable std::mutex mutex_;
  std::list<Heap> heaps_;
  c10::CachingDeviceAllocator::DeviceStats stats_;
  double high_watermark_;
  int64_t highest_ = 0;
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
