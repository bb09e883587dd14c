#include "master/backup_runner.h"

#include <utility>

#include "base/rpc/status_codec.h"
#include "base/thread.h"

namespace millrace::master {

BackupRunner::~BackupRunner() {
  if (thread_.joinable()) thread_.join();
}

kj::Promise<BackupFacts> BackupRunner::Run(const std::string& directory) {
  if (std::exchange(under_way_, true)) {
    return rpc::ToException(Busy("back up to " + directory + ": another backup is under way; wait for its end"));
  }
  if (thread_.joinable()) thread_.join();
  auto answer = kj::newPromiseAndFulfiller<BackupFacts>();
  fulfiller_ = kj::mv(answer.fulfiller);
  Result<std::jthread> started = StartThread([this, directory] {
    NameThread("backup");
    mailbox_.Post([this, done = store_.BackUp(directory)] {
      under_way_ = false;
      if (done.ok()) return fulfiller_->fulfill(kj::cp(*done));
      fulfiller_->reject(rpc::ToException(done.status()));
    });
  });
  if (!started.ok()) {
    under_way_ = false;
    return rpc::ToException(started.status().Within("back up to " + directory));
  }
  thread_ = *std::move(started);
  return kj::mv(answer.promise);
}

}  // namespace millrace::master
