// SPDX-License-Identifier: Apache-2.0
#include "lab/usage/usage_text.h"

#include <utility>

#include "base/console/json_output.h"
#include "base/console/table.h"
#include "base/text.h"
#include "base/units.h"

namespace millrace::usage {
namespace {

using Json = nlohmann::ordered_json;

std::string HeadOf(UsageBy by) {
  switch (by) {
    case UsageBy::kUser:
      return "USER";
    case UsageBy::kPool:
      return "POOL";
    case UsageBy::kDay:
      return "DAY (UTC)";
    case UsageBy::kJobName:
      return "JOB NAME";
  }
  return {};
}

std::vector<std::string> Cells(const UsageRow& row) {
  const auto time = [](Micros value) { return value == 0 ? std::string("-") : FormatDuration(value); };
  const auto bytes = [](std::uint64_t value) { return value == 0 ? std::string("-") : FormatBytes(value); };
  const auto count = [](std::uint64_t value) { return value == 0 ? std::string("-") : std::to_string(value); };
  return {row.key,
          std::to_string(row.jobs()),
          count(row.succeeded),
          count(row.failed),
          count(row.killed + row.lost),
          count(row.live),
          time(row.slots()),
          time(row.map),
          time(row.copy),
          time(row.compute),
          time(row.all_wasted()),
          bytes(row.bytes_read),
          bytes(row.bytes_shuffled),
          bytes(row.bytes_written),
          time(row.waited)};
}

// Returns all figures of a row with the names that CSV and JSON give them.
std::vector<std::pair<std::string, Json>> Figures(const UsageRow& row) {
  std::vector<std::pair<std::string, Json>> figures = {{"jobs", row.jobs()},
                                                       {"succeeded", row.succeeded},
                                                       {"failed", row.failed},
                                                       {"killed", row.killed},
                                                       {"live", row.live},
                                                       {"lost", row.lost},
                                                       {"slots_s", console::Seconds(row.slots())},
                                                       {"map_slots_s", console::Seconds(row.map)},
                                                       {"copy_slots_s", console::Seconds(row.copy)},
                                                       {"compute_slots_s", console::Seconds(row.compute)},
                                                       {"wasted_slots_s", console::Seconds(row.all_wasted())}};
  for (std::size_t i = 0; i < kWastes.size(); ++i)
    figures.emplace_back("wasted_" + std::string(kWasteNames[i]) + "_s", console::Seconds(row.wasted[i]));
  figures.emplace_back("bytes_read", row.bytes_read);
  figures.emplace_back("bytes_shuffled", row.bytes_shuffled);
  figures.emplace_back("bytes_written", row.bytes_written);
  figures.emplace_back("waited_s", console::Seconds(row.waited));
  return figures;
}

// A cell is quoted always, since names may hold anything. Programs that take a text for a formula see none.
std::string CsvText(const std::string& text) {
  std::string quoted = "\"";
  for (const char letter : text) quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return quoted + '"';
}

std::string CsvLine(const UsageRow& row, bool for_terminal) {
  std::string line = CsvText(for_terminal ? Printable(row.key) : row.key);
  for (const auto& [name, figure] : Figures(row)) line += ',' + figure.dump();
  return line + '\n';
}

Json RowJson(const UsageRow& row) {
  Json json = Json::object();
  console::SetBytes(json, "key", row.key);
  for (const auto& [name, figure] : Figures(row)) json[name] = figure;
  return json;
}

}  // namespace

std::string UsageTable(const UsageReport& report, std::size_t width) {
  const std::vector<console::Column> columns = {{HeadOf(report.by), console::kAlwaysShown, 10},
                                                {"JOBS"},
                                                {"OK", 6},
                                                {"FAILED", 6},
                                                {"KILLED", 6},
                                                {"LIVE", 6},
                                                {"SLOT TIME"},
                                                {"MAPS", 4},
                                                {"COPY", 3},
                                                {"COMPUTE", 3},
                                                {"WASTED", 5},
                                                {"READ", 2},
                                                {"SHUFFLED", 1},
                                                {"WRITTEN", 2},
                                                {"WAITED", 4}};
  std::vector<std::vector<std::string>> rows;
  for (const UsageRow& row : report.rows) rows.push_back(Cells(row));
  rows.push_back(Cells(report.total));
  return console::LayOut(columns, rows, width);
}

std::string PeriodLine(const UsageReport& report) {
  const std::string from = report.period.since == 0 ? "the beginning" : FormatUtc(report.period.since);
  std::string line = "from " + from + " to " + FormatUtc(report.period.until) + " UTC";
  if (report.period.since >= report.known_since) return line;
  line += "; all is known since " + FormatUtc(report.known_since);
  if (report.forgotten == 0) return line + "; the journal begins then";
  return line + "; jobs that ended before, up to " + ToText(JobId{report.forgotten}) +
         ", are no longer remembered (master.history_jobs)";
}

std::string UsageCsv(const UsageReport& report, bool for_terminal) {
  std::string text(kUsageByNames[static_cast<std::size_t>(report.by)]);
  for (const auto& [name, figure] : Figures(report.total)) text += ',' + name;
  text += '\n';
  for (const UsageRow& row : report.rows) text += CsvLine(row, for_terminal);
  return text + CsvLine(report.total, for_terminal);
}

Json ToJson(const UsageReport& report) {
  Json json{{"by", kUsageByNames[static_cast<std::size_t>(report.by)]},
            {"since_at", console::Seconds(report.period.since)},
            {"until_at", console::Seconds(report.period.until)},
            {"known_since_at", console::Seconds(report.known_since)},
            {"forgotten", report.forgotten == 0 ? Json() : Json(report.forgotten)},
            {"rows", Json::array()}};
  for (const UsageRow& row : report.rows) json["rows"].push_back(RowJson(row));
  json["total"] = RowJson(report.total);
  json["total"]["key"] = nullptr;
  return json;
}

}  // namespace millrace::usage
