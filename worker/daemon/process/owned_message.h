// OwnedMessage is a Cap'n Proto struct that owns its bytes, for messages that are kept (launches that wait, reports
// that are repeated). Thread rule: a value.
#pragma once

#include <capnp/message.h>
#include <kj/memory.h>

#include <cstddef>
#include <utility>

namespace millrace::worker {

template <class T>
class OwnedMessage {
 public:
  OwnedMessage() : message_(kj::heap<capnp::MallocMessageBuilder>()), root_(message_->template initRoot<T>()) {}
  explicit OwnedMessage(typename T::Reader original)
      : message_(kj::heap<capnp::MallocMessageBuilder>()), root_(nullptr) {
    message_->setRoot(original);
    root_ = message_->template getRoot<T>();
  }
  OwnedMessage(OwnedMessage&&) noexcept = default;
  OwnedMessage& operator=(OwnedMessage&&) noexcept = default;

  [[nodiscard]] typename T::Builder builder() { return root_; }
  [[nodiscard]] typename T::Reader reader() const { return root_.asReader(); }
  [[nodiscard]] capnp::MessageBuilder& message() { return *message_; }
  [[nodiscard]] std::size_t bytes() const { return root_.totalSize().wordCount * sizeof(capnp::word); }

 private:
  kj::Own<capnp::MallocMessageBuilder> message_;
  typename T::Builder root_;
};

}  // namespace millrace::worker
