// SPDX-License-Identifier: Apache-2.0
// The trace of a job that has ended, in the words of OpenTelemetry: requests of OTLP over HTTP with JSON
// (https://opentelemetry.io/docs/specs/otlp/#otlphttp, version 1.0 and later). One span is the job, and each attempt is
// a span below it. Pure. Thread rule: any thread.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/ids/ids.h"
#include "master/jobs/job_record.h"
#include "master/jobs/job_table.h"

namespace millrace::master {

struct EndedJob {
  std::string cluster;  // its id, hexadecimal
  JobRecord record;
  std::vector<AttemptRecord> attempts;
  std::map<NodeId, std::string> hosts;  // of nodes that are still known
};

inline constexpr std::size_t kSpansInRequest = 1000;
inline constexpr std::size_t kMostSpans = 20'000;  // of a job

// Returns the bodies of the requests, each with at most kSpansInRequest spans; the first one begins with the job. If it
// has more attempts than kMostSpans, those that did not succeed are told of first, then the longest, and the job has an
// attribute with the number of the others. Ids follow from those of the cluster, the job and the attempt, so a request
// that is sent twice is the same one. Requires: the job has ended.
[[nodiscard]] std::vector<std::string> OtlpRequests(EndedJob job);

}  // namespace millrace::master
