// How operators run: on the CPU, over the memory of the device.
#pragma once

#include <string>

namespace mps_simulator {

// Gives operators of aten, named one a line, a kernel for the device where the CPU has one too. Otherwise torch would
// take some of them apart into other operators, as it does for a device that lacks them, with other results.
void add_kernels(const std::string& names);

} // namespace mps_simulator
