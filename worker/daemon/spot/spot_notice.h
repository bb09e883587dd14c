// The notice with which EC2 announces, two minutes ahead, that it takes a spot instance away. Format: the JSON of
// /latest/meta-data/spot/instance-action, {"action": "terminate", "time": "2026-09-18T08:22:00Z"}. Thread rule: values
// and free functions, any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"

namespace millrace::worker {

struct SpotNotice {
  std::string action;  // "terminate", "stop" or "hibernate"; the worker is gone after any of them
  Micros at = 0;       // microseconds since the epoch
  bool operator==(const SpotNotice&) const = default;
};

// Returns kCorrupt, quoting the text, if it is not a notice.
[[nodiscard]] Result<SpotNotice> ParseSpotNotice(std::string_view json);

}  // namespace millrace::worker
