// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/notice_watch.h"

#include <time.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/check.h"
#include "base/rpc/status_codec.h"
#include "base/text.h"

namespace millrace::worker {
namespace {

constexpr Micros kPatience = 2 * kSecond;
constexpr Micros kTokenLife = 6 * kHour;  // the longest that the service gives
constexpr unsigned kOk = 200, kUnauthorized = 401, kNotFound = 404;
constexpr std::size_t kMostShown = 200;

// Returns a text of a JSON object; empty: it has none of that name, or is no object.
std::string TextOf(const nlohmann::json& object, const char* key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<Micros> ParseTime(const std::string& when) {
  tm parts{};
  const char* const end = ::strptime(when.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return static_cast<Micros>(::timegm(&parts)) * kSecond;
}

}  // namespace

Result<SpotNotice> ParseSpotNotice(std::string_view json) {
  const auto parsed = nlohmann::json::parse(json, nullptr, false);
  const std::string action = TextOf(parsed, "action");
  const std::optional<Micros> at = ParseTime(TextOf(parsed, "time"));
  if (action.empty() || !at) return Corrupt("not a spot notice: " + Quote(json, kMostShown));
  return SpotNotice{action, *at};
}

Result<Micros> ParseRecommendation(std::string_view json) {
  const auto parsed = nlohmann::json::parse(json, nullptr, false);
  const std::optional<Micros> at = ParseTime(TextOf(parsed, "noticeTime"));
  if (!at) return Corrupt("not a rebalance recommendation: " + Quote(json, kMostShown));
  return *at;
}

std::optional<SpotNotice> NoticeAt(const Outlook& outlook, Micros hold, Micros now) {
  if (outlook.notice) return outlook.notice;
  if (!outlook.recommended || now - *outlook.recommended >= hold) return std::nullopt;
  return SpotNotice{kPerhaps, *outlook.recommended + hold};
}

Result<std::unique_ptr<MetadataService>> MetadataService::At(const std::string& url, const Clock& clock) {
  MILLRACE_ASSIGN(http::Origin origin, http::ParseOrigin(url));
  return std::unique_ptr<MetadataService>(new MetadataService(std::move(origin), clock));
}

Status MetadataService::RenewToken() {
  http::Request request{.method = "PUT", .target = "/latest/api/token"};
  request.headers.emplace_back("X-aws-ec2-metadata-token-ttl-seconds", std::to_string(kTokenLife / kSecond));
  MILLRACE_ASSIGN(http::Answer answer, http::Exchange(origin_, request, kPatience));
  const bool fits = answer.body.find_first_of("\r\n") == std::string::npos;
  if (answer.status != kOk || answer.body.empty() || !fits)
    return Unavailable("the metadata service gives no token: it answers with status " + std::to_string(answer.status));
  token_ = std::move(answer.body);
  token_until_ = clock_.Now() + kTokenLife / 2;
  return Status::Ok();
}

Result<http::Answer> MetadataService::GetOnce(const std::string& item) const {
  http::Request request{.method = "GET", .target = "/latest/meta-data/" + item};
  request.headers.emplace_back("X-aws-ec2-metadata-token", token_);
  return http::Exchange(origin_, request, kPatience);
}

Result<std::optional<std::string>> MetadataService::Get(const std::string& item) {
  if (token_.empty() || clock_.Now() >= token_until_) MILLRACE_TRY(RenewToken());
  MILLRACE_ASSIGN(http::Answer answer, GetOnce(item));
  if (answer.status == kUnauthorized) {  // the service was started again, or the clock was set
    MILLRACE_TRY(RenewToken());
    MILLRACE_ASSIGN(answer, GetOnce(item));
  }
  if (answer.status == kNotFound) return std::optional<std::string>();
  if (answer.status != kOk)
    return Unavailable("the metadata service answers with status " + std::to_string(answer.status));
  return std::optional(std::move(answer.body));
}

Result<Outlook> MetadataService::Ask() {
  Outlook outlook;
  MILLRACE_ASSIGN(const std::optional<std::string> action, Get("spot/instance-action"));
  if (action) {
    MILLRACE_ASSIGN(outlook.notice, ParseSpotNotice(*action));
    return outlook;
  }
  MILLRACE_ASSIGN(const std::optional<std::string> advice, Get("events/recommendations/rebalance"));
  if (advice) {
    MILLRACE_ASSIGN(outlook.recommended, ParseRecommendation(*advice));
  }
  return outlook;
}

void NoticeWatch::Start() {
  cycle_ = Cycle().eagerlyEvaluate(
      [](kj::Exception&& exception) { MILLRACE_CHECK(false, rpc::FromException(exception).message()); });
}

kj::Promise<void> NoticeWatch::Cycle() {
  auto asked = kj::newPromiseAndFulfiller<void>();
  const auto tell = std::make_shared<kj::Own<kj::PromiseFulfiller<void>>>(kj::mv(asked.fulfiller));
  const auto answer = std::make_shared<Result<Outlook>>(Outlook());
  background_.Run([answer, &source = source_] { *answer = source.Ask(); }, [tell] { (*tell)->fulfill(); });
  return asked.promise
      .then([this, answer] {
        Take(*answer);
        return timer_.afterDelay(kPeriod);
      })
      .then([this] { return Cycle(); });
}

void NoticeWatch::TellRecommended(const Outlook& outlook) {
  if (outlook.notice || outlook.recommended == recommended_) return;
  recommended_ = outlook.recommended;
  if (!recommended_) return;
  log_->warn(
      "EC2 recommended {} s ago to move work off this machine, since it is more likely than others to be taken "
      "away (a rebalance recommendation, which is no notice); {}",
      (clock_.Now() - *recommended_) / kSecond,
      hold_ > 0 ? "it is drained for the time that spot.rebalance says" : "it goes on (spot.rebalance is 0)");
}

void NoticeWatch::Take(const Result<Outlook>& answer) {
  if (!answer.ok()) {
    if (!failing_) {
      log_->warn("it is not known whether this machine will be taken away (spot.notice): {}; asking again every {} s",
                 answer.status().message(), kPeriod / kj::SECONDS);
    }
    failing_ = true;
    return;
  }
  if (failing_) log_->info("it is known again whether this machine will be taken away");
  failing_ = false;
  TellRecommended(*answer);
  const std::optional<SpotNotice> notice = NoticeAt(*answer, hold_, clock_.Now());
  if (notice == known_) return;
  known_ = notice;
  changed_(known_);
}

}  // namespace millrace::worker
