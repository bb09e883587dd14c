// SPDX-License-Identifier: Apache-2.0
#include "base/rpc/control_thread.h"

#include <exception>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/rpc/status_codec.h"
#include "base/thread.h"

namespace millrace::rpc {

// All threads that post share the queue. `turn` and `again` belong to the loop.
struct Mailbox::Impl {
  void Arm() {
    auto wake_up = kj::newPromiseAndCrossThreadFulfiller<void>();
    turn = wake_up.promise
               .then([this] {
                 Drain();
                 again = kj::evalLater([this] { Arm(); }).eagerlyEvaluate(nullptr);
               })
               .eagerlyEvaluate(nullptr);
    const std::lock_guard lock(mutex);
    wake = kj::mv(wake_up.fulfiller);
    if (!queue.empty()) wake->fulfill();
  }

  void Drain() {
    std::vector<std::function<void()>> batch;
    {
      const std::lock_guard lock(mutex);
      batch.swap(queue);
    }
    for (auto& f : batch) {
      KJ_IF_MAYBE (thrown, kj::runCatchingExceptions([&f] { f(); })) {
        MILLRACE_CHECK(false, "a function in the mailbox threw: " + FromException(*thrown).message());
      }
      f = nullptr;
    }
  }

  std::mutex mutex;
  // `mutex` guards these three.
  std::vector<std::function<void()>> queue;
  bool closed = false;
  kj::Own<kj::CrossThreadPromiseFulfiller<void>> wake;
  kj::Promise<void> turn = nullptr;
  kj::Promise<void> again = nullptr;
};

Mailbox::Mailbox() : impl_(std::make_shared<Impl>()) { impl_->Arm(); }

Mailbox::~Mailbox() {
  impl_->again = nullptr;
  impl_->turn = nullptr;
  std::vector<std::function<void()>> dropped;
  const std::lock_guard lock(impl_->mutex);
  impl_->closed = true;
  impl_->wake = nullptr;
  dropped.swap(impl_->queue);
}

void Mailbox::Post(std::function<void()> f) {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->closed) return;
  impl_->queue.push_back(std::move(f));
  if (impl_->queue.size() == 1) impl_->wake->fulfill();
}

namespace {

// The outcome of Run. The caller learns it when the object is destroyed: what Set was given, or kCancelled if the call
// was not done by then.
class Outcome {
 public:
  Outcome() = default;
  Outcome(const Outcome&) = delete;
  Outcome& operator=(const Outcome&) = delete;
  ~Outcome() { told_.set_value(std::move(status_)); }
  [[nodiscard]] std::future<Status> Future() { return told_.get_future(); }
  void Set(Status status) { status_ = std::move(status); }

 private:
  std::promise<Status> told_;
  Status status_ = Cancelled("control thread: stopped before the call was done");
};

}  // namespace

struct ControlThread::Impl final : kj::TaskSet::ErrorHandler {
  void taskFailed(kj::Exception&& failure) override {
    MILLRACE_CHECK(false, "control thread: " + FromException(failure).message());
  }

  void Turn(std::promise<void>& turning) {
    NameThread("control");
    std::optional<kj::AsyncIoContext> made;
    try {
      made.emplace(kj::setupAsyncIo());
    } catch (...) {  // no descriptors are left
      return turning.set_exception(std::current_exception());
    }
    kj::AsyncIoContext& context = *made;
    Mailbox box;
    kj::TaskSet under_way(*this);
    auto stopping = kj::newPromiseAndCrossThreadFulfiller<void>();
    io = &context;
    tasks = &under_way;
    stop = kj::mv(stopping.fulfiller);
    mailbox = &box;
    turning.set_value();
    stopping.promise.wait(context.waitScope);
  }

  // Drops `f` after Stop.
  void Post(std::function<void()> f) {
    const std::lock_guard lock(mutex);
    if (mailbox != nullptr) mailbox->Post(std::move(f));
  }

  std::mutex mutex;
  Mailbox* mailbox = nullptr;        // guarded by `mutex`; null after Stop
  kj::AsyncIoContext* io = nullptr;  // used on the loop
  kj::TaskSet* tasks = nullptr;      // used on the loop
  kj::Own<kj::CrossThreadPromiseFulfiller<void>> stop;
  std::mutex join_mutex;  // never held together with `mutex`: what still runs on the loop may post
  std::thread thread;     // guarded by `join_mutex`
};

ControlThread::ControlThread() : impl_(std::make_unique<Impl>()) {
  std::promise<void> turning;
  impl_->thread = std::thread([this, &turning] { impl_->Turn(turning); });
  try {
    turning.get_future().get();
  } catch (...) {
    impl_->thread.join();
    throw;
  }
}

ControlThread::~ControlThread() { Stop(); }

Status ControlThread::Run(const std::function<kj::Promise<void>(kj::AsyncIoContext&)>& f) {
  auto outcome = std::make_shared<Outcome>();
  auto future = outcome->Future();
  impl_->Post([impl = impl_.get(), &f, outcome = std::move(outcome)] {
    auto done = kj::evalNow([&] { return f(*impl->io); })
                    .then([outcome] { outcome->Set(Status::Ok()); },
                          [outcome](kj::Exception&& why) { outcome->Set(FromException(why)); });
    impl->tasks->add(done.attach(outcome));
  });
  return future.get();
}

void ControlThread::Post(std::function<void(kj::AsyncIoContext&)> f) {
  impl_->Post([impl = impl_.get(), f = std::move(f)] { f(*impl->io); });
}

void ControlThread::Stop() {
  {
    const std::lock_guard lock(impl_->mutex);
    if (impl_->mailbox != nullptr) {
      impl_->mailbox = nullptr;
      impl_->stop->fulfill();
    }
  }
  const std::lock_guard joining(impl_->join_mutex);
  if (impl_->thread.joinable()) impl_->thread.join();
}

}  // namespace millrace::rpc
