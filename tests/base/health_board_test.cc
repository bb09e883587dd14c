#include "base/daemon/health_board.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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
  board_.Write({{}, {"a node is lost"}});
  EXPECT_EQ(StatusOf("/readyz?verbose"), 200u);
  EXPECT_EQ(Json::parse(board_.Get("/readyz").body)["warnings"], Json({"a node is lost"}));
  board_.Write({{"no worker is here", "a bad name \xff\""}, {}});
  EXPECT_EQ(StatusOf("/readyz"), 503u);
  EXPECT_EQ(StatusOf("/healthz"), 200u) << "it works as well as it can";
  const Json page = Json::parse(board_.Get("/readyz").body);
  EXPECT_EQ(page["status"], "not ready");
  EXPECT_EQ(page["reasons"][0], "no worker is here");
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
