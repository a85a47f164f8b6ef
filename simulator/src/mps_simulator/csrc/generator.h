// Random numbers of the device: a stream of its own, drawn by the CPU's engine.
#pragma once

#include <ATen/CPUGeneratorImpl.h>

namespace mps_simulator {

// With the same seed it draws what the CPU draws, so that a run can be compared with one on the CPU bit by bit.
class DeviceGenerator final : public c10::GeneratorImpl {
 public:
  explicit DeviceGenerator(at::Generator host);

  // The CPU generator that kernels draw from in its place.
  const at::Generator& host() const {
    return host_;
  }

  void set_current_seed(uint64_t seed) override;
  void set_offset(uint64_t offset) override;
  uint64_t get_offset() const override;
  uint64_t current_seed() const override;
  uint64_t seed() override;
  void set_state(const c10::TensorImpl& state) override;
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override;

 private:
  DeviceGenerator* clone_impl() const override;

  at::Generator host_;
};

const at::Generator& default_generator();
at::Generator new_generator();

// The CPU generator behind `given`, or behind the default one when none is given.
// Raises torch's text for a generator of another device.
at::Generator host_generator(const std::optional<at::Generator>& given);

} // namespace mps_simulator
