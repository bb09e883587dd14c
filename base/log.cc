#include "base/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/null_sink.h>
#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "base/text.h"

namespace millrace {
namespace {

constexpr std::size_t kFileBytes = std::size_t{64} << 20;
constexpr std::size_t kOldFiles = 3;

Log ToStandardError(const std::string& name) {
  return std::make_shared<spdlog::logger>(name, std::make_shared<spdlog::sinks::stderr_sink_mt>());
}

spdlog::level::level_enum LevelOf(const std::string& level) {
  if (level == "trace") return spdlog::level::trace;
  if (level == "debug") return spdlog::level::debug;
  if (level == "warn") return spdlog::level::warn;
  if (level == "error") return spdlog::level::err;
  if (level == "off") return spdlog::level::off;
  return spdlog::level::info;
}

class PrintableFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const std::string text = Printable({message.payload.data(), message.payload.size()});
    spdlog::details::log_msg printable = message;
    printable.payload = text;
    pattern_.format(printable, out);
  }
  [[nodiscard]] std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<PrintableFormatter>();
  }

 private:
  spdlog::pattern_formatter pattern_{"%Y-%m-%dT%H:%M:%S.%eZ %l %n: %v", spdlog::pattern_time_type::utc};
};

void SetUp(spdlog::logger& log, const std::string& level) {
  log.set_formatter(std::make_unique<PrintableFormatter>());
  log.set_level(LevelOf(level));
  log.flush_on(spdlog::level::info);
}

}  // namespace

Log MakeLog(const std::string& name, const std::string& level, const std::string& path) {
  Log log;
  std::string refused;
  if (!path.empty()) {
    try {
      auto sink = std::make_shared<spdlog::sinks::rotating_file_sink_mt>(path, kFileBytes, kOldFiles);
      log = std::make_shared<spdlog::logger>(name, std::move(sink));
    } catch (const spdlog::spdlog_ex& error) {
      refused = error.what();
    }
  }
  if (!log) log = ToStandardError(name);
  SetUp(*log, level);
  if (!refused.empty()) log->error("log file {}: {}; logging to standard error instead", path, refused);
  return log;
}

Log MakeSilentLog() {
  auto log = std::make_shared<spdlog::logger>("silent", std::make_shared<spdlog::sinks::null_sink_mt>());
  log->set_level(spdlog::level::off);
  return log;
}

}  // namespace millrace
