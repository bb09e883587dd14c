// SPDX-License-Identifier: Apache-2.0
#include "master/otlp.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/release.h"
#include "base/text.h"

namespace millrace::master {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kInternal = 1, kOk = 1, kError = 2;  // SPAN_KIND_INTERNAL, STATUS_CODE_OK, STATUS_CODE_ERROR
constexpr const char* kSpanOfJob = "f000000000000000";

Json Text(const char* key, const std::string& value) {
  return {{"key", key}, {"value", {{"stringValue", Printable(value)}}}};
}

// In OTLP's JSON an integer of 64 bits is a text.
Json Number(const char* key, std::uint64_t value) {
  return {{"key", key}, {"value", {{"intValue", std::to_string(value)}}}};
}

std::string Nanoseconds(Micros time) { return std::to_string(std::max<Micros>(time, 0)) + "000"; }

// 16 bytes in hexadecimal: most of the cluster's id, and the job.
std::string TraceId(const EndedJob& job) {
  std::string id = job.cluster.substr(0, 24);
  id.resize(24, '0');
  return id + fmt::format("{:08x}", job.record.id.value);
}

// 8 bytes in hexadecimal, which are never those of kSpanOfJob.
std::string SpanId(const AttemptId& attempt) {
  return fmt::format("{}{:08x}{:07x}", attempt.task.reduce() ? 2 : 1, attempt.task.index, attempt.number & 0xfffffffU);
}

Json SpanOf(const EndedJob& job, std::size_t left_out) {
  const JobRecord& record = job.record;
  const bool succeeded = record.outcome->outcome == sched::JobOutcome::kSucceeded;
  Json attributes = {Text("millrace.job", ToText(record.id)),
                     Text("millrace.job.owner", record.request.owner),
                     Text("millrace.job.pool", PoolOf(record.request)),
                     Text("millrace.job.output", record.request.output),
                     Number("millrace.job.maps", record.figures.maps),
                     Number("millrace.job.reduces", record.figures.reduces),
                     Number("millrace.job.bytes_read", record.figures.bytes_read),
                     Number("millrace.job.bytes_shuffled", record.figures.bytes_shuffled),
                     Number("millrace.job.bytes_written", record.figures.bytes_written)};
  if (record.first_launch != 0)
    attributes.push_back(
        Number("millrace.job.wait_us", static_cast<std::uint64_t>(record.first_launch - record.submitted)));
  if (left_out > 0) attributes.push_back(Number("millrace.job.attempts_left_out", left_out));
  Json status = {{"code", succeeded ? kOk : kError}};
  if (!succeeded) status["message"] = Printable(record.outcome->reason);
  return {{"traceId", TraceId(job)},
          {"spanId", kSpanOfJob},
          {"name", Printable(record.request.name)},
          {"kind", kInternal},
          {"startTimeUnixNano", Nanoseconds(record.submitted)},
          {"endTimeUnixNano", Nanoseconds(record.ended)},
          {"attributes", std::move(attributes)},
          {"status", std::move(status)}};
}

Json SpanOf(const EndedJob& job, const AttemptRecord& attempt) {
  const AttemptId& id = attempt.attempt;
  Json attributes = {Text("millrace.attempt", ToText(id)),
                     Text("millrace.task.kind", id.task.reduce() ? "reduce" : "map"),
                     Text("millrace.attempt.state", std::string(ToString(attempt.state))),
                     Number("millrace.node", attempt.node.value)};
  if (const auto host = job.hosts.find(attempt.node); host != job.hosts.end())
    attributes.push_back(Text("host.name", host->second));
  // An attempt that was killed or preempted has done nothing wrong.
  const bool failed = attempt.state == AttemptState::kFailed || attempt.state == AttemptState::kLost;
  Json status = Json::object();
  if (attempt.state == AttemptState::kSucceeded) status["code"] = kOk;
  if (failed) status = {{"code", kError}, {"message", Printable(attempt.reason)}};
  const Micros ended = attempt.ended == 0 ? job.record.ended : attempt.ended;
  return {{"traceId", TraceId(job)},
          {"spanId", SpanId(id)},
          {"parentSpanId", kSpanOfJob},
          {"name", fmt::format("{} {}", id.task.reduce() ? "reduce" : "map", id.task.index)},
          {"kind", kInternal},
          {"startTimeUnixNano", Nanoseconds(attempt.launched)},
          {"endTimeUnixNano", Nanoseconds(std::max(ended, attempt.launched))},
          {"attributes", std::move(attributes)},
          {"status", std::move(status)}};
}

std::string RequestOf(const EndedJob& job, Json spans) {
  const std::string version = ThisRelease().version;
  const Json resource = {
      {"attributes",
       {Text("service.name", "millrace"), Text("service.version", version), Text("service.instance.id", job.cluster)}}};
  const Json request = {
      {"resourceSpans",
       Json::array({{{"resource", resource},
                     {"scopeSpans", Json::array({{{"scope", {{"name", "millrace"}, {"version", version}}},
                                                  {"spans", std::move(spans)}}})}}})}};
  return request.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::vector<std::string> OtlpRequests(EndedJob job) {
  std::ranges::sort(job.attempts, {}, [](const AttemptRecord& attempt) {
    return std::tuple(attempt.state == AttemptState::kSucceeded, attempt.launched - attempt.ended, attempt.attempt);
  });
  const std::size_t told = std::min(job.attempts.size(), kMostSpans);
  std::vector<std::string> requests;
  Json spans = Json::array({SpanOf(job, job.attempts.size() - told)});
  for (std::size_t i = 0; i < told; ++i) {
    if (spans.size() == kSpansInRequest) requests.push_back(RequestOf(job, std::exchange(spans, Json::array())));
    spans.push_back(SpanOf(job, job.attempts[i]));
  }
  requests.push_back(RequestOf(job, std::move(spans)));
  return requests;
}

}  // namespace millrace::master
