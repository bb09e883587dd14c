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

}  // namespace

Result<SpotNotice> ParseSpotNotice(std::string_view json) {
  constexpr std::size_t kMostShown = 200;
  const Status bad = Corrupt("not a spot notice: " + Quote(json, kMostShown));
  const auto parsed = nlohmann::json::parse(json, nullptr, false);
  if (!parsed.is_object()) return bad;
  const auto text = [&parsed](const char* key) {
    const auto found = parsed.find(key);
    return found != parsed.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  SpotNotice notice;
  notice.action = text("action");
  const std::string when = text("time");
  tm parts{};
  const char* const end = ::strptime(when.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (notice.action.empty() || end == nullptr || *end != '\0') return bad;
  notice.at = static_cast<Micros>(::timegm(&parts)) * kSecond;
  return notice;
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

Result<http::Answer> MetadataService::AskForAction() const {
  http::Request request{.method = "GET", .target = "/latest/meta-data/spot/instance-action"};
  request.headers.emplace_back("X-aws-ec2-metadata-token", token_);
  return http::Exchange(origin_, request, kPatience);
}

Result<std::optional<SpotNotice>> MetadataService::Ask() {
  if (token_.empty() || clock_.Now() >= token_until_) MILLRACE_TRY(RenewToken());
  MILLRACE_ASSIGN(http::Answer answer, AskForAction());
  if (answer.status == kUnauthorized) {  // the service was started again, or the clock was set
    MILLRACE_TRY(RenewToken());
    MILLRACE_ASSIGN(answer, AskForAction());
  }
  if (answer.status == kNotFound) return std::optional<SpotNotice>();
  if (answer.status != kOk)
    return Unavailable("the metadata service answers with status " + std::to_string(answer.status));
  MILLRACE_ASSIGN(SpotNotice notice, ParseSpotNotice(answer.body));
  return std::optional(std::move(notice));
}

void NoticeWatch::Start() {
  cycle_ = Cycle().eagerlyEvaluate(
      [](kj::Exception&& exception) { MILLRACE_CHECK(false, rpc::FromException(exception).message()); });
}

kj::Promise<void> NoticeWatch::Cycle() {
  auto asked = kj::newPromiseAndFulfiller<void>();
  const auto tell = std::make_shared<kj::Own<kj::PromiseFulfiller<void>>>(kj::mv(asked.fulfiller));
  const auto answer = std::make_shared<Result<std::optional<SpotNotice>>>(std::optional<SpotNotice>());
  background_.Run([answer, &source = source_] { *answer = source.Ask(); }, [tell] { (*tell)->fulfill(); });
  return asked.promise
      .then([this, answer] {
        Take(*answer);
        return timer_.afterDelay(kPeriod);
      })
      .then([this] { return Cycle(); });
}

void NoticeWatch::Take(const Result<std::optional<SpotNotice>>& answer) {
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
  if (*answer == known_) return;
  known_ = *answer;
  changed_(known_);
}

}  // namespace millrace::worker
