// SPDX-License-Identifier: Apache-2.0
#include "base/daemon/metrics.h"

#include <charconv>
#include <cmath>
#include <cstdint>

#include "base/text.h"

namespace millrace::daemon {
namespace {

constexpr kj::Duration kMeasureEvery = 1 * kj::SECONDS;

std::string_view NameOfType(MetricType type) {
  switch (type) {
    case MetricType::kGauge:
      return "gauge";
    case MetricType::kCounter:
      return "counter";
    case MetricType::kHistogram:
      return "histogram";
  }
  return "untyped";
}

// The shortest text that is read as the same number.
std::string NumberText(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  char text[64];
  const auto [end, wrong] = std::to_chars(text, text + sizeof text, value);
  return wrong == std::errc() ? std::string(text, end) : "NaN";
}

std::string LabelText(std::string_view value) {
  std::string text;
  for (const char c : Printable(value)) {
    if (c == '\\' || c == '"') text += '\\';
    text += c;
  }
  return text;
}

}  // namespace

void MetricsText::Begin(std::string_view name, MetricType type, std::string_view help) {
  name_ = name;
  text_ +=
      "# HELP " + name_ + " " + std::string(help) + "\n# TYPE " + name_ + " " + std::string(NameOfType(type)) + "\n";
}

void MetricsText::Add(Labels labels, double value) {
  text_ += name_;
  const char* before = "{";
  for (const auto& [label, of] : labels) {
    text_ += before + std::string(label) + "=\"" + LabelText(of) + "\"";
    before = ",";
  }
  text_ += (labels.size() == 0 ? " " : "} ") + NumberText(value) + "\n";
}

void MetricsText::Add(const Histogram& histogram) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < histogram.counts().size(); ++i) {
    sum += histogram.counts()[i];
    const std::string bound = i < histogram.bounds().size() ? NumberText(histogram.bounds()[i]) : "+Inf";
    text_ += name_ + "_bucket{le=\"" + bound + "\"} " + std::to_string(sum) + "\n";
  }
  text_ += name_ + "_sum " + NumberText(histogram.sum()) + "\n" + name_ + "_count " + std::to_string(sum) + "\n";
}

void MetricsText::One(std::string_view name, MetricType type, std::string_view help, double value) {
  Begin(name, type, help);
  Add({}, value);
}

Result<std::unique_ptr<MetricsPages>> MetricsPages::Start(const std::string& listen, const Log& log) {
  std::unique_ptr<MetricsPages> pages(new MetricsPages);
  if (listen.empty()) return pages;
  const std::string address = listen.find(':') == std::string::npos ? "127.0.0.1:" + listen : listen;
  Result<std::unique_ptr<http::HttpServer>> server =
      http::HttpServer::Start(address, [&pages = *pages](const std::string& target) { return pages.Get(target); });
  if (!server.ok()) return server.status().Within("metrics.listen");
  pages->server_ = *std::move(server);
  log->info("metrics are at http://{}:{}/metrics", address.substr(0, address.rfind(':')), pages->server_->port());
  return pages;
}

kj::Promise<void> MetricsPages::Follow(kj::Timer& timer, std::function<std::string()> ask) {
  if (server_ == nullptr) return kj::NEVER_DONE;
  Write(ask());
  return timer.afterDelay(kMeasureEvery).then([this, &timer, ask = std::move(ask)]() mutable {
    return Follow(timer, std::move(ask));
  });
}

void MetricsPages::Write(std::string text) {
  auto made = std::make_shared<const std::string>(std::move(text));
  const std::lock_guard lock(mutex_);
  text_.swap(made);
}

http::Answer MetricsPages::Get(const std::string& target) const {
  if (target.substr(0, target.find('?')) != "/metrics") return {.status = 404, .body = "there is /metrics\n"};
  std::shared_ptr<const std::string> text;
  {
    const std::lock_guard lock(mutex_);
    text = text_;
  }
  if (text == nullptr) return {.status = 503, .body = "nothing was measured yet\n"};
  return {.type = "text/plain; version=0.0.4; charset=utf-8", .body = *text};
}

}  // namespace millrace::daemon
