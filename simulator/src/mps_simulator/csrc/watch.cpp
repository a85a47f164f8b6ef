#include "watch.h"

#include "allocator.h"
#include "generator.h"
#include "observe.h"
#include "transfers.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <utility>

namespace mps_simulator {

namespace {

// What Python said last, in this thread.
thread_local std::string said;

// The generator that the running operator may draw from, in this thread.
struct Drawing {
  at::Generator generator;
  uint64_t state = 0;
};
thread_local Drawing drawing_now;

// Operators whose results have a size, or a value, that the host must wait for.
const std::unordered_map<std::string, const char*> kWaits = {
    {"aten::_local_scalar_dense", "item"},
    {"aten::equal", "equal"},
    {"aten::nonzero", "nonzero"},
    {"aten::nonzero.out", "nonzero"},
    {"aten::masked_select", "masked_select"},
    {"aten::masked_select.out", "masked_select"},
    {"aten::_unique2", "unique"},
    {"aten::unique_dim", "unique"},
    {"aten::unique_consecutive", "unique"},
    {"aten::unique_dim_consecutive", "unique"},
    {"aten::bincount", "bincount"},
    {"aten::repeat_interleave.Tensor", "repeat_interleave"}};

uint64_t state_of(const at::Generator& generator) {
  const auto state = generator.get_state();
  return hash_bytes(state.const_data_ptr(), state.nbytes());
}

template <class F>
void each_tensor(const c10::IValue& value, F visit) {
  if (value.isTensor()) {
    visit(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) {
      visit(tensor);
    }
  } else if (value.isOptionalTensorList()) {
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector()) {
      if (tensor.has_value()) {
        visit(*tensor);
      }
    }
  }
}

// Whether the operator only looks at the same memory in another way.
bool makes_view(const c10::FunctionSchema& schema) {
  const auto& results = schema.returns();
  return !results.empty() && std::all_of(results.begin(), results.end(), [](const c10::Argument& result) {
    return result.alias_info() && !result.alias_info()->isWrite();
  });
}

class Watch final : public Observer {
 public:
  Watch(bool strict, const MpsSimulatorListener& listener) : strict_(strict), listener_(listener) {}

  void before(const c10::OperatorHandle& op, Support support, const torch::jit::Stack& stack) override {
    operators_.fetch_add(1, std::memory_order_relaxed);
    drawing_now = {};
    const std::string name = c10::toString(op.operator_name());
    if (support == Support::OnHost) {
      const std::lock_guard<std::mutex> lock(mutex_);
      ++fallbacks_[name];
    }
    const size_t first = stack.size() - op.schema().arguments().size();
    if (const char* how = waits(name, support, stack, first)) {
      wait(how);
    } else if (!transfers_.none() && !makes_view(op.schema())) {
      for (size_t i = first; i < stack.size(); ++i) {
        each_tensor(stack[i], [this](const at::Tensor& tensor) { check(transfers_.read(tensor)); });
      }
    }
  }

  void after(const c10::OperatorHandle& op) override {
    const Drawing drawn = std::exchange(drawing_now, {});
    if (drawn.generator.defined() && state_of(drawn.generator) != drawn.state) {
      const std::string name = c10::toString(op.operator_name());
      listener_.drew(name.c_str(), reinterpret_cast<uint64_t>(drawn.generator.unsafeGetGeneratorImpl()), drawn.state);
      check_said();
    }
  }

  void kernel(std::initializer_list<const at::Tensor*> read) override {
    operators_.fetch_add(1, std::memory_order_relaxed);
    for (const at::Tensor* tensor : read) {
      if (tensor != nullptr) {
        check(transfers_.read(*tensor));
      }
    }
  }

  void before_copy(const at::Tensor& to, const at::Tensor& from, bool non_blocking) override {
    operators_.fetch_add(1, std::memory_order_relaxed);
    if (from.is_cpu()) {
      if (!non_blocking) {
        check(transfers_.finish());
      }
    } else if (to.is_cpu() && !non_blocking) {
      wait("copy to the host");
    } else {
      check(transfers_.read(from));
    }
  }

  void after_copy(const at::Tensor& to, const at::Tensor& from, bool non_blocking) override {
    if (strict_ && Transfers::is_late(to, from, non_blocking)) {
      listener_.locate();
      transfers_.add(to, from, std::exchange(said, {}));
    }
  }

  void drawing(const at::Generator& generator) override {
    if (watched_draws.load(std::memory_order_relaxed) != 0) {
      drawing_now = {generator, state_of(generator)};
    }
  }

  void synchronising() override {
    wait("synchronize");
  }

  void event_recorded(uintptr_t event) override {
    if (strict_) {
      transfers_.mark(event);
    }
  }

  void event_awaited(uintptr_t event) override {
    check(transfers_.finish(event));
    count_wait("event");
  }

  std::string figures() {
    std::ostringstream text;
    text << "operators " << operators_ << "\nhazards " << hazards_ << "\nfloat64_refusals " << float64_refusals
         << "\nout_of_memory_refusals " << memory_refusals << "\npeak_memory_bytes " << accounts().highest() << '\n';
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [name, count] : fallbacks_) {
      text << name << ' ' << count << '\n';
    }
    return text.str();
  }

  static inline std::atomic<int> watched_draws{0};

 private:
  static const char* waits(const std::string& name, Support support, const torch::jit::Stack& stack, size_t first) {
    if (support == Support::OnHost) {
      return "fallback";
    }
    const auto found = kWaits.find(name);
    if (found != kWaits.end()) {
      return found->second;
    }
    // A mask as an index becomes a list of places, as nonzero() does it.
    const char* how = nullptr;
    for (size_t i = first; i < stack.size() && name.find("index") != std::string::npos; ++i) {
      if (stack[i].isOptionalTensorList()) {
        each_tensor(stack[i], [&how](const at::Tensor& index) {
          const auto type = index.defined() ? index.scalar_type() : c10::kLong;
          how = type == c10::kBool || type == c10::kByte ? "index by a mask" : how;
        });
      }
    }
    return how;
  }

  void wait(const char* how) {
    check(transfers_.finish());
    count_wait(how);
  }

  void count_wait(const char* how) const {
    if (listener_.synchronised) {
      listener_.synchronised(how);
    }
  }

  void check(const std::optional<std::string>& wrong) {
    if (wrong.has_value()) {
      hazards_.fetch_add(1, std::memory_order_relaxed);
      TORCH_CHECK(false, *wrong);
    }
  }

  void check_said() {
    if (!said.empty()) {
      check(std::exchange(said, {}));
    }
  }

  const bool strict_;
  const MpsSimulatorListener listener_;
  Transfers transfers_;
  std::atomic<uint64_t> operators_{0};
  std::atomic<uint64_t> hazards_{0};
  std::mutex mutex_;
  std::map<std::string, uint64_t> fallbacks_;
};

// Never destroyed: other threads may still be in it.
Watch* watch = nullptr;

} // namespace

} // namespace mps_simulator

extern "C" {

// To be called once, before the device is used.
__attribute__((visibility("default"))) void mps_simulator_watch(int strict, MpsSimulatorListener listener) {
  mps_simulator::watch = new mps_simulator::Watch(strict != 0, listener);
  mps_simulator::observer = mps_simulator::watch;
}

// From now on nothing is told to Python, which is about to end.
__attribute__((visibility("default"))) void mps_simulator_stop_watching() {
  mps_simulator::observer = nullptr;
}

// Answers the call that this thread is in.
__attribute__((visibility("default"))) void mps_simulator_say(const char* text) {
  mps_simulator::said = text;
}

// Adds to the number of regions whose draws are told to Python.
__attribute__((visibility("default"))) void mps_simulator_watch_draws(int more) {
  mps_simulator::Watch::watched_draws += more;
}

// Lines of a name and a number. The text is good until the next call.
__attribute__((visibility("default"))) const char* mps_simulator_figures() {
  static std::string text;
  text = mps_simulator::watch->figures();
  return text.c_str();
}

} // extern "C"
