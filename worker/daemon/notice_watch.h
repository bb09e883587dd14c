// SPDX-License-Identifier: Apache-2.0
// NoticeWatch asks a NoticeSource again and again whether this machine will be taken away, and reports each change of
// the answer. While the source cannot be asked, the last answer counts. Thread rule: the control thread; it asks on
// `background`, which should have no other work, since an absent service may take long to fail.
//
// EC2 also makes rebalance recommendations: the instance is more likely than others to be taken away. They give no
// time, may come with the notice or long before it, and often the instance stays. So a recommendation is a hint, and no
// notice: for `spot.rebalance` after it the machine counts as one that will perhaps be taken away, and no longer.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/daemon/http_client.h"
#include "base/log.h"
#include "base/rpc/background.h"
#include "base/status.h"

namespace millrace::worker {

// The notice with which EC2 announces, two minutes ahead, that it takes a spot instance away. Format: the JSON of
// /latest/meta-data/spot/instance-action, {"action": "terminate", "time": "2026-09-18T08:22:00Z"}.
struct SpotNotice {
  std::string action;  // "terminate", "stop" or "hibernate"; the worker is gone after any of them
  Micros at = 0;       // microseconds since the epoch
  bool operator==(const SpotNotice&) const = default;
};

// Returns kCorrupt, quoting the text, if it is not a notice.
[[nodiscard]] Result<SpotNotice> ParseSpotNotice(std::string_view json);

// Returns when a rebalance recommendation was made, in microseconds since the epoch. Format: the JSON of
// /latest/meta-data/events/recommendations/rebalance, {"noticeTime": "2020-10-27T08:22:00Z"}. Returns kCorrupt, quoting
// the text, if it is none.
[[nodiscard]] Result<Micros> ParseRecommendation(std::string_view json);

// What a source knows of a machine.
struct Outlook {
  std::optional<SpotNotice> notice;   // nothing: there is none
  std::optional<Micros> recommended;  // when a recommendation was made; not asked for while there is a notice
};

inline constexpr const char* kPerhaps = "perhaps";  // the action of a notice that was made from a recommendation

// Returns the notice to act on at `now`: that of the outlook, or, for `hold` after a recommendation, one with the
// action kPerhaps. All times are in microseconds since the epoch. Example: recommended at 100, hold 50: until 150.
[[nodiscard]] std::optional<SpotNotice> NoticeAt(const Outlook& outlook, Micros hold, Micros now);

// NoticeSource finds out whether a machine will be taken away. The real source asks EC2's instance metadata service,
// version 2. PUT /latest/api/token with X-aws-ec2-metadata-token-ttl-seconds returns a token, which GET
// /latest/meta-data/spot/instance-action and GET /latest/meta-data/events/recommendations/rebalance send along; status
// 404 means that there is none. Thread rule: one thread at a time; it blocks.
class NoticeSource {
 public:
  virtual ~NoticeSource() = default;
  // Returns what is known, or a failure if the source cannot be asked.
  [[nodiscard]] virtual Result<Outlook> Ask() = 0;
};

class MetadataService final : public NoticeSource {
 public:
  static constexpr const char* kUrl = "http://169.254.169.254";  // the same on every instance

  // Returns kInvalid if `url` is not the URL of a server. Requires: the clock outlives this.
  static Result<std::unique_ptr<MetadataService>> At(const std::string& url, const Clock& clock);
  [[nodiscard]] Result<Outlook> Ask() override;

 private:
  MetadataService(http::Origin origin, const Clock& clock) : origin_(std::move(origin)), clock_(clock) {}
  [[nodiscard]] Status RenewToken();
  // Returns the body of an item of the metadata, or nothing if the service has no such item.
  [[nodiscard]] Result<std::optional<std::string>> Get(const std::string& item);
  [[nodiscard]] Result<http::Answer> GetOnce(const std::string& item) const;

  const http::Origin origin_;
  const Clock& clock_;
  std::string token_;
  Micros token_until_ = 0;
};

class NoticeWatch {
 public:
  static constexpr kj::Duration kPeriod = 5 * kj::SECONDS;  // as EC2 advises
  using Changed = std::function<void(const std::optional<SpotNotice>& notice)>;

  // Calls `changed` when the notice to act on (NoticeAt) appears, changes or disappears. `hold` is that of
  // recommendations, in microseconds; 0: they are logged, and nothing else. Requires: all references outlive this.
  NoticeWatch(kj::Timer& timer, const Clock& clock, rpc::Background& background, NoticeSource& source, Micros hold,
              Changed changed, Log log)
      : timer_(timer),
        clock_(clock),
        background_(background),
        source_(source),
        hold_(hold),
        changed_(std::move(changed)),
        log_(std::move(log)) {}
  void Start();  // once; asks at once

 private:
  kj::Promise<void> Cycle();
  void Take(const Result<Outlook>& answer);
  void TellRecommended(const Outlook& outlook);

  kj::Timer& timer_;
  const Clock& clock_;
  rpc::Background& background_;
  NoticeSource& source_;
  const Micros hold_;
  const Changed changed_;
  Log log_;
  std::optional<SpotNotice> known_;
  std::optional<Micros> recommended_;  // the last recommendation that was logged
  bool failing_ = false;               // the source could not be asked the last time; this is logged once
  kj::Promise<void> cycle_ = nullptr;
};

}  // namespace millrace::worker
