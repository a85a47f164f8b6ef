// One place that sees what the device does.
#pragma once

#include "refusals.h"

#include <ATen/core/Generator.h>
#include <ATen/core/stack.h>

#include <atomic>
#include <cstdint>
#include <initializer_list>

namespace mps_simulator {

// Told of what happens on the device, before it happens unless the name says otherwise. Raising refuses it.
// No lock of the device is held meanwhile, so that an observer may wait for Python's.
class Observer {
 public:
  virtual ~Observer() = default;

  // An operator that runs by way of the CPU. `stack` ends in its arguments.
  virtual void before(const c10::OperatorHandle& op, Support support, const torch::jit::Stack& stack) = 0;
  virtual void after(const c10::OperatorHandle& op) = 0;

  // A kernel of our own that reads these tensors. Null stands for one that was not given.
  virtual void kernel(std::initializer_list<const at::Tensor*> read) = 0;

  // A copy, to the device, from it or within it.
  virtual void before_copy(const at::Tensor& to, const at::Tensor& from, bool non_blocking) = 0;
  virtual void after_copy(const at::Tensor& to, const at::Tensor& from, bool non_blocking) = 0;

  // An operator is about to draw from this generator of the device, if it draws at all.
  virtual void drawing(const at::Generator& generator) = 0;

  // The host waits for all work of the device.
  virtual void synchronising() = 0;

  // An event marks the end of the work so far; and the host waits for an event.
  virtual void event_recorded(uintptr_t event) = 0;
  virtual void event_awaited(uintptr_t event) = 0;
};

// Null unless something listens, so that listening costs nothing when it is off.
inline std::atomic<Observer*> observer{nullptr};

inline Observer* listening() {
  return observer.load(std::memory_order_relaxed);
}

// Refusals of this process so far.
inline std::atomic<uint64_t> float64_refusals{0};
inline std::atomic<uint64_t> memory_refusals{0};

} // namespace mps_simulator
