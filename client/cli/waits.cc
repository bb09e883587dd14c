#include "client/cli/waits.h"

#include <optional>

#include "client/cli/report.h"

namespace millrace::cli {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json OrNull(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

std::string WhatItWaitsFor(const job::SchedulerView::Wait& wait) {
  return wait.slot == "permit" ? "compute permits" : wait.slot + " slots";
}

Json WaitToJson(const job::SchedulerView::Wait& wait) {
  return {{"job", wait.job.value},
          {"name", wait.name},
          {"pool", wait.pool},
          {"kind", wait.slot},
          {"running", wait.running},
          {"pending", wait.pending},
          {"cause", wait.cause},
          {"used", wait.used},
          {"of", wait.of},
          {"others", JobNumbers(wait.others)},
          {"other_count", OrNull(wait.other_count)},
          {"next", wait.next_tried == 0
                       ? Json(nullptr)
                       : Json{{"running", wait.next_running}, {"tried", wait.next_tried}, {"to_it", wait.next_to_it}}},
          {"group", wait.group.empty() ? Json(nullptr) : Json(wait.group)},
          {"group_used", wait.group_used},
          {"group_share", OrNull(wait.group_share)},
          {"since", OrNull(wait.since)},
          {"until", OrNull(wait.until)},
          {"reason", wait.reason}};
}

}  // namespace millrace::cli
