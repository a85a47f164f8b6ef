// The simulated Mac, as the Python side describes it before torch is imported.
#pragma once

#include <cstddef>
#include <string>

namespace mps_simulator {

struct Machine {
  size_t recommended_memory = 0; // bytes; Metal's recommendedMaxWorkingSetSize
  size_t max_buffer = 0; // bytes; Metal's maxBufferLength
  unsigned macos_major = 0;
  unsigned macos_minor = 0;
  std::string torch_commit; // torch names it in some of its refusals
};

inline Machine& machine() {
  static Machine described;
  return described;
}

} // namespace mps_simulator
