// SPDX-License-Identifier: Apache-2.0
// Gate lets threads in until it is closed. Close waits until no thread is inside. Thread rule: any thread; Close must
// not be called by a thread that is inside.
#pragma once

#include <condition_variable>
#include <mutex>

namespace millrace::shuffle {

class Gate {
 public:
  // A Pass keeps the gate's Close waiting for as long as the Pass lives. It is false, and keeps nothing waiting, if the
  // gate was closed already.
  class Pass {
   public:
    explicit Pass(Gate& gate) : gate_(gate) {
      const std::lock_guard lock(gate.mutex_);
      inside_ = !gate.closed_;
      if (inside_) ++gate.inside_;
    }
    ~Pass() {
      const std::lock_guard lock(gate_.mutex_);
      if (inside_ && --gate_.inside_ == 0) gate_.empty_.notify_all();
    }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
    explicit operator bool() const { return inside_; }

   private:
    Gate& gate_;
    bool inside_;
  };

  // Closes the gate. When it returns, no thread is inside and none can come in.
  void Close() {
    std::unique_lock lock(mutex_);
    closed_ = true;
    empty_.wait(lock, [this] { return inside_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable empty_;
  unsigned inside_ = 0;
  bool closed_ = false;
};

}  // namespace millrace::shuffle
