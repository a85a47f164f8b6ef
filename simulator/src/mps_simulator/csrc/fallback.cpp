// Any operator, on the CPU, over the memory of the device.
#include "fallback.h"

#include "generator.h"
#include "lowering.h"
#include "observe.h"
#include "refusals.h"

#include <torch/library.h>

#include <sstream>

namespace mps_simulator {

namespace {

using c10::IValue;
using torch::jit::Stack;

// One call of an operator: takes its arguments off the stack and puts its results there.
class Call {
 public:
  Call(const c10::OperatorHandle& op, Stack* stack) : op_(op), stack_(stack) {}

  void run() {
    const auto& schema = op_.schema();
    const size_t first = stack_->size() - schema.arguments().size();
    for (size_t i = 0; i < schema.arguments().size(); ++i) {
      lower((*stack_)[first + i], schema.arguments()[i]);
    }
    check_devices();
    op_.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack_);
    lowering_.sync();
    for (size_t i = stack_->size() - schema.returns().size(); i < stack_->size(); ++i) {
      raise((*stack_)[i]);
    }
  }

 private:
  // `lenient` accepts a CPU tensor among those of the device.
  at::Tensor lower(const at::Tensor& tensor, bool written, bool lenient) {
    if (tensor.defined() && tensor.is_cpu() && !lenient) {
      hosts_.push_back({tensor, written});
    }
    on_device_ = on_device_ || (tensor.defined() && tensor.is_mps());
    return lowering_.lower(tensor);
  }

  void lower(IValue& value, const c10::Argument& argument) {
    const bool written = argument.alias_info() && argument.alias_info()->isWrite();
    if (value.isTensor()) {
      const at::Tensor tensor = value.toTensor();
      const bool lenient = tensor.defined() && tensor.is_cpu() && takes_host_lengths(op_);
      value = lower(tensor, written, lenient);
    } else if (value.isTensorList()) {
      value = lower_list(value.toTensorList(), written);
    } else if (value.isOptionalTensorList()) {
      value = lower_list(value.toOptionalTensorList());
    } else if (value.isDevice() && value.toDevice().is_mps()) {
      on_device_ = true;
      value = c10::Device(c10::DeviceType::CPU);
    } else if (argument.name() == "generator" && (value.isNone() || value.isGenerator())) {
      value = host_generator(value.toOptional<at::Generator>());
    }
  }

  c10::List<at::Tensor> lower_list(const c10::List<at::Tensor>& tensors, bool written) {
    c10::List<at::Tensor> lowered;
    lowered.reserve(tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      lowered.push_back(lower(tensors.get(i), written, /*lenient=*/false));
    }
    return lowered;
  }

  // These are indices, which may be on the CPU.
  c10::List<std::optional<at::Tensor>> lower_list(const c10::List<std::optional<at::Tensor>>& tensors) {
    c10::List<std::optional<at::Tensor>> lowered;
    lowered.reserve(tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      const auto tensor = tensors.get(i);
      lowered.push_back(tensor.has_value() ? std::optional(lower(*tensor, false, /*lenient=*/true)) : std::nullopt);
    }
    return lowered;
  }

  void check_devices() const {
    if (on_device_) {
      for (const auto& [tensor, written] : hosts_) {
        check_on_device(tensor, written);
      }
    }
  }

  void raise(IValue& value) {
    if (value.isTensor()) {
      value = lowering_.raise(value.toTensor());
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> raised;
      for (const at::Tensor& tensor : value.toTensorVector()) {
        raised.push_back(lowering_.raise(tensor));
      }
      value = raised;
    }
  }

  const c10::OperatorHandle& op_;
  Stack* stack_;
  Lowering lowering_;
  bool on_device_ = false;
  std::vector<std::pair<at::Tensor, bool>> hosts_; // with whether they are written
};

void run_on_host(const c10::OperatorHandle& op, Stack* stack) {
  const Support support = support_of(op);
  if (support == Support::OnHost) {
    warn_on_host(op);
  }
  Observer* const watching = listening();
  if (watching) {
    watching->before(op, support, *stack);
  }
  Call(op, stack).run();
  if (watching) {
    watching->after(op);
  }
}

} // namespace

void add_kernels(const std::string& names) {
  // Never destroyed, as that would take the kernels back.
  static auto* library = new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::MPS, __FILE__, __LINE__);
  std::istringstream lines(names);
  for (std::string line; std::getline(lines, line);) {
    const size_t dot = line.find('.');
    const c10::OperatorName name("aten::" + line.substr(0, dot), dot == std::string::npos ? "" : line.substr(dot + 1));
    const auto op = c10::Dispatcher::singleton().findSchema(name);
    if (op && op->hasKernelForDispatchKey(c10::DispatchKey::CPU) &&
        !op->hasKernelForDispatchKey(c10::DispatchKey::MPS)) {
      library->impl(line.c_str(), torch::CppFunction::makeFromBoxedFunction<&run_on_host>());
    }
  }
}

TORCH_LIBRARY_IMPL(_, MPS, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&run_on_host>());
}

} // namespace mps_simulator
