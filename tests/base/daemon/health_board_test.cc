// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/daemon/health_pages.h"

namespace millrace::daemon {
namespace {

using Json = nlohmann::json;

class HealthBoardTest : public testing::Test {
 protected:
  unsigned StatusOf(const std::string& target) { return board_.Get(target).status; }

  Micros now_ = kHour;
  HealthBoard board_{[this] { return now_; }};
};

TEST_F(HealthBoardTest, BeforeTheStartItLivesAndIsNotReady) {
  EXPECT_EQ(StatusOf("/healthz"), 200u);
  EXPECT_EQ(StatusOf("/readyz"), 503u);
}

TEST_F(HealthBoardTest, ItIsReadyUntilThereIsAFaultAndSaysWhy) {
  board_.Write({{}, {{NoticeCode::kNodeLost, "a node is lost"}}});
  EXPECT_EQ(StatusOf("/readyz?verbose"), 200u);
  EXPECT_EQ(Json::parse(board_.Get("/readyz").body)["warnings"],
            Json::parse(R"([{"code": "node-lost", "level": "warning", "text": "a node is lost"}])"));
  board_.Write({{{NoticeCode::kNoWorkers, "no worker is here"}, {NoticeCode::kReadOnly, "a bad name \xff\""}}, {}});
  EXPECT_EQ(StatusOf("/readyz"), 503u);
  EXPECT_EQ(StatusOf("/healthz"), 200u) << "it works as well as it can";
  const Json page = Json::parse(board_.Get("/readyz").body);
  EXPECT_EQ(page["status"], "not ready");
  EXPECT_EQ(page["reasons"][0]["code"], "no-workers");
  EXPECT_EQ(page["reasons"][0]["text"], "no worker is here");
}

// A probe that fails takes the master away, which mends nothing.
TEST_F(HealthBoardTest, ARiskIsToldAndLeavesItReady) {
  board_.Write({{}, {{NoticeCode::kSingleReplica, "7 blocks have one replica"}}});
  EXPECT_EQ(StatusOf("/readyz"), 200u);
  const Json page = Json::parse(board_.Get("/readyz").body);
  EXPECT_EQ(page["status"], "ready");
  EXPECT_EQ(page["warnings"][0]["code"], "single-replica");
  EXPECT_EQ(page["warnings"][0]["level"], "risk");
}

TEST_F(HealthBoardTest, AControlThreadThatStandsStillIsSeen) {
  board_.Write({});
  now_ += HealthBoard::kStale;
  EXPECT_EQ(StatusOf("/healthz"), 200u);
  now_ += 1;
  EXPECT_EQ(StatusOf("/healthz"), 503u);
  EXPECT_EQ(StatusOf("/readyz"), 503u);
  board_.Write({});
  EXPECT_EQ(StatusOf("/healthz"), 200u);
}

TEST_F(HealthBoardTest, ThereAreNoOtherPages) {
  board_.Write({});
  for (const char* target : {"/", "", "/readyz/", "/readyzz", "/../readyz"})
    EXPECT_EQ(StatusOf(target), 404u) << target;
}

}  // namespace
}  // namespace millrace::daemon
