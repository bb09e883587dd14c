// SPDX-License-Identifier: Apache-2.0
// The notice itself, the metadata service as it is asked (over a socket), and the watch under driven time.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "tests/fakes/inline_background.h"
#include "tests/http_listener.h"
#include "worker/daemon/notice_watch.h"

namespace millrace::worker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kNotice = R"({"action": "terminate", "time": "2017-09-18T08:22:00Z"})";
constexpr Micros kAt = Micros{1505722920} * kSecond;  // `date -ud 2017-09-18T08:22:00Z +%s`

TEST(SpotNoticeTest, SaysWhatComesAndWhen) {
  const auto notice = ParseSpotNotice(kNotice);
  ASSERT_TRUE(notice.ok()) << notice.status().message();
  EXPECT_EQ(*notice, (SpotNotice{"terminate", kAt}));
}

TEST(SpotNoticeTest, WhatIsNoNoticeIsRefused) {
  for (const char* text : {"", "null", "[]", "{}", R"({"action": "stop"})",
                           R"({"action": 1, "time": "2017-09-18T08:22:00Z"})", R"({"action": "stop", "time": "soon"})",
                           R"({"action": "stop", "time": "2017-09-18T08:22:00Z+1"})", "<html>login</html>"})
    EXPECT_EQ(ParseSpotNotice(text).status().code(), StatusCode::kCorrupt) << text;
}

constexpr const char* kAdvice = R"({"noticeTime": "2020-10-27T08:22:00Z"})";
constexpr Micros kAdvised = Micros{1603786920} * kSecond;  // `date -ud 2020-10-27T08:22:00Z +%s`

TEST(RecommendationTest, SaysWhenItWasMade) {
  const auto at = ParseRecommendation(kAdvice);
  ASSERT_TRUE(at.ok()) << at.status().message();
  EXPECT_EQ(*at, kAdvised);
}

TEST(RecommendationTest, WhatIsNoneIsRefused) {
  for (const char* text : {"", "null", "[]", "{}", R"({"noticeTime": 1})", R"({"noticeTime": "soon"})",
                           R"({"time": "2020-10-27T08:22:00Z"})", kNotice, "<html>login</html>"})
    EXPECT_EQ(ParseRecommendation(text).status().code(), StatusCode::kCorrupt) << text;
}

TEST(NoticeAtTest, ARecommendationCountsForItsTimeAndANoticeAlways) {
  const Outlook advised{{}, 100}, both{SpotNotice{"stop", 130}, 100};
  EXPECT_EQ(NoticeAt({}, 50, 100), std::nullopt);
  EXPECT_EQ(NoticeAt(advised, 0, 100), std::nullopt) << "it is a hint, and without a hold nothing follows";
  EXPECT_EQ(NoticeAt(advised, 50, 100), (SpotNotice{kPerhaps, 150}));
  EXPECT_EQ(NoticeAt(advised, 50, 149), (SpotNotice{kPerhaps, 150}));
  EXPECT_EQ(NoticeAt(advised, 50, 150), std::nullopt);
  EXPECT_EQ(NoticeAt(advised, 50, 90), (SpotNotice{kPerhaps, 150})) << "this clock is behind that of EC2";
  EXPECT_EQ(NoticeAt(both, 0, 100), (SpotNotice{"stop", 130}));
  EXPECT_EQ(NoticeAt(both, 50, 1000), (SpotNotice{"stop", 130}));
}

// Answers requests one after the other, as told, and keeps their heads.
class FakeService {
 public:
  explicit FakeService(std::vector<std::string> answers) : answers_(std::move(answers)) {
    thread_ = std::thread([this] {
      for (const std::string& answer : answers_) heads_.push_back(listener_.Serve(answer));
    });
  }
  ~FakeService() {
    if (thread_.joinable()) thread_.join();
  }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + std::to_string(listener_.port()); }
  // Returns the heads of the requests, once all answers are given.
  [[nodiscard]] const std::vector<std::string>& Heads() {
    thread_.join();
    return heads_;
  }

 private:
  const std::vector<std::string> answers_;
  const HttpListener listener_;
  std::vector<std::string> heads_;
  std::thread thread_;
};

std::string Answer(const std::string& status, const std::string& body) {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

TEST(MetadataServiceTest, ShowsATokenAndUnderstandsAllAnswers) {
  FakeService service({Answer("200 OK", "secret=="), Answer("404 Not Found", ""), Answer("404 Not Found", ""),
                       Answer("404 Not Found", ""), Answer("200 OK", kAdvice), Answer("200 OK", kNotice)});
  const SystemClock clock;
  const auto source = MetadataService::At(service.url(), clock);
  ASSERT_TRUE(source.ok());
  const auto none = (*source)->Ask();
  ASSERT_TRUE(none.ok()) << none.status().message();
  EXPECT_FALSE(none->notice);
  EXPECT_FALSE(none->recommended);
  const auto advised = (*source)->Ask();
  ASSERT_TRUE(advised.ok()) << advised.status().message();
  EXPECT_FALSE(advised->notice);
  EXPECT_EQ(advised->recommended, kAdvised);
  const auto some = (*source)->Ask();
  ASSERT_TRUE(some.ok()) << some.status().message();
  ASSERT_TRUE(some->notice);
  EXPECT_EQ(some->notice->at, kAt);
  EXPECT_FALSE(some->recommended);
  const auto& heads = service.Heads();
  ASSERT_EQ(heads.size(), 6U) << "the token serves for all, and a notice is all that counts";
  EXPECT_THAT(heads[0], StartsWith("PUT /latest/api/token HTTP/1.1\r\n"));
  EXPECT_THAT(heads[0], HasSubstr("X-aws-ec2-metadata-token-ttl-seconds: 21600\r\n"));
  EXPECT_THAT(heads[1], StartsWith("GET /latest/meta-data/spot/instance-action HTTP/1.1\r\n"));
  EXPECT_THAT(heads[1], HasSubstr("X-aws-ec2-metadata-token: secret==\r\n"));
  EXPECT_THAT(heads[2], StartsWith("GET /latest/meta-data/events/recommendations/rebalance HTTP/1.1\r\n"));
  EXPECT_THAT(heads[2], HasSubstr("X-aws-ec2-metadata-token: secret==\r\n"));
  EXPECT_THAT(heads[5], StartsWith("GET /latest/meta-data/spot/instance-action HTTP/1.1\r\n"));
}

TEST(MetadataServiceTest, ATokenThatIsRefusedIsRenewed) {
  FakeService service({Answer("200 OK", "old"), Answer("401 Unauthorized", ""), Answer("200 OK", "new"),
                       Answer("404 Not Found", ""), Answer("404 Not Found", "")});
  const SystemClock clock;
  const auto source = MetadataService::At(service.url(), clock);
  const auto none = (*source)->Ask();
  EXPECT_TRUE(none.ok()) << none.status().message();
  EXPECT_THAT(service.Heads()[3], HasSubstr("X-aws-ec2-metadata-token: new\r\n"));
}

TEST(MetadataServiceTest, OtherAnswersSayNothing) {
  FakeService service({Answer("200 OK", "token"), Answer("500 Oops", ""), Answer("200 OK", "<html>"),
                       Answer("404 Not Found", ""), Answer("200 OK", "<html>")});
  const SystemClock clock;
  const auto source = MetadataService::At(service.url(), clock);
  EXPECT_EQ((*source)->Ask().status().code(), StatusCode::kUnavailable);
  EXPECT_EQ((*source)->Ask().status().code(), StatusCode::kCorrupt);
  EXPECT_EQ((*source)->Ask().status().code(), StatusCode::kCorrupt);
}

class FakeSource final : public NoticeSource {
 public:
  Result<Outlook> Ask() override {
    ++asked;
    return answer;
  }
  Result<Outlook> answer = Outlook();
  int asked = 0;
};

class NoticeWatchTest : public testing::Test {
 protected:
  ~NoticeWatchTest() noexcept override = default;

  void Advance(kj::Duration by) {
    now_ += by;
    clock_.Advance(by / kj::MICROSECONDS);
    timer_.advanceTo(now_);
    scope_.poll();
  }

  NoticeWatch Watch(Micros hold) {
    const auto changed = [this](const std::optional<SpotNotice>& notice) {
      told_.push_back(notice ? notice->action + " at " + std::to_string(notice->at) : "none");
    };
    return {timer_, clock_, background_, source_, hold, changed, MakeLog("worker", "", {.level = "off"})};
  }

  kj::EventLoop loop_;
  kj::WaitScope scope_{loop_};
  kj::TimePoint now_ = kj::origin<kj::TimePoint>();
  kj::TimerImpl timer_{now_};
  rpc::InlineBackground background_;
  FakeSource source_;
  DrivenClock clock_{1000 * kSecond};
  std::vector<std::string> told_;
  NoticeWatch watch_ = Watch(0);
};

TEST_F(NoticeWatchTest, AsksAtOnceAndThenEveryFiveSeconds) {
  watch_.Start();
  Advance(0 * kj::SECONDS);
  EXPECT_EQ(source_.asked, 1);
  Advance(5 * kj::SECONDS);
  EXPECT_EQ(source_.asked, 2);
  Advance(4 * kj::SECONDS);
  EXPECT_EQ(source_.asked, 2);
}

TEST_F(NoticeWatchTest, TellsOnceOfEachChange) {
  watch_.Start();
  Advance(5 * kj::SECONDS);
  EXPECT_THAT(told_, ElementsAre());
  source_.answer = Outlook{SpotNotice{"stop", 7}, {}};
  Advance(5 * kj::SECONDS);
  Advance(5 * kj::SECONDS);
  EXPECT_THAT(told_, ElementsAre("stop at 7"));
  source_.answer = Outlook{SpotNotice{"terminate", 8}, {}};
  Advance(5 * kj::SECONDS);
  source_.answer = Outlook();
  Advance(5 * kj::SECONDS);
  Advance(5 * kj::SECONDS);
  EXPECT_THAT(told_, ElementsAre("stop at 7", "terminate at 8", "none"));
}

TEST_F(NoticeWatchTest, WhatWasKnownHoldsWhileTheServiceIsAway) {
  source_.answer = Outlook{SpotNotice{"stop", 7}, {}};
  watch_.Start();
  Advance(0 * kj::SECONDS);
  source_.answer = Unavailable("nobody there");
  Advance(5 * kj::SECONDS);
  Advance(5 * kj::SECONDS);
  source_.answer = Outlook{SpotNotice{"stop", 7}, {}};
  Advance(5 * kj::SECONDS);
  EXPECT_THAT(told_, ElementsAre("stop at 7"));
  EXPECT_EQ(source_.asked, 4);
}

TEST_F(NoticeWatchTest, ARecommendationAloneChangesNothing) {
  watch_.Start();
  source_.answer = Outlook{{}, clock_.Now()};
  Advance(5 * kj::SECONDS);
  Advance(5 * kj::SECONDS);
  EXPECT_THAT(told_, ElementsAre());
}

TEST_F(NoticeWatchTest, WithAHoldTheMachineIsLeavingUntilTheHoldIsOverOrTheNoticeComes) {
  NoticeWatch watch = Watch(12 * kSecond);
  const Micros made = clock_.Now();
  const std::string perhaps = std::string(kPerhaps) + " at " + std::to_string(made + 12 * kSecond);
  source_.answer = Outlook{{}, made};
  watch.Start();
  Advance(0 * kj::SECONDS);
  Advance(5 * kj::SECONDS);
  EXPECT_THAT(told_, ElementsAre(perhaps)) << "once";
  source_.answer = Outlook{SpotNotice{"stop", 7}, {}};
  Advance(5 * kj::SECONDS);
  source_.answer = Outlook{{}, made};
  Advance(5 * kj::SECONDS);
  EXPECT_THAT(told_, ElementsAre(perhaps, "stop at 7", "none")) << "the recommendation is older than the hold by then";
  source_.answer = Outlook{{}, clock_.Now()};
  Advance(5 * kj::SECONDS);
  EXPECT_EQ(told_.size(), 4U) << "a new recommendation counts";
}

}  // namespace
}  // namespace millrace::worker
