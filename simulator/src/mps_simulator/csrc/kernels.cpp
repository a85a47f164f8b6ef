// Kernels where running the same operator on the CPU would not do: those that make memory, replace it, or look at
// what it is; and those that torch asks of a backend instead of an operator that the CPU has.
#include "allocator.h"
#include "lowering.h"
#include "observe.h"
#include "refusals.h"

#include <ATen/EmptyTensor.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_adaptive_avg_pool2d.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/_scaled_dot_product_attention_math.h>
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/ldexp.h>
#include <ATen/ops/linear_native.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/resize_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/view_native.h>
#include <ATen/ops/zeros_like.h>
#include <torch/library.h>

#include <limits>

namespace mps_simulator {

namespace {

using at::IntArrayRef;
using at::Tensor;

constexpr c10::DispatchKeySet kKeys(c10::DispatchKey::MPS);

c10::ScalarType checked_type(
    std::optional<c10::ScalarType> dtype,
    std::optional<c10::Layout> layout,
    std::optional<bool> pinned,
    size_t dimensions) {
  check_layout(layout);
  TORCH_CHECK(!pinned.value_or(false), "Only dense CPU tensors can be pinned");
  const c10::ScalarType type = c10::dtype_or_default(dtype);
  check_dtype(type);
  check_dimensions(dimensions);
  return type;
}

Tensor empty(
    IntArrayRef size,
    std::optional<c10::ScalarType> dtype,
    std::optional<c10::Layout> layout,
    std::optional<c10::Device>,
    std::optional<bool> pinned,
    std::optional<c10::MemoryFormat> format) {
  const c10::ScalarType type = checked_type(dtype, layout, pinned, size.size());
  return at::detail::empty_generic(size, device_allocator(), kKeys, type, format);
}

Tensor empty_strided(
    IntArrayRef size,
    IntArrayRef stride,
    std::optional<c10::ScalarType> dtype,
    std::optional<c10::Layout> layout,
    std::optional<c10::Device>,
    std::optional<bool> pinned) {
  const c10::ScalarType type = checked_type(dtype, layout, pinned, size.size());
  return at::detail::empty_strided_generic(size, stride, device_allocator(), kKeys, type);
}

Tensor as_strided(const Tensor& self, IntArrayRef size, IntArrayRef stride, std::optional<int64_t> offset) {
  check_dimensions(size.size());
  return at::native::as_strided_tensorimpl(self, size, stride, offset);
}

Tensor view(const Tensor& self, IntArrayRef size) {
  check_dimensions(size.size());
  return at::native::view(self, size);
}

Tensor reshape_alias(const Tensor& self, IntArrayRef size, IntArrayRef stride) {
  check_dimensions(size.size());
  return at::native::_reshape_alias(self, size, stride);
}

const Tensor& resize_(const Tensor& self, IntArrayRef size, std::optional<c10::MemoryFormat> format) {
  check_dimensions(size.size());
  return at::native::resize_(self, size, format);
}

void copy_memory(const Tensor& to, const Tensor& from, bool non_blocking) {
  Observer* const watching = listening();
  if (watching) {
    watching->before_copy(to, from, non_blocking);
  }
  Lowering lowering;
  lowering.lower(to).copy_(lowering.lower(from), non_blocking);
  if (watching) {
    watching->after_copy(to, from, non_blocking);
  }
}

Tensor& copy_(Tensor& self, const Tensor& source, bool non_blocking) {
  copy_memory(self, source, non_blocking);
  return self;
}

Tensor copy_from(const Tensor& self, const Tensor& to, bool non_blocking) {
  copy_memory(to, self, non_blocking);
  return to;
}

Tensor copy_from_and_resize(const Tensor& self, const Tensor& to) {
  at::native::resize_output(to, self.sizes());
  return copy_from(self, to, /*non_blocking=*/false);
}

Tensor& set_to_storage(Tensor& self, c10::Storage source) {
  return at::native::set_(self, std::move(source));
}

Tensor& set_to_storage_part(
    Tensor& self,
    c10::Storage source,
    int64_t offset,
    IntArrayRef size,
    IntArrayRef stride) {
  return at::native::set_storage_cpu_(self, std::move(source), offset, size, stride);
}

Tensor& set_to_tensor(Tensor& self, const Tensor& source) {
  return at::native::set_tensor_(self, source);
}

Tensor& set_to_nothing(Tensor& self) {
  c10::Storage storage = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), 0, device_allocator()->allocate(0), device_allocator(), /*resizable=*/true);
  return at::native::set_storage_cpu_(self, std::move(storage), 0, {0}, {});
}

void tell_read(std::initializer_list<const Tensor*> tensors) {
  if (Observer* const watching = listening()) {
    watching->kernel(tensors);
  }
}

Tensor convolution(
    const Tensor& input,
    const Tensor& weight,
    const std::optional<Tensor>& bias,
    IntArrayRef stride,
    IntArrayRef padding,
    IntArrayRef dilation,
    bool transposed,
    IntArrayRef output_padding,
    int64_t groups) {
  check_on_device(input);
  check_on_device(weight);
  check_on_device(bias.value_or(Tensor()));
  TORCH_CHECK(at::isFloatingType(input.scalar_type()), "Convolution is supported only for Floating types");
  tell_read({&input, &weight, bias.has_value() ? &*bias : nullptr});
  Lowering lowering;
  return lowering.raise(at::convolution(
      lowering.lower(input),
      lowering.lower(weight),
      lowering.lower(bias.value_or(Tensor())),
      stride,
      padding,
      dilation,
      transposed,
      output_padding,
      groups));
}

using ThreeTensors = std::tuple<Tensor, Tensor, Tensor>;

ThreeTensors convolution_backward(
    const Tensor& gradient,
    const Tensor& input,
    const Tensor& weight,
    IntArrayRef stride,
    IntArrayRef padding,
    IntArrayRef dilation,
    bool transposed,
    IntArrayRef output_padding,
    int64_t groups,
    std::array<bool, 3> wanted) {
  // The size of the bias is not passed on; it is that of the output's channels.
  const int64_t channels = gradient.size(1);
  const at::OptionalIntArrayRef bias = wanted[2] ? at::OptionalIntArrayRef(channels) : std::nullopt;
  tell_read({&gradient, &input, &weight});
  Lowering lowering;
  auto [for_input, for_weight, for_bias] = at::convolution_backward(
      lowering.lower(gradient),
      lowering.lower(input),
      lowering.lower(weight),
      bias,
      stride,
      padding,
      dilation,
      transposed,
      output_padding,
      groups,
      wanted);
  return {lowering.raise(for_input), lowering.raise(for_weight), lowering.raise(for_bias)};
}

void check_linear(const Tensor& tensor, const char* name) {
  const c10::ScalarType type = tensor.scalar_type();
  const bool known = type == at::kFloat || type == at::kHalf || type == at::kBFloat16 || at::isComplexType(type);
  TORCH_CHECK(known, "MPS device does not support linear for non-float ", name, "s");
  TORCH_CHECK(tensor.is_mps(), "Tensor for argument ", name, " is on ", tensor.device(), " but expected on mps");
}

// Made of other operators, and so differentiable.
Tensor linear(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias) {
  check_linear(input, "input");
  check_linear(weight, "weight");
  return at::native::linear(input, weight, bias);
}

using TwoTensors = std::tuple<Tensor, Tensor>;

std::optional<Tensor> lower_if_there(Lowering& lowering, const std::optional<Tensor>& tensor) {
  return tensor.has_value() && tensor->defined() ? std::optional(lowering.lower(*tensor)) : std::nullopt;
}

// Older releases of torch have no last argument, `enable_gqa`.
template <typename... Grouped>
TwoTensors attention(
    const Tensor& query,
    const Tensor& key,
    const Tensor& value,
    const std::optional<Tensor>& mask,
    double dropout,
    bool causal,
    const std::optional<Tensor>& dropout_mask,
    std::optional<double> scale,
    Grouped... grouped) {
  tell_read({&query, &key, &value, mask.has_value() ? &*mask : nullptr});
  Lowering lowering;
  auto [output, weights] = at::_scaled_dot_product_attention_math(
      lowering.lower(query),
      lowering.lower(key),
      lowering.lower(value),
      lower_if_there(lowering, mask),
      dropout,
      causal,
      lower_if_there(lowering, dropout_mask),
      scale,
      grouped...);
  return {lowering.raise(output), lowering.raise(weights)};
}

// torch looks up which attention a device has in a list that it was built with, where this one is missing. On a Mac it
// finds the plain one, made of other operators, and so differentiable.
Tensor plain_attention(
    const Tensor& query,
    const Tensor& key,
    const Tensor& value,
    const std::optional<Tensor>& mask,
    double dropout,
    bool causal,
    std::optional<double> scale,
    bool grouped) {
  std::optional<Tensor> added = mask;
  if (mask.has_value() && mask->defined() && mask->scalar_type() == at::kBool) {
    const Tensor zeros = at::zeros_like(*mask, query.options());
    added = zeros.masked_fill(mask->logical_not(), -std::numeric_limits<double>::infinity());
  }
  auto result = at::_scaled_dot_product_attention_math(
      query, key, value, added, dropout, causal, /*dropout_mask=*/std::nullopt, scale, grouped);
  return std::get<0>(result);
}

// Metal's average pools have windows of one size.
void check_windows(IntArrayRef from, IntArrayRef to) {
  constexpr auto rest =
      ". Non-divisible input sizes are not implemented on MPS device yet. For now, you can manually transfer tensor to "
      "cpu in this case. Please refer to [this issue](https://github.com/pytorch/pytorch/issues/96056)";
  TORCH_CHECK(
      (from[0] >= to[0] && from[1] >= to[1]) || (from[0] <= to[0] && from[1] <= to[1]),
      "Adaptive pool MPS: Input height and width must both be greater than, or equal to, or lesser than output height "
      "and width");
  if (from[0] >= to[0] && from[1] >= to[1]) {
    const bool fits = to[0] == 0 || to[1] == 0 || (from[0] % to[0] == 0 && from[1] % to[1] == 0);
    TORCH_CHECK(fits, "Adaptive pool MPS: input sizes must be divisible by output sizes", rest);
  } else {
    const bool fits = from[0] == 0 || from[1] == 0 || (to[0] % from[0] == 0 && to[1] % from[1] == 0);
    TORCH_CHECK(fits, "Adaptive pool MPS: output sizes must be divisible by input sizes", rest);
  }
}

void check_pool(const Tensor& input, IntArrayRef size) {
  tell_read({&input});
  if (input.dim() >= 3 && size.size() == 2) {
    check_windows(input.sizes().slice(input.dim() - 2), size);
  }
}

Tensor average_pool(const Tensor& input, IntArrayRef size) {
  check_pool(input, size);
  Lowering lowering;
  return lowering.raise(at::_adaptive_avg_pool2d(lowering.lower(input), size));
}

Tensor& average_pool_out(const Tensor& input, IntArrayRef size, Tensor& out) {
  check_pool(input, size);
  Lowering lowering;
  Tensor host = lowering.lower(out);
  at::adaptive_avg_pool2d_out(host, lowering.lower(input), size);
  lowering.sync();
  return out;
}

// Made of others for every device, but by way of a table of kernels that torch was built with.
Tensor& scale_out(const Tensor& self, const Tensor& exponent, Tensor& out) {
  check_on_device(self);
  check_on_device(exponent);
  check_on_device(out, /*written=*/true);
  tell_read({&self, &exponent});
  Lowering lowering;
  Tensor host = lowering.lower(out);
  at::ldexp_out(host, lowering.lower(self), lowering.lower(exponent));
  lowering.sync();
  return out;
}

Tensor scale(const Tensor& self, const Tensor& exponent) {
  check_on_device(self);
  check_on_device(exponent);
  tell_read({&self, &exponent});
  Lowering lowering;
  return lowering.raise(at::ldexp(lowering.lower(self), lowering.lower(exponent)));
}

Tensor& scale_(Tensor& self, const Tensor& exponent) {
  return scale_out(self, exponent, self);
}

// The CPU's kernel draws from the CPU's generator.
TwoTensors native_dropout(const Tensor& input, double p, std::optional<bool> training) {
  if (!training.value_or(true) || input.numel() == 0) {
    return {input, at::ones_like(input, at::TensorOptions(at::kBool))};
  }
  const double kept = 1.0 - p;
  Tensor mask = at::empty(input.sizes(), input.options().dtype(at::kBool)).bernoulli_(kept);
  Tensor output = input.mul(mask).mul_(kept == 0.0 ? 0.0 : 1.0 / kept);
  return {output, mask};
}

} // namespace

TORCH_LIBRARY_IMPL(aten, MPS, library) {
  library.impl("empty.memory_format", empty);
  library.impl("empty_strided", empty_strided);
  library.impl("as_strided", as_strided);
  library.impl("view", view);
  library.impl("_reshape_alias", reshape_alias);
  library.impl("resize_", resize_);
  library.impl("copy_", copy_);
  library.impl("_copy_from", copy_from);
  library.impl("_copy_from_and_resize", copy_from_and_resize);
  library.impl("set_.source_Storage", set_to_storage);
  library.impl("set_.source_Storage_storage_offset", set_to_storage_part);
  library.impl("set_.source_Tensor", set_to_tensor);
  library.impl("set_", set_to_nothing);
  library.impl("convolution_overrideable", convolution);
  library.impl("convolution_backward_overrideable", convolution_backward);
  using Attention = at::_ops::_scaled_dot_product_attention_math_for_mps::schema;
  library.impl("_scaled_dot_product_attention_math_for_mps", static_cast<Attention*>(&attention));
  library.impl("_adaptive_avg_pool2d", average_pool);
  library.impl("adaptive_avg_pool2d.out", average_pool_out);
  library.impl("ldexp.Tensor", scale);
  library.impl("ldexp.out", scale_out);
  library.impl("ldexp_", scale_);
  library.impl("linear", linear);
  library.impl("native_dropout", native_dropout);
  library.impl("scaled_dot_product_attention", plain_attention);
}

TORCH_LIBRARY_IMPL(aten, AutogradMPS, library) {
  library.impl("linear", linear);
  library.impl("scaled_dot_product_attention", plain_attention);
}

} // namespace mps_simulator
