#include "transfers.h"

#include "allocator.h"

#include <ATen/core/LegacyTypeDispatch.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <sstream>

namespace mps_simulator {

uint64_t hash_bytes(const void* data, size_t bytes) {
  constexpr uint64_t kFactor = 0x9E3779B97F4A7C15ULL;
  const auto mix = [](uint64_t sum, uint64_t word) {
    sum = (sum ^ word) * kFactor;
    return sum ^ (sum >> 29);
  };
  const auto* at = static_cast<const unsigned char*>(data);
  // Four sums at once, as the processor does.
  std::array<uint64_t, 4> sums = {bytes, 1, 2, 3};
  std::array<uint64_t, 4> words{};
  for (; bytes >= sizeof(words); at += sizeof(words), bytes -= sizeof(words)) {
    std::memcpy(words.data(), at, sizeof(words));
    for (size_t i = 0; i < words.size(); ++i) {
      sums[i] = mix(sums[i], words[i]);
    }
  }
  words = {};
  std::memcpy(words.data(), at, bytes);
  uint64_t whole = 0;
  for (size_t i = 0; i < words.size(); ++i) {
    whole = mix(whole, mix(sums[i], words[i]));
  }
  return whole;
}

bool Transfers::is_late(const at::Tensor& to, const at::Tensor& from, bool non_blocking) {
  if (!non_blocking || !to.is_mps() || !from.is_cpu() || from.dim() == 0 || from.numel() == 0) {
    return false;
  }
  // A layout that must be changed on the way goes through a second copy, which torch waits for.
  const bool relaid =
      from.sizes() == to.sizes() && from.is_non_overlapping_and_dense() && from.strides() != to.strides();
  return !relaid && !is_pinned(from.storage().data());
}

uint64_t Transfers::content(const c10::Storage& storage, const at::Tensor& like) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  at::Tensor view = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), like.dtype());
  view.unsafeGetTensorImpl()->set_sizes_and_strides(like.sizes(), like.strides(), like.storage_offset());
  const at::Tensor flat = view.contiguous();
  return hash_bytes(flat.const_data_ptr(), flat.nbytes());
}

void Transfers::add(const at::Tensor& to, const at::Tensor& from, std::string place) {
  at::Tensor shape = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(c10::make_intrusive<c10::StorageImpl>(
          c10::StorageImpl::use_byte_size_t(), 0, c10::DataPtr(nullptr, c10::kCPU), nullptr, /*resizable=*/false)),
      c10::DispatchKeySet(c10::DispatchKey::CPU),
      from.dtype());
  shape.unsafeGetTensorImpl()->set_sizes_and_strides(from.sizes(), from.strides(), from.storage_offset());
  const uint64_t bytes = content(from.storage(), shape);
  const c10::StorageImpl* target = to.storage().unsafeGetStorageImpl();

  const std::lock_guard<std::mutex> lock(mutex_);
  // What is overwritten as a whole no longer matters.
  std::erase_if(late_, [&](const Late& late) {
    return late.to._unsafe_get_target() == target && late.to_offset == to.storage_offset() &&
        at::IntArrayRef(late.to_sizes) == to.sizes();
  });
  late_.push_back(
      {++last_,
       to.storage().getWeakStorageImpl(),
       from.storage().getWeakStorageImpl(),
       from.storage().data(),
       shape,
       to.sizes().vec(),
       to.storage_offset(),
       bytes,
       std::move(place)});
  count_ = late_.size();
}

Transfers::Source Transfers::state_of(const Late& late) {
  const c10::Storage from(late.from.lock());
  if (!from || from.data() != late.data) {
    return Source::Freed;
  }
  return content(from, late.shape) == late.content ? Source::Intact : Source::Changed;
}

std::string Transfers::describe(const Late& late, const char* wrong) {
  std::ostringstream text;
  text << "mps-simulator --strict: " << wrong << ". The copy, with non_blocking=True, was of a " << late.shape.sizes()
       << " tensor of " << c10::getDtypeNames(late.shape.scalar_type()).first << " from memory that is not pinned, at " << late.place
       << ". A Mac may read the source at any time before the next synchronisation, and then takes what is there. "
          "Copy without non_blocking, or pin the source, or keep it unchanged and call torch.mps.synchronize() before "
          "the copy is used.";
  return text.str();
}

namespace {
constexpr const char* kFreed = "the source of a copy to mps was freed before the copy was known to be done";
constexpr const char* kChanged = "the source of a copy to mps was changed before the copy was known to be done";
constexpr const char* kUsed = "a tensor on mps was used before the copy that fills it was known to be done";
} // namespace

// Looking at a source may free it, which may wait for Python's lock: so never while holding ours.
template <class Wanted>
std::vector<Transfers::Late> Transfers::take(Wanted wanted) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto first = std::stable_partition(late_.begin(), late_.end(), [&](const Late& late) { return !wanted(late); });
  std::vector<Late> taken(std::make_move_iterator(first), std::make_move_iterator(late_.end()));
  late_.erase(first, late_.end());
  count_ = late_.size();
  return taken;
}

std::optional<std::string> Transfers::read(const at::Tensor& tensor) {
  if (none() || !tensor.defined() || !tensor.is_mps() || !tensor.has_storage()) {
    return std::nullopt;
  }
  const c10::StorageImpl* storage = tensor.storage().unsafeGetStorageImpl();
  const auto taken = take([&](const Late& late) { return late.to._unsafe_get_target() == storage; });
  if (taken.empty()) {
    return std::nullopt;
  }
  for (const Late& late : taken) {
    const Source source = state_of(late);
    if (source != Source::Intact) {
      return describe(late, source == Source::Freed ? kFreed : kChanged);
    }
  }
  return describe(taken.front(), kUsed);
}

std::optional<std::string> Transfers::finish() {
  return none() ? std::nullopt : finish_up_to(std::numeric_limits<uint64_t>::max());
}

void Transfers::mark(uintptr_t event) {
  const std::lock_guard<std::mutex> lock(mutex_);
  marks_[event] = last_;
}

std::optional<std::string> Transfers::finish(uintptr_t event) {
  uint64_t number = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto mark = marks_.find(event);
    number = mark == marks_.end() ? 0 : mark->second;
  }
  return finish_up_to(number);
}

std::optional<std::string> Transfers::finish_up_to(uint64_t number) {
  for (const Late& late : take([&](const Late& late) { return late.number <= number; })) {
    // A result that is gone cannot be wrong.
    const Source source = late.to.expired() ? Source::Intact : state_of(late);
    if (source != Source::Intact) {
      return describe(late, source == Source::Freed ? kFreed : kChanged);
    }
  }
  return std::nullopt;
}

} // namespace mps_simulator
