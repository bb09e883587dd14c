// NoticeWatch asks again and again whether this machine will be taken away, and reports each change of the answer.
// While the source cannot be asked, the last answer counts. Thread rule: the control thread; it asks on `background`,
// which should have no other work, since an absent service may take long to fail.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <functional>
#include <optional>

#include "base/log.h"
#include "base/rpc/background.h"
#include "worker/daemon/spot/notice_source.h"

namespace millrace::worker {

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
