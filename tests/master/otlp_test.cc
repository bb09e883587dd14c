// SPDX-License-Identifier: Apache-2.0
#include "master/otlp.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <set>

namespace millrace::master {
namespace {

using Json = nlohmann::json;

EndedJob Job(std::uint32_t attempts) {
  EndedJob job;
  job.cluster = "0123456789abcdef0123456789abcdef";
  job.record.id = JobId{7};
  job.record.request.owner = "ann";
  job.record.request.name = "count \x1b[2J";
  job.record.submitted = 1'000'000;
  job.record.first_launch = 1'500'000;
  job.record.ended = 9'000'000;
  job.record.outcome = JobOutcomeRecord{sched::JobOutcome::kSucceeded, ""};
  for (std::uint32_t i = 0; i < attempts; ++i) {
    AttemptRecord attempt;
    attempt.attempt = {{JobId{7}, TaskKind::kMap, i}, 0};
    attempt.node = NodeId{3};
    attempt.state = AttemptState::kSucceeded;
    attempt.launched = 2'000'000;
    attempt.ended = 3'000'000 + i;
    job.attempts.push_back(attempt);
  }
  job.hosts = {{NodeId{3}, "three"}};
  return job;
}

Json SpansOf(const std::string& request) {
  const Json read = Json::parse(request);
  EXPECT_EQ(read.at("resourceSpans").size(), 1U);
  return read["resourceSpans"][0].at("scopeSpans").at(0).at("spans");
}

std::string Attribute(const Json& span, const std::string& key) {
  for (const Json& one : span.at("attributes")) {
    if (one.at("key") == key) return one.at("value").begin().value();
  }
  return "none";
}

// The fields and the sizes of the ids are those of opentelemetry/proto/trace/v1/trace.proto, in the JSON that the
// protocol describes: ids in hexadecimal, 64-bit integers as texts.
TEST(OtlpTest, AJobIsASpanAndItsAttemptsAreSpansBelowIt) {
  const auto requests = OtlpRequests(Job(1));
  ASSERT_EQ(requests.size(), 1U);
  const Json spans = SpansOf(requests[0]);
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0]["traceId"], "0123456789abcdef0123456700000007");
  EXPECT_EQ(spans[0]["spanId"].get<std::string>().size(), 16U);
  EXPECT_FALSE(spans[0].contains("parentSpanId"));
  EXPECT_EQ(spans[0]["startTimeUnixNano"], "1000000000");
  EXPECT_EQ(spans[0]["endTimeUnixNano"], "9000000000");
  EXPECT_EQ(spans[0]["status"]["code"], 1);
  EXPECT_EQ(spans[0]["name"].get<std::string>().find('\x1b'), std::string::npos);
  EXPECT_EQ(Attribute(spans[0], "millrace.job.wait_us"), "500000");
  EXPECT_EQ(Attribute(spans[0], "millrace.job.pool"), "ann") << "that of its owner, since it names none";
  EXPECT_EQ(spans[1]["traceId"], spans[0]["traceId"]);
  EXPECT_EQ(spans[1]["parentSpanId"], spans[0]["spanId"]);
  EXPECT_EQ(spans[1]["name"], "map 0");
  EXPECT_EQ(spans[1]["startTimeUnixNano"], "2000000000");
  EXPECT_EQ(spans[1]["endTimeUnixNano"], "3000000000");
  EXPECT_EQ(Attribute(spans[1], "host.name"), "three");
  EXPECT_EQ(Attribute(spans[1], "millrace.attempt"), "job7.m.0.0");
}

TEST(OtlpTest, WhatFailedIsAnErrorAndWhatWasKilledIsNone) {
  EndedJob job = Job(2);
  job.record.outcome = JobOutcomeRecord{sched::JobOutcome::kFailed, "too many failures"};
  job.attempts[0].state = AttemptState::kFailed;
  job.attempts[0].reason = "signal 11";
  job.attempts[1].state = AttemptState::kKilled;
  const Json spans = SpansOf(OtlpRequests(job).at(0));
  EXPECT_EQ(spans[0]["status"], Json({{"code", 2}, {"message", "too many failures"}}));
  std::set<std::string> status;
  for (std::size_t i = 1; i < spans.size(); ++i) status.insert(spans[i]["status"].dump());
  EXPECT_EQ(status, (std::set<std::string>{Json({{"code", 2}, {"message", "signal 11"}}).dump(), "{}"}));
}

TEST(OtlpTest, SpansHaveIdsOfTheirOwnInRequestsOfABoundedSize) {
  EndedJob job = Job(2500);
  job.attempts[0].attempt.task.kind = TaskKind::kReduce;
  job.attempts[1].attempt.number = 1;
  std::set<std::string> ids;
  std::size_t spans = 0;
  for (const std::string& request : OtlpRequests(job)) {
    const Json of_request = SpansOf(request);
    EXPECT_LE(of_request.size(), kSpansInRequest);
    spans += of_request.size();
    for (const Json& span : of_request) ids.insert(span["spanId"]);
  }
  EXPECT_EQ(spans, 2501U);
  EXPECT_EQ(ids.size(), 2501U);
}

TEST(OtlpTest, OfTooManyAttemptsTheFailedAndTheLongestAreTold) {
  EndedJob job = Job(kMostSpans + 10);
  job.attempts[0].state = AttemptState::kFailed;  // the shortest
  const auto requests = OtlpRequests(job);
  const Json first = SpansOf(requests.at(0));
  EXPECT_EQ(Attribute(first[0], "millrace.job.attempts_left_out"), "10");
  EXPECT_EQ(Attribute(first[1], "millrace.attempt"), "job7.m.0.0");
  EXPECT_EQ(Attribute(first[2], "millrace.attempt"), "job7.m." + std::to_string(kMostSpans + 9) + ".0");
}

}  // namespace
}  // namespace millrace::master
