#include "allocator.h"

#include "machine.h"
#include "observe.h"

#include <c10/core/CPUAllocator.h>

#include <algorithm>
#include <cstdlib>
#include <iomanip>
#include <limits>
#include <memory>
#include <sstream>
#include <unordered_set>

namespace mps_simulator {

namespace {

constexpr size_t MiB = size_t(1) << 20;
constexpr size_t kAlignment = 256;
constexpr size_t kLargestSmall = 1 * MiB;

constexpr double kHighWatermark = 1.7;
constexpr double kHighestWatermark = 2.0;
constexpr double kLowWatermark = 1.4;

size_t round_up(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

std::string format_size(size_t bytes) {
  constexpr std::array<const char*, 4> units = {" bytes", " KB", " MB", " GB"};
  auto amount = static_cast<double>(bytes);
  size_t unit = 0;
  for (; amount > 1024 && unit + 1 < units.size(); ++unit) {
    amount /= 1024;
  }
  std::ostringstream text;
  text << std::fixed << std::setprecision(unit == 0 ? 0 : 2) << amount << units[unit];
  return text.str();
}

// How large a heap torch makes for a buffer, when `room` bytes are left under the limit.
size_t heap_size(size_t buffer, size_t room) {
  constexpr size_t small = 8 * MiB;
  constexpr size_t large = 32 * MiB;
  constexpr size_t extra_large = 1024 * MiB;
  if (buffer <= kLargestSmall) {
    return small;
  }
  if (buffer < 10 * MiB) {
    return large;
  }
  if (buffer < extra_large / 2 && extra_large <= room) {
    return extra_large;
  }
  return round_up(buffer, 2 * MiB);
}

double ratio_from(const char* variable, double otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtod(text, nullptr) : otherwise;
}

void check_high_watermark(double ratio) {
  TORCH_CHECK(ratio >= 0.0 && ratio <= kHighestWatermark, "invalid high watermark ratio ", ratio);
}

void check_low_watermark(double ratio, double high) {
  const double most = high == 0.0 ? kHighestWatermark : high;
  TORCH_CHECK(ratio >= 0.0 && ratio <= most, "invalid low watermark ratio ", ratio);
}

c10::CachingAllocator::Stat& total(c10::CachingAllocator::StatArray& stats) {
  return stats[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)];
}

template <class F>
void each_stat(c10::CachingDeviceAllocator::DeviceStats& stats, F change) {
  for (auto* array :
       {&stats.allocation, &stats.active, &stats.allocated_bytes, &stats.reserved_bytes, &stats.active_bytes, &stats.requested_bytes}) {
    change(total(*array));
  }
}

} // namespace

Accounts::Accounts() : high_watermark_(ratio_from("PYTORCH_MPS_HIGH_WATERMARK_RATIO", kHighWatermark)) {
  check_high_watermark(high_watermark_);
  check_low_watermark(ratio_from("PYTORCH_MPS_LOW_WATERMARK_RATIO", kLowWatermark), high_watermark_);
}

void Accounts::set_high_watermark(double ratio) {
  check_high_watermark(ratio);
  const std::lock_guard<std::mutex> lock(mutex_);
  high_watermark_ = ratio;
}

size_t Accounts::limit() const {
  if (high_watermark_ == 0.0) {
    return std::numeric_limits<size_t>::max();
  }
  return static_cast<size_t>(high_watermark_ * static_cast<double>(machine().recommended_memory));
}

// The fullest heap that has room; where in a heap a buffer lies, and so whether it is in pieces, is not followed.
Heap* Accounts::find(size_t bytes) {
  const bool small = bytes <= kLargestSmall;
  Heap* best = nullptr;
  for (Heap& heap : heaps_) {
    const bool fits = heap.small == small && heap.size - heap.used >= bytes;
    if (fits && (best == nullptr || heap.size - heap.used < best->size - best->used)) {
      best = &heap;
    }
  }
  return best;
}

// A new heap, or null when the limit does not allow it.
Heap* Accounts::make(size_t bytes) {
  const size_t taken = reserved();
  if (taken + bytes > limit()) {
    return nullptr;
  }
  const size_t size = heap_size(bytes, limit() - taken);
  heaps_.push_back({size, 0, bytes <= kLargestSmall});
  total(stats_.reserved_bytes).increase(size);
  stats_.num_device_alloc += 1;
  return &heaps_.back();
}

Heap* Accounts::take(size_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (bytes >= machine().max_buffer) {
    ++memory_refusals;
    TORCH_CHECK(false, "Invalid buffer size: ", format_size(bytes));
  }
  const size_t rounded = round_up(bytes, kAlignment);
  Heap* heap = find(rounded);
  if (heap == nullptr) {
    heap = make(rounded);
  }
  if (heap == nullptr) {
    drop_cache();
    heap = make(rounded);
  }
  if (heap == nullptr) {
    refuse(bytes);
  }
  heap->used += rounded;
  total(stats_.allocation).increase(1);
  total(stats_.active).increase(1);
  total(stats_.requested_bytes).increase(bytes);
  total(stats_.allocated_bytes).increase(rounded);
  total(stats_.active_bytes).increase(rounded);
  highest_ = std::max(highest_, total(stats_.allocated_bytes).current);
  return heap;
}

void Accounts::give(size_t bytes, Heap* heap) noexcept {
  const std::lock_guard<std::mutex> lock(mutex_);
  const size_t rounded = round_up(bytes, kAlignment);
  heap->used -= rounded;
  total(stats_.allocation).decrease(1);
  total(stats_.active).decrease(1);
  total(stats_.requested_bytes).decrease(bytes);
  total(stats_.allocated_bytes).decrease(rounded);
  total(stats_.active_bytes).decrease(rounded);
}

void Accounts::drop_cache() {
  for (auto heap = heaps_.begin(); heap != heaps_.end();) {
    if (heap->used == 0) {
      total(stats_.reserved_bytes).decrease(heap->size);
      stats_.num_device_free += 1;
      heap = heaps_.erase(heap);
    } else {
      ++heap;
    }
  }
}

void Accounts::empty_cache() {
  const std::lock_guard<std::mutex> lock(mutex_);
  drop_cache();
}

void Accounts::refuse(size_t bytes) {
  stats_.num_ooms += 1;
  ++memory_refusals;
  TORCH_CHECK(
      false,
      "MPS backend out of memory (MPS allocated: ",
      format_size(reserved()),
      ", other allocations: ",
      format_size(0),
      ", max allowed: ",
      format_size(limit()),
      "). Tried to allocate ",
      format_size(bytes),
      " on shared pool. Use PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 to disable upper limit for memory allocations "
      "(may cause system failure).");
}

size_t Accounts::reserved() const {
  size_t sum = 0;
  for (const Heap& heap : heaps_) {
    sum += heap.size;
  }
  return sum;
}

size_t Accounts::current() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  size_t sum = 0;
  for (const Heap& heap : heaps_) {
    sum += heap.used;
  }
  return sum;
}

size_t Accounts::highest() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<size_t>(highest_);
}

size_t Accounts::driver() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return reserved();
}

c10::CachingDeviceAllocator::DeviceStats Accounts::stats() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return stats_;
}

void Accounts::reset_peak() {
  const std::lock_guard<std::mutex> lock(mutex_);
  each_stat(stats_, [](auto& stat) { stat.reset_peak(); });
}

void Accounts::reset_accumulated() {
  const std::lock_guard<std::mutex> lock(mutex_);
  each_stat(stats_, [](auto& stat) { stat.reset_accumulated(); });
  stats_.num_ooms = 0;
}

Accounts& accounts() {
  // Never destroyed: tensors that outlive the library's static objects still give their memory back.
  static Accounts* instance = new Accounts();
  return *instance;
}

namespace {

// What a pointer of the device stands for. It counts for as long as it exists.
struct Block {
  Block(c10::DataPtr fresh, c10::Storage adopted, size_t size, Heap* heap)
      : fresh(std::move(fresh)), adopted(std::move(adopted)), size(size), heap(heap) {}
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() {
    accounts().give(size, heap);
  }

  c10::DataPtr fresh;
  c10::Storage adopted;
  size_t size;
  Heap* heap;
};

void delete_block(void* block) {
  delete static_cast<Block*>(block);
}

c10::DataPtr allocate_block(size_t bytes, c10::Device device) {
  if (bytes == 0) {
    return {nullptr, device};
  }
  Heap* const heap = accounts().take(bytes);
  auto block = std::make_unique<Block>(c10::DataPtr(), c10::Storage(), bytes, heap);
  block->fresh = c10::GetCPUAllocator()->allocate(bytes);
  void* data = block->fresh.get();
  return {data, block.release(), &delete_block, device};
}

const c10::Device kDevice(c10::DeviceType::MPS, 0);

class DeviceMemory final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    return allocate_block(bytes, kDevice);
  }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
  bool initialized() override {
    return true;
  }
  void emptyCache(c10::MempoolId_t) override {
    accounts().empty_cache();
  }
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override {
    return accounts().stats();
  }
  void resetAccumulatedStats(c10::DeviceIndex) override {
    accounts().reset_accumulated();
  }
  void resetPeakStats(c10::DeviceIndex) override {
    accounts().reset_peak();
  }
  // No `override`: the oldest torch that is supported does not ask for it.
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex) {
    const size_t all = machine().recommended_memory;
    const size_t taken = accounts().driver();
    return {taken < all ? all - taken : 0, all};
  }
};

struct PinnedPointers {
  std::mutex mutex;
  std::unordered_set<const void*> all;
};

PinnedPointers& pinned_pointers() {
  static auto* pointers = new PinnedPointers();
  return *pointers;
}

void delete_pinned(void* context) {
  const void* data = static_cast<Block*>(context)->fresh.get();
  {
    const std::lock_guard<std::mutex> lock(pinned_pointers().mutex);
    pinned_pointers().all.erase(data);
  }
  delete_block(context);
}

class PinnedMemory final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    c10::DataPtr pointer = allocate_block(bytes, c10::Device(c10::DeviceType::CPU));
    if (bytes != 0) {
      const bool changed = pointer.compare_exchange_deleter(&delete_block, &delete_pinned);
      TORCH_INTERNAL_ASSERT(changed);
      const std::lock_guard<std::mutex> lock(pinned_pointers().mutex);
      pinned_pointers().all.insert(pointer.get());
    }
    return pointer;
  }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }
};

} // namespace

c10::DeviceAllocator* device_allocator() {
  static auto* instance = new DeviceMemory();
  return instance;
}

c10::Allocator* pinned_allocator() {
  static auto* instance = new PinnedMemory();
  return instance;
}

bool is_pinned(const void* data) {
  const std::lock_guard<std::mutex> lock(pinned_pointers().mutex);
  return pinned_pointers().all.count(data) != 0;
}

c10::DataPtr adopt(const c10::Storage& host) {
  if (host.nbytes() == 0 || host.data() == nullptr) {
    return {nullptr, kDevice};
  }
  Heap* const heap = accounts().take(host.nbytes());
  auto* block = new Block(c10::DataPtr(), host, host.nbytes(), heap);
  return {host.mutable_data(), block, &delete_block, kDevice};
}

namespace {
const bool registered = [] {
  c10::SetAllocator(c10::DeviceType::MPS, device_allocator());
  return true;
}();
} // namespace

} // namespace mps_simulator
