// From tensors of the device to CPU tensors over the same memory, and back.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include <vector>

namespace mps_simulator {

// The life of one operator on the CPU: lower() its arguments, run it, sync(), raise() its results.
// While it exists, CPU operators run without autograd and autocast, which have had their turn for this operator.
class Lowering {
 public:
  // A CPU tensor over the memory of `tensor`. Other tensors come back as they are.
  at::Tensor lower(const at::Tensor& tensor);

  // Tells lowered tensors' originals about a new shape, and about memory that has moved.
  void sync();

  // The tensor of the device for a result: an argument, a view of one, or a new one over the memory of the result.
  // Raises when the device could not have made it.
  at::Tensor raise(const at::Tensor& host);

 private:
  struct Pair {
    at::Tensor device;
    at::Tensor host;
  };
  struct StoragePair {
    c10::Storage device;
    c10::Storage host;
    const void* data; // of the host storage, when it was made
    size_t bytes;
  };

  c10::Storage lower_storage(const c10::Storage& device);
  c10::Storage raise_storage(const c10::Storage& host);

  at::AutoDispatchBelowADInplaceOrView below_autograd_;
  c10::impl::ExcludeDispatchKeyGuard below_autocast_{c10::autocast_dispatch_keyset};
  std::vector<Pair> tensors_;
  std::vector<StoragePair> storages_;
};

} // namespace mps_simulator
