// SPDX-License-Identifier: Apache-2.0
#include "base/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/null_sink.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <string_view>
#include <utility>

#include "base/text.h"

namespace millrace {
namespace {

using spdlog::details::log_msg;

spdlog::level::level_enum LevelOf(const std::string& level) {
  if (level == "trace") return spdlog::level::trace;
  if (level == "debug") return spdlog::level::debug;
  if (level == "warn") return spdlog::level::warn;
  if (level == "error") return spdlog::level::err;
  if (level == "off") return spdlog::level::off;
  return spdlog::level::info;
}

class TextFormatter final : public spdlog::formatter {
 public:
  explicit TextFormatter(std::string name) : name_(std::move(name)) {}

  void format(const log_msg& message, spdlog::memory_buf_t& out) override {
    const std::string text = Printable({message.payload.data(), message.payload.size()});
    log_msg printable = message;
    printable.payload = text;
    printable.logger_name = name_;
    pattern_.format(printable, out);
  }
  [[nodiscard]] std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<TextFormatter>(name_);
  }

 private:
  std::string name_;
  spdlog::pattern_formatter pattern_{"%Y-%m-%dT%H:%M:%S.%eZ %l %n: %v", spdlog::pattern_time_type::utc};
};

class JsonFormatter final : public spdlog::formatter {
 public:
  JsonFormatter(std::string component, std::string node) : component_(std::move(component)), node_(std::move(node)) {}

  void format(const log_msg& message, spdlog::memory_buf_t& out) override {
    spdlog::memory_buf_t begin;
    begin_.format(message, begin);
    std::string line(begin.data(), begin.size());
    line += ",\"component\":" + JsonString(component_);
    if (!node_.empty()) line += ",\"node\":" + JsonString(node_);
    line += ",\"message\":" + JsonString({message.payload.data(), message.payload.size()}) + "}\n";
    out.append(line.data(), line.data() + line.size());
  }
  [[nodiscard]] std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<JsonFormatter>(component_, node_);
  }

 private:
  std::string component_, node_;
  spdlog::pattern_formatter begin_{R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l")", spdlog::pattern_time_type::utc,
                                   ""};
};

spdlog::sink_ptr OpenLogFile(const LogOptions& options, std::string* refused) {
  try {
    return std::make_shared<spdlog::sinks::rotating_file_sink_mt>(options.file, options.file_bytes,
                                                                  static_cast<std::size_t>(options.old_files));
  } catch (const spdlog::spdlog_ex& error) {
    *refused = error.what();
    return nullptr;
  }
}

}  // namespace

void DeclareLogOptions(OptionSet* set, LogOptions* options) {
  const LogOptions initial;
  set->Choice("log.format", &options->format, initial.format, {"text", "json"},
              "how log lines are written: as text for people, or each as a JSON object");
  set->Text("log.file", &options->file, initial.file, "file for the log; empty: standard error");
  set->Bytes("log.file_bytes", &options->file_bytes, initial.file_bytes, std::uint64_t{4} << 10, std::uint64_t{1} << 40,
             "a log file of this size is put aside and a new one begun");
  set->Integer("log.old_files", &options->old_files, initial.old_files, 0, 1000, "how many old log files are kept");
}

Log MakeLog(const std::string& component, const std::string& node, const LogOptions& options) {
  std::string refused;
  spdlog::sink_ptr sink = options.file.empty() ? nullptr : OpenLogFile(options, &refused);
  if (sink == nullptr) sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  auto log = std::make_shared<spdlog::logger>(component, std::move(sink));
  NameLog(log, component, node, options);
  log->set_level(LevelOf(options.level));
  log->flush_on(spdlog::level::info);
  if (!refused.empty()) log->error("log file {}: {}; logging to standard error instead", options.file, refused);
  return log;
}

void NameLog(const Log& log, const std::string& component, const std::string& node, const LogOptions& options) {
  if (options.format == "json") {
    log->set_formatter(std::make_unique<JsonFormatter>(component, node));
  } else {
    log->set_formatter(std::make_unique<TextFormatter>(node.empty() ? component : component + " " + node));
  }
}

Log MakeSilentLog() {
  auto log = std::make_shared<spdlog::logger>("silent", std::make_shared<spdlog::sinks::null_sink_mt>());
  log->set_level(spdlog::level::off);
  return log;
}

}  // namespace millrace
