#include "schedulers/sim/experiments/report.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace millrace::sim::experiments {
namespace {

std::string CellText(const Cell& cell, const Column& column) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  const auto* number = std::get_if<double>(&cell);
  if (number == nullptr) return "-";
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.*f", column.decimals, *number);
  return buffer;
}

// Returns for each column whether it holds figures, which are aligned to the right.
bool HoldsFigures(const Table& table, std::size_t column) {
  return std::none_of(table.rows.begin(), table.rows.end(),
                      [&](const auto& row) { return std::holds_alternative<std::string>(row[column]); });
}

std::string Padded(const std::string& text, std::size_t width, bool right) {
  const std::string space(width - std::min(width, text.size()), ' ');
  return right ? space + text : text + space;
}

}  // namespace

std::string FormatTable(const Table& table) {
  std::string out = table.title + '\n';
  std::vector<std::string> lines(table.rows.size() + 1);
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    std::vector<std::string> texts = {table.columns[c].name};
    for (const auto& row : table.rows) texts.push_back(CellText(row[c], table.columns[c]));
    std::size_t width = 0;
    for (const std::string& text : texts) width = std::max(width, text.size());
    const bool right = HoldsFigures(table, c);
    for (std::size_t i = 0; i < lines.size(); ++i) lines[i] += "  " + Padded(texts[i], width, right);
  }
  for (std::string& line : lines) {
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

std::string FormatMarkdown(const Table& table) {
  std::string head = "|";
  std::string rule = "|";
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    head += ' ' + table.columns[c].name + " |";
    rule += HoldsFigures(table, c) ? "---:|" : "---|";
  }
  std::string out = table.title + ":\n\n" + head + '\n' + rule + '\n';
  for (const auto& row : table.rows) {
    out += '|';
    for (std::size_t c = 0; c < row.size(); ++c) out += ' ' + CellText(row[c], table.columns[c]) + " |";
    out += '\n';
  }
  return out;
}

std::string FormatJson(const Experiment& experiment, const Options& options, const std::vector<Table>& tables) {
  nlohmann::ordered_json out;
  out["experiment"] = experiment.name;
  out["paper"] = experiment.paper;
  out["seed"] = options.seed;
  out["tables"] = nlohmann::ordered_json::array();
  for (const Table& table : tables) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const auto& row : table.rows) {
      nlohmann::ordered_json cells = nlohmann::ordered_json::array();
      for (const Cell& cell : row) {
        std::visit(
            [&](const auto& value) {
              if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::monostate>) {
                cells.push_back(nullptr);
              } else {
                cells.push_back(value);
              }
            },
            cell);
      }
      rows.push_back(std::move(cells));
    }
    nlohmann::ordered_json columns = nlohmann::ordered_json::array();
    for (const Column& column : table.columns) columns.push_back(column.name);
    out["tables"].push_back({{"title", table.title}, {"columns", columns}, {"rows", rows}});
  }
  return out.dump() + '\n';
}

}  // namespace millrace::sim::experiments
