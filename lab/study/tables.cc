// SPDX-License-Identifier: Apache-2.0
#include "lab/study/tables.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace millrace::sim::experiments {
namespace {

// In characters, of which UTF-8 has one for all bytes that are not 10xxxxxx.
std::size_t Width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string Padded(const std::string& text, std::size_t width, bool right) {
  const std::string space(width - std::min(width, Width(text)), ' ');
  return right ? space + text : text + space;
}

// A bar would end the cell.
std::string WithoutBars(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? "\\|" : std::string(1, c);
  return out;
}

nlohmann::ordered_json CellJson(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  if (const auto* number = std::get_if<double>(&cell)) return *number;
  return nullptr;
}

nlohmann::ordered_json TableJson(const Table& table) {
  nlohmann::ordered_json columns = nlohmann::ordered_json::array();
  for (const Column& column : table.columns) columns.push_back(column.name);
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const auto& row : table.rows) {
    nlohmann::ordered_json cells = nlohmann::ordered_json::array();
    for (const Cell& cell : row) cells.push_back(CellJson(cell));
    rows.push_back(std::move(cells));
  }
  return {{"id", table.id}, {"title", table.title}, {"columns", std::move(columns)}, {"rows", std::move(rows)}};
}

}  // namespace

std::string FormatTable(const TextTable& table) {
  std::string out = table.caption + '\n';
  std::vector<std::string> lines(table.rows.size() + 1);
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    std::vector<std::string> texts = {table.columns[c].name};
    for (const auto& row : table.rows) texts.push_back(row[c]);
    std::size_t width = 0;
    for (const std::string& text : texts) width = std::max(width, Width(text));
    for (std::size_t i = 0; i < lines.size(); ++i) lines[i] += "  " + Padded(texts[i], width, table.columns[c].figures);
  }
  for (std::string& line : lines) {
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

std::string FormatMarkdown(const TextTable& table) {
  std::string head = "|";
  std::string rule = "|";
  for (const TextTable::Column& column : table.columns) {
    head += (column.name.empty() ? "" : ' ' + WithoutBars(column.name)) + " |";
    rule += column.figures ? "---:|" : "---|";
  }
  std::string out = (table.caption.empty() ? "" : table.caption + "\n\n") + head + '\n' + rule + '\n';
  for (const auto& row : table.rows) {
    out += '|';
    for (const std::string& text : row) out += ' ' + WithoutBars(text) + " |";
    out += '\n';
  }
  return out;
}

std::string FormatJson(std::string_view name, std::string_view paper, std::uint64_t seed, const Findings& findings) {
  nlohmann::ordered_json out;
  out["experiment"] = name;
  out["paper"] = paper;
  out["seed"] = seed;
  out["tables"] = nlohmann::ordered_json::array();
  for (const Table& table : findings.tables) out["tables"].push_back(TableJson(table));
  out["claims"] = nlohmann::ordered_json::array();
  for (const Claim& claim : findings.claims) {
    out["claims"].push_back({{"claim", claim.text}, {"paper", claim.paper}, {"ours", claim.ours}});
  }
  return out.dump() + '\n';
}

}  // namespace millrace::sim::experiments
