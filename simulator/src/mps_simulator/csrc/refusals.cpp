#include "refusals.h"

#include "machine.h"
#include "observe.h"

#include <cstdlib>
#include <mutex>
#include <sstream>
#include <string_view>
#include <unordered_set>

namespace mps_simulator {

namespace {

using Names = std::unordered_set<std::string>;

Names& operators() {
  static auto* names = new Names();
  return *names;
}

// Registered by torch on a Mac to run on the CPU whatever the user has asked for.
const Names kAlwaysOnHost = {"aten::embedding_renorm_", "aten::col2im"};

// Kernels for the device that torchvision registers on a Mac.
const Names kVision = {
    "torchvision::nms",
    "torchvision::roi_align",
    "torchvision::_roi_align_backward",
    "torchvision::roi_pool",
    "torchvision::_roi_pool_backward",
    "torchvision::ps_roi_align",
    "torchvision::_ps_roi_align_backward",
    "torchvision::ps_roi_pool",
    "torchvision::_ps_roi_pool_backward"};

const Names kWithHostLengths = {
    "aten::_pack_padded_sequence", "aten::_ctc_loss.Tensor", "aten::_ctc_loss_backward.Tensor"};

std::string full_name(const c10::OperatorHandle& op) {
  return c10::toString(op.operator_name());
}

bool fallback_is_on() {
  // Read when the library is loaded, as torch does: setting the variable later has no effect.
  static const bool on = [] {
    const char* text = std::getenv("PYTORCH_ENABLE_MPS_FALLBACK");
    return text != nullptr && std::atoi(text) != 0;
  }();
  return on;
}
const bool kReadAtLoad = fallback_is_on();

[[noreturn]] void refuse(const std::string& name, bool distributed) {
  std::ostringstream text;
  text << "The " << (distributed ? "[distributed] " : "") << "operator '" << name
       << "' is not currently implemented for the MPS device. If you want this op to be considered for addition "
          "please comment on https://github.com/pytorch/pytorch/issues/141287 and mention use-case, that resulted in "
          "missing op as well as commit hash "
       << machine().torch_commit << ". ";
  if (distributed) {
    text << "Please note, that distributed operators can not fall back to CPU";
  } else {
    text << "As a temporary fix, you can set the environment variable `PYTORCH_ENABLE_MPS_FALLBACK=1` to use the CPU "
            "as a fallback for this op. WARNING: this will be slower than running natively on MPS.";
  }
  TORCH_CHECK_NOT_IMPLEMENTED(false, text.str());
}

constexpr size_t kMostDimensions = 16;

} // namespace

void set_operators(const std::string& names) {
  std::istringstream lines(names);
  for (std::string line; std::getline(lines, line);) {
    operators().insert("aten::" + line);
  }
}

Support support_of(const c10::OperatorHandle& op) {
  const std::string name = full_name(op);
  if (operators().count(name) || kVision.count(name)) {
    return Support::Native;
  }
  if (kAlwaysOnHost.count(name)) {
    return Support::OnHost;
  }
  const bool distributed = name.rfind("c10d::", 0) == 0;
  if (distributed || !fallback_is_on()) {
    refuse(name, distributed);
  }
  return Support::OnHost;
}

void warn_on_host(const c10::OperatorHandle& op) {
  static std::mutex mutex;
  static auto* warned = new Names();
  {
    const std::lock_guard<std::mutex> lock(mutex);
    if (!warned->insert(full_name(op)).second) {
      return;
    }
  }
  TORCH_WARN(
      "The operator '",
      op.operator_name(),
      "' is not currently supported on the MPS backend and will fall back to run on the CPU. "
      "This may have performance implications.");
}

void check_dtype(c10::ScalarType dtype) {
  if (dtype == c10::ScalarType::Double) {
    ++float64_refusals;
  }
  TORCH_CHECK_TYPE(
      dtype != c10::ScalarType::Double,
      "Cannot convert a MPS Tensor to float64 dtype as the MPS framework doesn't support float64. "
      "Please use float32 instead.");
  TORCH_CHECK_TYPE(
      dtype != c10::ScalarType::ComplexDouble,
      "Trying to convert ComplexDouble to the MPS backend but it does not have support for that dtype.");
}

void check_dimensions(size_t dimensions) {
  TORCH_CHECK(
      dimensions <= kMostDimensions, "MPS supports tensors with dimensions <= 16, but got ", dimensions, ".");
}

void check_layout(std::optional<c10::Layout> layout) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      layout.value_or(c10::Layout::Strided) == c10::Layout::Strided, "only strided tensors are supported on MPS");
}

bool takes_host_lengths(const c10::OperatorHandle& op) {
  return kWithHostLengths.count(full_name(op)) != 0;
}

void check_on_device(const at::Tensor& tensor, bool written) {
  TORCH_CHECK(
      !tensor.defined() || !tensor.is_cpu() || (tensor.dim() == 0 && !written),
      "Expected all tensors to be on the same device, but found at least two devices, mps:0 and cpu!");
}

} // namespace mps_simulator
