// The current device and its one stream: there is one of each, so most of it has nothing to do.
#include "events.h"
#include "observe.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <memory>

#if __has_include(<c10/core/DeviceCapability.h>)
#include <c10/core/DeviceCapability.h>
#endif

namespace mps_simulator {

struct DeviceGuard final : public c10::impl::DeviceGuardImplInterface {
  static c10::Device device() {
    return {c10::DeviceType::MPS, 0};
  }
  static c10::Stream stream() {
    return c10::Stream(c10::Stream::DEFAULT, device());
  }

  c10::DeviceType type() const override {
    return c10::DeviceType::MPS;
  }
  c10::Device exchangeDevice(c10::Device) const override {
    return device();
  }
  c10::Device getDevice() const override {
    return device();
  }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::DeviceIndex deviceCount() const noexcept override {
    return 1;
  }

#if __has_include(<c10/core/DeviceCapability.h>)
  // Every type of number but those that Metal lacks. No `override`: older versions of torch do not ask for it.
  c10::DeviceCapability getDeviceCapability(c10::Device) const {
    using namespace c10;
    DeviceCapability known;
    known.capability_data.capability_bits = (1ULL << kIndex_Byte) | (1ULL << kIndex_Char) | (1ULL << kIndex_Short) |
        (1ULL << kIndex_Int) | (1ULL << kIndex_Long) | (1ULL << kIndex_Half) | (1ULL << kIndex_Float) |
        (1ULL << kIndex_ComplexHalf) | (1ULL << kIndex_ComplexFloat) | (1ULL << kIndex_Bool) |
        (1ULL << kIndex_BFloat16) | (1ULL << kIndex_UInt16) | (1ULL << kIndex_UInt32) | (1ULL << kIndex_UInt64);
    return known;
  }
#endif

  c10::Stream getStream(c10::Device) const override {
    return stream();
  }
  c10::Stream getDefaultStream(c10::Device) const override {
    return stream();
  }
  c10::Stream getStreamFromGlobalPool(c10::Device, bool) const override {
    return stream();
  }
  c10::Stream getNewStream(c10::Device, int) const override {
    return stream();
  }
  c10::Stream exchangeStream(c10::Stream) const override {
    return stream();
  }
  bool queryStream(const c10::Stream&) const override {
    return true;
  }
  void synchronizeStream(const c10::Stream&) const override {
    synchronizeDevice(0);
  }
  void synchronizeDevice(c10::DeviceIndex) const override {
    if (Observer* const watching = listening()) {
      watching->synchronising();
    }
  }

  // An event of torch.Event is the instant at which it was last recorded.
  void record(void** event, const c10::Stream&, c10::DeviceIndex, c10::EventFlag) const override {
    if (*event == nullptr) {
      *event = new Instant();
    }
    *static_cast<Instant*>(*event) = std::chrono::steady_clock::now();
    if (Observer* const watching = listening()) {
      watching->event_recorded(reinterpret_cast<uintptr_t>(*event));
    }
  }
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override {
    return true;
  }
  void synchronizeEvent(void* event) const override {
    if (Observer* const watching = listening()) {
      watching->event_awaited(reinterpret_cast<uintptr_t>(event));
    }
  }
  void destroyEvent(void* event, c10::DeviceIndex) const noexcept override {
    delete static_cast<Instant*>(event);
  }
  double elapsedTime(void* start, void* end, c10::DeviceIndex) const override {
    return milliseconds(*static_cast<Instant*>(start), *static_cast<Instant*>(end));
  }
};

C10_REGISTER_GUARD_IMPL(MPS, DeviceGuard)

} // namespace mps_simulator
