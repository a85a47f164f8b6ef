// What the Python side calls, by ctypes. None of it raises.
#include "fallback.h"
#include "machine.h"
#include "refusals.h"

extern "C" {

__attribute__((visibility("default"))) void mps_simulator_set_machine(
    size_t recommended_memory,
    size_t max_buffer,
    unsigned macos_major,
    unsigned macos_minor,
    const char* torch_commit) {
  auto& mac = mps_simulator::machine();
  mac.recommended_memory = recommended_memory;
  mac.max_buffer = max_buffer;
  mac.macos_major = macos_major;
  mac.macos_minor = macos_minor;
  mac.torch_commit = torch_commit;
}

// One name of an operator a line, without its namespace: the operators of aten that have a kernel on a Mac.
__attribute__((visibility("default"))) void mps_simulator_set_operators(const char* names) {
  mps_simulator::set_operators(names);
  mps_simulator::add_kernels(names);
}

// What would become of an operator: 0 for a kernel of its own, 1 for the CPU, 2 for a refusal, 3 if there is none.
__attribute__((visibility("default"))) int mps_simulator_support(const char* name, const char* overload) {
  const auto op = c10::Dispatcher::singleton().findSchema({name, overload});
  if (!op) {
    return 3;
  }
  try {
    return static_cast<int>(mps_simulator::support_of(*op));
  } catch (const c10::NotImplementedError&) {
    return 2;
  }
}

} // extern "C"
