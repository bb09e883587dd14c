#include "worker/daemon/spot/notice_watch.h"

#include <memory>

#include "base/check.h"
#include "base/rpc/status_codec.h"

namespace millrace::worker {

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
