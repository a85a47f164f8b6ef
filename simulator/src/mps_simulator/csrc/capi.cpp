// What the Python side calls, by ctypes. None of it raises.
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
}

} // extern "C"
