// Events that remember when they were recorded. Work is done when a call returns, so they are always complete.
#pragma once

#include <chrono>
#include <cstdint>

namespace mps_simulator {

using Instant = std::chrono::steady_clock::time_point;

inline double milliseconds(Instant from, Instant to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

// The events of torch.mps.Event, by number. Thread safe.
uint32_t acquire_event(bool timed);
void release_event(uint32_t id);
void record_event(uint32_t id);
bool event_is_complete(uint32_t id);
double elapsed_time(uint32_t start, uint32_t end);

} // namespace mps_simulator
