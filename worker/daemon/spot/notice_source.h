// NoticeSource: where a machine learns that it will be taken away. The real one asks EC2's instance metadata service in
// its second version: PUT /latest/api/token with X-aws-ec2-metadata-token-ttl-seconds gives a token, which GET
// /latest/meta-data/spot/instance-action shows; status 404 means that there is no notice. A rebalance recommendation is
// not asked for: it comes without a time, and often without an end. Thread rule: one thread at a time; it blocks.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/http/http_client.h"
#include "base/status.h"
#include "worker/daemon/spot/spot_notice.h"

namespace millrace::worker {

class NoticeSource {
 public:
  virtual ~NoticeSource() = default;
  // Returns the notice, nothing if there is none, or why that is not known.
  [[nodiscard]] virtual Result<std::optional<SpotNotice>> Ask() = 0;
};

class MetadataService final : public NoticeSource {
 public:
  static constexpr const char* kUrl = "http://169.254.169.254";  // the same on every instance

  // kInvalid for what is no URL of a server. Requires: the clock outlives it.
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

}  // namespace millrace::worker
