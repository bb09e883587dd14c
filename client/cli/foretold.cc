// SPDX-License-Identifier: Apache-2.0
#include "client/cli/foretold.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <iterator>

#include "base/console/json_output.h"
#include "base/console/table.h"
#include "base/ids/counted.h"
#include "base/text.h"

namespace millrace::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kShownPercent = 90;

std::tm UtcOf(Micros time) {
  const std::time_t seconds = static_cast<std::time_t>(time / kSecond);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  return parts;
}

const job::ForetoldTime::Interval* Shown(const job::ForetoldTime& time) {
  const auto at = std::ranges::find(time.intervals, kShownPercent, &job::ForetoldTime::Interval::percent);
  return at == time.intervals.end() || time.records == 0 ? nullptr : &*at;
}

std::string Clause(const std::string& likely, const std::string& noun, const job::ForetoldTime& time, Micros made) {
  if (!time.at) return "its " + noun + " is unknown: " + Printable(time.why);
  std::string text = "likely " + likely + " " + ClockTime(*time.at, made);
  if (const auto* shown = Shown(time))
    text += " (" + ClockTime(shown->from, made) + " to " + ClockTime(shown->to, made) + ")";
  return text;
}

std::string Behind(const std::string& noun, const job::ForetoldTime& time) {
  if (!time.at) return "";
  const auto* shown = Shown(time);
  if (shown == nullptr) {
    return "  how sure the " + noun + " is, is not known yet: so far " +
           Counted(time.records, "such statement has", "such statements have") + " been put to the test\n";
  }
  std::string text = "  the interval of the " + noun + " is meant to hold in " + std::to_string(shown->percent) +
                     "% of cases; it follows from " + Counted(time.records, "earlier statement");
  if (time.elsewhere > 0) text += ", " + std::to_string(time.elsewhere) + " of them under another scheduler";
  if (time.stated > 0) {
    text += "; of the last " + std::to_string(time.stated) + " such intervals " + std::to_string(time.held) + " held";
  }
  return text + "\n";
}

Json TimeToJson(const job::ForetoldTime& time) {
  Json json{{"at", time.at ? console::Seconds(*time.at) : Json(nullptr)}, {"why", console::TextOrNull(time.why)}};
  json["intervals"] = Json::array();
  for (const auto& [percent, from, to] : time.intervals) {
    json["intervals"].push_back(
        {{"percent", percent}, {"from_at", console::Seconds(from)}, {"to_at", console::Seconds(to)}});
  }
  json["records"] = time.records;
  json["elsewhere"] = time.elsewhere;
  json["stated"] = time.stated;
  json["held"] = time.held;
  return json;
}

}  // namespace

std::string ClockTime(Micros time, Micros made) {
  constexpr Micros kNear = 10 * kMinute, kDay = 24 * kHour;
  const bool other_day = time / kDay != made / kDay;
  const char* const format = other_day ? "%Y-%m-%d %H:%M" : time - made < kNear ? "%H:%M:%S" : "%H:%M";
  const std::tm parts = UtcOf(time);
  std::array<char, 40> text{};
  (void)std::strftime(text.data(), text.size(), format, &parts);
  return text.data();
}

std::string ForetoldText(const job::Foretold& foretold) {
  std::string text;
  if (foretold.start) text = Clause("starts", "start", *foretold.start, foretold.made) + "; ";
  return text + Clause("done", "end", foretold.end, foretold.made);
}

std::string WaitingLine(JobId job, const std::string& reason, const job::Foretold* foretold, std::size_t width) {
  const std::string waits = ToText(job) + " " + reason;
  if (foretold == nullptr) return waits;
  std::string brief;
  if (foretold->start && foretold->start->at)
    brief = "likely starts " + ClockTime(*foretold->start->at, foretold->made);
  if (foretold->end.at)
    brief += (brief.empty() ? "likely done " : ", done ") + ClockTime(*foretold->end.at, foretold->made);
  brief += " (UTC)";
  const std::string texts[] = {waits + "; " + ForetoldText(*foretold) + " (UTC)", waits + "; " + brief,
                               ToText(job) + ": " + brief};
  const auto* fits =
      std::ranges::find_if(texts, [width](const std::string& t) { return console::PlacesOf(t) <= width; });
  return fits == std::end(texts) ? texts[std::size(texts) - 1] : *fits;
}

std::string ForetoldLines(const job::Foretold& foretold) {
  std::string text = "  " + ForetoldText(foretold) + " (UTC)\n";
  if (foretold.start) text += Behind("start", *foretold.start);
  return text + Behind("end", foretold.end);
}

std::string ForetoldTime(const job::ForetoldTime& time, Micros made) {
  if (!time.at) return "-";
  const auto* shown = Shown(time);
  return ClockTime(*time.at, made) +
         (shown == nullptr ? "" : " (" + ClockTime(shown->from, made) + "-" + ClockTime(shown->to, made) + ")");
}

Json ToJson(const job::Foretold& foretold) {
  return {{"made_at", console::Seconds(foretold.made)},
          {"start", foretold.start ? TimeToJson(*foretold.start) : Json(nullptr)},
          {"end", TimeToJson(foretold.end)}};
}

Json ForetoldOrNull(const std::vector<job::Foretold>& foretold, JobId job) {
  const auto at = std::ranges::find(foretold, job, &job::Foretold::job);
  return at == foretold.end() ? Json(nullptr) : ToJson(*at);
}

}  // namespace millrace::cli
