#include "events.h"

#include <c10/util/Exception.h>

#include <map>
#include <mutex>
#include <optional>

namespace mps_simulator {

namespace {

struct Event {
  bool timed;
  std::optional<Instant> recorded;
};

struct Events {
  std::mutex mutex;
  std::map<uint32_t, Event> all;
  uint32_t last = 0;

  Event& at(uint32_t id) {
    const auto found = all.find(id);
    TORCH_CHECK(found != all.end(), "Invalid Event ID: ", id);
    return found->second;
  }
};

Events& events() {
  static auto* instance = new Events();
  return *instance;
}

Instant recorded_at(uint32_t id) {
  const Event& event = events().at(id);
  TORCH_CHECK(event.timed, "Event ", id, " was made without enable_timing=True");
  TORCH_CHECK(event.recorded.has_value(), "Event ", id, " was not recorded");
  return *event.recorded;
}

} // namespace

uint32_t acquire_event(bool timed) {
  const std::lock_guard<std::mutex> lock(events().mutex);
  const uint32_t id = ++events().last;
  events().all.emplace(id, Event{timed, std::nullopt});
  return id;
}

void release_event(uint32_t id) {
  const std::lock_guard<std::mutex> lock(events().mutex);
  events().all.erase(id);
}

void record_event(uint32_t id) {
  const std::lock_guard<std::mutex> lock(events().mutex);
  events().at(id).recorded = std::chrono::steady_clock::now();
}

bool event_is_complete(uint32_t id) {
  const std::lock_guard<std::mutex> lock(events().mutex);
  events().at(id);
  return true;
}

double elapsed_time(uint32_t start, uint32_t end) {
  const std::lock_guard<std::mutex> lock(events().mutex);
  return milliseconds(recorded_at(start), recorded_at(end));
}

} // namespace mps_simulator
