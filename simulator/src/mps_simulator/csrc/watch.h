// What is counted for the report, and what `--strict` refuses.
#pragma once

#include <cstdint>

extern "C" {

// What the Python side is told. It may answer with mps_simulator_say().
struct MpsSimulatorListener {
  void (*locate)(); // say where the program is
  void (*synchronised)(const char* how); // the host waits for the device; null when nobody counts
  // The operator drew from this generator, which was in this state. Say what is wrong with that, if anything.
  void (*drew)(const char* operation, uint64_t generator, uint64_t state);
};

} // extern "C"
