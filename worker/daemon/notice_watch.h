// SPDX-License-Identifier: Apache-2.0
// NoticeWatch asks a NoticeSource again and again whether this machine will be taken away, and reports each change of
// the answer. While the source cannot be asked, the last answer counts. Thread rule: the control thread; it asks on
// `background`, which should have no other work, since an absent service may take long to fail.
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

// NoticeSource finds out whether a machine will be taken away. The real source asks EC2's instance metadata service,
// version 2. PUT /latest/api/token with X-aws-ec2-metadata-token-ttl-seconds returns a token, which GET
// /latest/meta-data/spot/instance-action sends along; status 404 means that there is no notice. It does not ask for
// rebalance recommendations, since they give no time, and often the instance is not taken away after them. Thread rule:
// one thread at a time; it blocks.
class NoticeSource {
 public:
  virtual ~NoticeSource() = default;
  // Returns the notice, nothing if there is none, or a failure if the source cannot be asked.
  [[nodiscard]] virtual Result<std::optional<SpotNotice>> Ask() = 0;
};

class MetadataService final : public NoticeSource {
 public:
  static constexpr const char* kUrl = "http://169.254.169.254";  // the same on every instance

  // Returns kInvalid if `url` is not the URL of a server. Requires: the clock outlives this.
  static Result<std::unique_ptr<MetadataService>> At(const std::string& url, const Clock& clock);
  [[nodiscard]] Result<std::optional<SpotNotice>> Ask() override;

 private:
  MetadataService(http::Origin origin, const Clock& clock) : origin_(std::move(origin)), clock_(clock) {}
  [[nodiscard]] Status RenewToken();
  [[nodiscard]] Result<http::Answer> AskForAction() const;

  const http::Origin origin_;
  const Clock& clock_;
  std::string token_;
  Micros token_until_ = 0;
};

class NoticeWatch {
 public:
  static constexpr kj::Duration kPeriod = 5 * kj::SECONDS;  // as EC2 advises
  using Changed = std::function<void(const std::optional<SpotNotice>& notice)>;

  // Calls `changed` when a notice appears, changes or disappears. Requires: all references outlive this.
  NoticeWatch(kj::Timer& timer, rpc::Background& background, NoticeSource& source, Changed changed, Log log)
      : timer_(timer), background_(background), source_(source), changed_(std::move(changed)), log_(std::move(log)) {}
  void Start();  // once; asks at once

 private:
  kj::Promise<void> Cycle();
  void Take(const Result<std::optional<SpotNotice>>& answer);

  kj::Timer& timer_;
  rpc::Background& background_;
  NoticeSource& source_;
  const Changed changed_;
  Log log_;
  std::optional<SpotNotice> known_;
  bool failing_ = false;  // the source could not be asked the last time; this is logged once
  kj::Promise<void> cycle_ = nullptr;
};

}  // namespace millrace::worker
