// The table of everything that a scheduler file may set: each key once, with its range and one line. The reader, the
// writer and docs/scheduler-settings.md come from it. A field of Settings that is not in it does not compile.
// Thread rule: as the Settings that the keys are bound to.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "schedulers/settings/settings.h"

namespace millrace::sched {

// Bound to a field of a struct that outlives it.
struct SettingKey {
  std::string name;   // within its section
  std::string range;  // for people: "above 0", "0 to 100", "fair, fifo, sjf or mlq"
  std::string one_line;
  // `text` as a scalar of TOML reads, without quotes. kInvalid, and why: "-1 is not above 0".
  std::function<Status(std::string_view text)> set;
  std::function<std::optional<std::string>()> get;  // as a value of TOML; none if the field holds nothing
};

struct SettingSection {
  std::string name;  // "fair", "pools.ads"
  std::string one_line;
  std::vector<SettingKey> keys;
};

[[nodiscard]] SettingSection PoolSection(std::string name, PoolSettings* pool);
[[nodiscard]] SettingSection QueueSection(std::string name, QueueSettings* queue);
// All sections but [pools.NAME] and [queues.NAME]; [pool_defaults] is first.
[[nodiscard]] std::vector<SettingSection> FixedSections(Settings* settings);

}  // namespace millrace::sched
