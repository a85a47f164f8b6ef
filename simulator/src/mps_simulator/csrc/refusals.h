// What the device refuses, in the words of torch on a Mac.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

namespace mps_simulator {

// The operators that have a kernel for the device in the installed torch, one name a line.
void set_operators(const std::string& names);

enum class Support : uint8_t {
  Native, // a Mac has a kernel
  OnHost, // a Mac runs it on the CPU, with a warning
};

// Whether the operator may run. Raises NotImplementedError when it may not.
Support support_of(const c10::OperatorHandle& op);

// Warns, once for each operator, that it runs on the CPU.
void warn_on_host(const c10::OperatorHandle& op);

// Raises TypeError for a type of number that Metal lacks.
void check_dtype(c10::ScalarType dtype);

// Raises RuntimeError for more dimensions than Metal has.
void check_dimensions(size_t dimensions);

// Raises NotImplementedError for a tensor that is not dense.
void check_layout(std::optional<c10::Layout> layout);

// Whether the operator reads a length on the CPU, beside tensors of the device.
bool takes_host_lengths(const c10::OperatorHandle& op);

// Raises RuntimeError for a CPU tensor among tensors of the device. A number, read and not written, may be on the CPU.
void check_on_device(const at::Tensor& tensor, bool written = false);

} // namespace mps_simulator
