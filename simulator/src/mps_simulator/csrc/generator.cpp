#include "generator.h"

#include "observe.h"

namespace mps_simulator {

DeviceGenerator::DeviceGenerator(at::Generator host)
    : c10::GeneratorImpl(c10::Device(c10::DeviceType::MPS, 0), c10::DispatchKeySet(c10::DispatchKey::MPS)),
      host_(std::move(host)) {}

void DeviceGenerator::set_current_seed(uint64_t seed) {
  host_.set_current_seed(seed);
}

void DeviceGenerator::set_offset(uint64_t offset) {
  host_.set_offset(offset);
}

uint64_t DeviceGenerator::get_offset() const {
  return host_.get_offset();
}

uint64_t DeviceGenerator::current_seed() const {
  return host_.current_seed();
}

uint64_t DeviceGenerator::seed() {
  return host_.seed();
}

void DeviceGenerator::set_state(const c10::TensorImpl& state) {
  host_.unsafeGetGeneratorImpl()->set_state(state);
}

c10::intrusive_ptr<c10::TensorImpl> DeviceGenerator::get_state() const {
  return host_.unsafeGetGeneratorImpl()->get_state();
}

DeviceGenerator* DeviceGenerator::clone_impl() const {
  return new DeviceGenerator(host_.clone());
}

at::Generator new_generator() {
  return at::make_generator<DeviceGenerator>(at::detail::createCPUGenerator());
}

const at::Generator& default_generator() {
  static auto* instance = [] {
    auto* made = new at::Generator(new_generator());
    made->seed();
    return made;
  }();
  return *instance;
}

at::Generator host_generator(const std::optional<at::Generator>& given) {
  const at::Generator& chosen = given.has_value() && given->defined() ? *given : default_generator();
  TORCH_CHECK(
      chosen.device().is_mps(), "Expected a 'mps' device type for generator but found '", chosen.device().type(), "'");
  if (Observer* const watching = listening()) {
    watching->drawing(chosen);
  }
  return static_cast<DeviceGenerator*>(chosen.unsafeGetGeneratorImpl())->host();
}

} // namespace mps_simulator
