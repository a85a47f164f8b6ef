#include "lowering.h"

#include "allocator.h"
#include "refusals.h"

#include <c10/core/CPUAllocator.h>

#include <algorithm>

namespace mps_simulator {

namespace {

c10::Storage make_storage(size_t bytes, c10::DataPtr data, c10::Allocator* allocator) {
  return c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), bytes, std::move(data), allocator, /*resizable=*/true);
}

void release_storage(void* storage) {
  delete static_cast<c10::Storage*>(storage);
}

// The memory of a device storage as the CPU sees it; the pointer keeps the storage alive.
c10::DataPtr host_pointer(const c10::Storage& device) {
  return {device.mutable_data(), new c10::Storage(device), &release_storage, c10::Device(c10::DeviceType::CPU)};
}

void copy_shape(const at::Tensor& from, const at::Tensor& to) {
  to.unsafeGetTensorImpl()->set_sizes_and_strides(from.sizes(), from.strides(), from.storage_offset());
}

bool same_shape(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && a.strides() == b.strides() && a.storage_offset() == b.storage_offset();
}

// A tensor with the type, shape and lazy bits of `like`, over another storage.
at::Tensor make_like(const at::Tensor& like, c10::Storage storage, c10::DispatchKey key) {
  c10::DispatchKeySet keys(key);
  if (like._is_zerotensor()) {
    keys = keys.add(c10::DispatchKey::ZeroTensor);
  }
  at::Tensor made = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), keys, like.dtype());
  copy_shape(like, made);
  made._set_conj(like.is_conj());
  made._set_neg(like.is_neg());
  if (like.unsafeGetTensorImpl()->is_wrapped_number()) {
    made.unsafeGetTensorImpl()->set_wrapped_number(true);
  }
  return made;
}

} // namespace

c10::Storage Lowering::lower_storage(const c10::Storage& device) {
  for (const StoragePair& pair : storages_) {
    if (pair.device.is_alias_of(device)) {
      return pair.host;
    }
  }
  const size_t bytes = device.nbytes();
  c10::Storage host = make_storage(bytes, host_pointer(device), c10::GetCPUAllocator());
  storages_.push_back({device, host, host.data(), bytes});
  return host;
}

c10::Storage Lowering::raise_storage(const c10::Storage& host) {
  for (const StoragePair& pair : storages_) {
    if (pair.host.is_alias_of(host)) {
      return pair.device;
    }
  }
  c10::Storage device = make_storage(host.nbytes(), adopt(host), device_allocator());
  storages_.push_back({device, host, host.data(), host.nbytes()});
  return device;
}

at::Tensor Lowering::lower(const at::Tensor& tensor) {
  if (!tensor.defined() || !tensor.is_mps()) {
    return tensor;
  }
  for (const Pair& pair : tensors_) {
    if (pair.device.is_same(tensor)) {
      return pair.host;
    }
  }
  at::Tensor host = make_like(tensor, lower_storage(tensor.storage()), c10::DispatchKey::CPU);
  tensors_.push_back({tensor, host});
  return host;
}

void Lowering::sync() {
  for (StoragePair& pair : storages_) {
    if (pair.host.data() != pair.data || pair.host.nbytes() != pair.bytes) {
      c10::StorageImpl* device = pair.device.unsafeGetStorageImpl();
      device->set_data_ptr_noswap(adopt(pair.host));
      device->set_nbytes(pair.host.nbytes());
      pair.data = pair.host.data();
      pair.bytes = pair.host.nbytes();
    }
  }
  for (const Pair& pair : tensors_) {
    c10::Storage device = raise_storage(pair.host.storage());
    if (!device.is_alias_of(pair.device.storage())) {
      pair.device.unsafeGetTensorImpl()->set_storage_keep_dtype(std::move(device));
    }
    if (!same_shape(pair.host, pair.device)) {
      copy_shape(pair.host, pair.device);
    }
  }
}

at::Tensor Lowering::raise(const at::Tensor& host) {
  if (!host.defined() || !host.is_cpu()) {
    return host;
  }
  check_layout(host.layout());
  for (const Pair& pair : tensors_) {
    if (pair.host.is_same(host)) {
      return pair.device;
    }
  }
  check_dtype(host.scalar_type());
  check_dimensions(static_cast<size_t>(host.dim()));
  return make_like(host, raise_storage(host.storage()), c10::DispatchKey::MPS);
}

} // namespace mps_simulator
