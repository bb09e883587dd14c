// SPDX-License-Identifier: Apache-2.0
#include "client/cli/history_json.h"

#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

using Json = nlohmann::json;

// tests/docs/test_json_page.py compares each kind with docs/use/json.md.

TEST(HistoryJsonTest, FieldsThatALineLeavesOutAreThere) {
  EXPECT_EQ(Json(HistoryJson(7, "1764374156123456 AttemptSucceeded attempt=job3.m.17.0 cpu=1500000")), Json::parse(R"({
      "number": 7, "at": 1764374156.123456, "event": "AttemptSucceeded", "attempt": "job3.m.17.0", "input_bytes": 0,
      "output_bytes": 0, "cpu_s": 1.5, "waited_s": 0.0, "start_s": 0.0})"));
}

TEST(HistoryJsonTest, TextsAreDecoded) {
  const Json json = HistoryJson(1, "5 JobKilled job=job3 reason=not%20now%21");
  EXPECT_EQ(json["job"], 3);
  EXPECT_EQ(json["reason"], "not now!");
  EXPECT_EQ(HistoryJson(1, "5 JobKilled job=job3 reason=%FF")["reason_encoding"], "percent");
}

TEST(HistoryJsonTest, MarksAreEventsWithoutFields) {
  EXPECT_EQ(Json(HistoryJson(2, "3000000 woken")), Json::parse(R"({"number": 2, "at": 3.0, "event": "woken"})"));
}

TEST(HistoryJsonTest, ALineOfANewerMasterIsKept) {
  for (const char* line : {"5 NodeRetired node=n1", "", "5 JobKilled", "five JobKilled job=job1"}) {
    EXPECT_EQ(Json(HistoryJson(9, line)), (Json{{"number", 9}, {"at", nullptr}, {"event", "unknown"}, {"line", line}}));
  }
}

}  // namespace
}  // namespace millrace::cli
