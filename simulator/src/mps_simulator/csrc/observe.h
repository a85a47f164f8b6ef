// One place that sees every operator of the device.
#pragma once

#include "refusals.h"

#include <ATen/core/stack.h>

#include <atomic>

namespace mps_simulator {

// Told of every operator that runs on the device by way of the CPU. `stack` ends in its arguments before, and in its
// results after. It must not raise from after().
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void before(const c10::OperatorHandle& op, Support support, const torch::jit::Stack& stack) = 0;
  virtual void after(const c10::OperatorHandle& op, const torch::jit::Stack& stack) = 0;
};

// Null unless something listens, so that listening costs nothing when it is off.
inline std::atomic<Observer*> observer{nullptr};

} // namespace mps_simulator
