// What torch asks a backend about itself.
#include "allocator.h"
#include "events.h"
#include "generator.h"
#include "machine.h"
#include "observe.h"

#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/detail/MPSHooksInterface.h>

namespace at {

struct SimulatedMPSHooks : public MPSHooksInterface {
  explicit SimulatedMPSHooks(MPSHooksArgs = {}) {}

  void init() const override {}
  bool isBuilt() const override {
    return true;
  }
  bool isAvailable() const override {
    return true;
  }
  bool hasMPS() const override {
    return true;
  }
  bool hasPrimaryContext(DeviceIndex) const override {
    return true;
  }
  bool isOnMacOSorNewer(unsigned major, unsigned minor) const override {
    const auto& mac = mps_simulator::machine();
    return mac.macos_major > major || (mac.macos_major == major && mac.macos_minor >= minor);
  }

  DeviceIndex deviceCount() const override {
    return 1;
  }
  void setCurrentDevice(DeviceIndex) const override {}
  DeviceIndex getCurrentDevice() const override {
    return 0;
  }
  DeviceIndex exchangeDevice(DeviceIndex) const override {
    return 0;
  }
  DeviceIndex maybeExchangeDevice(DeviceIndex) const override {
    return 0;
  }
  Device getDeviceFromPtr(void*) const override {
    return Device(DeviceType::MPS, 0);
  }

  const Generator& getDefaultGenerator(DeviceIndex) const override {
    return mps_simulator::default_generator();
  }
  Generator getNewGenerator(DeviceIndex) const override {
    return mps_simulator::new_generator();
  }

  Allocator* getMPSDeviceAllocator() const override {
    return mps_simulator::device_allocator();
  }
  Allocator* getPinnedMemoryAllocator() const override {
    return mps_simulator::pinned_allocator();
  }
  bool isPinnedPtr(const void* data) const override {
    return mps_simulator::is_pinned(data);
  }
  void emptyCache() const override {
    mps_simulator::accounts().empty_cache();
  }
  size_t getCurrentAllocatedMemory() const override {
    return mps_simulator::accounts().current();
  }
  size_t getDriverAllocatedMemory() const override {
    return mps_simulator::accounts().driver();
  }
  size_t getRecommendedMaxMemory() const override {
    return mps_simulator::machine().recommended_memory;
  }
  // No `override`: older versions of torch do not ask for it.
  size_t getMaxBufferLength() const {
    return mps_simulator::machine().max_buffer;
  }
  void setMemoryFraction(double ratio) const override {
    mps_simulator::accounts().set_high_watermark(ratio);
  }

  // Every call has done its work when it returns, so there is nothing to wait for.
  void deviceSynchronize() const override {
    if (auto* const watching = mps_simulator::listening()) {
      watching->synchronising();
    }
  }
  void commitStream() const override {}
  void profilerStartTrace(const std::string&, bool) const override {}
  void profilerStopTrace() const override {}

  uint32_t acquireEvent(bool timed) const override {
    return mps_simulator::acquire_event(timed);
  }
  void releaseEvent(uint32_t id) const override {
    mps_simulator::release_event(id);
  }
  void recordEvent(uint32_t id) const override {
    mps_simulator::record_event(id);
    if (auto* const watching = mps_simulator::listening()) {
      watching->event_recorded(id);
    }
  }
  void waitForEvent(uint32_t id) const override {
    mps_simulator::event_is_complete(id);
  }
  void synchronizeEvent(uint32_t id) const override {
    mps_simulator::event_is_complete(id);
    if (auto* const watching = mps_simulator::listening()) {
      watching->event_awaited(id);
    }
  }
  bool queryEvent(uint32_t id) const override {
    return mps_simulator::event_is_complete(id);
  }
  double elapsedTimeOfEvents(uint32_t start, uint32_t end) const override {
    return mps_simulator::elapsed_time(start, end);
  }
};

C10_REGISTER_TYPED_CLASS_WITH_PRIORITY(MPSHooksRegistry, "MPSHooks", c10::REGISTRY_PREFERRED, SimulatedMPSHooks)

// A torch that is built with CUDA refuses to run the backward pass of two accelerators. A Mac has no CUDA.
struct NoCUDAHooks : public CUDAHooksInterface {
  explicit NoCUDAHooks(CUDAHooksArgs) {}
};

C10_REGISTER_TYPED_CLASS_WITH_PRIORITY(CUDAHooksRegistry, "CUDAHooks", c10::REGISTRY_PREFERRED, NoCUDAHooks)

} // namespace at
