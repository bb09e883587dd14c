// SPDX-License-Identifier: Apache-2.0
// Status and Result: how calls across modules report their failures.
//
// An error message is one line: what failed, on which thing, why, and (where it helps) what to do. Exceptions stop at
// the borders (Cap'n Proto, user code, main) and become a Status there. Thread rule: one object from one thread at a
// time.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"

namespace millrace {

// The kind of a failure. A caller may act on the code, never on the text. The numbers travel on the wire: new codes are
// only ever appended.
enum class StatusCode : int {
  kOk = 0,
  kInvalid = 1,       // the request itself is wrong: repeating it fails again
  kNotFound = 2,      // the named thing does not exist
  kExists = 3,        // the named thing exists already
  kBusy = 4,          // another holds it, or calls, descriptors or memory are used up; a later call may work
  kUnavailable = 5,   // the peer cannot be reached or went away
  kTimeout = 6,       // no answer within the deadline
  kCorrupt = 7,       // bytes that fail their checksum or their format
  kNoSpace = 8,       // no room, on disk or in a quota
  kCancelled = 9,     // the caller or an operator cancelled it
  kIo = 10,           // the operating system refused
  kInternal = 11,     // a bug in Millrace
  kDenied = 12,       // the caller lacks the right; another user's certificate may have it
  kUnsupported = 13,  // the thing is of a kind that is not supported: trying again fails again
};

inline constexpr StatusCode kLastStatusCode = StatusCode::kUnsupported;

// Returns the code in words: "not found", "corrupt".
[[nodiscard]] std::string_view ToString(StatusCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;  // OK
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  static Status Ok() { return Status(); }

  [[nodiscard]] bool ok() const { return code_ == StatusCode::kOk; }
  [[nodiscard]] StatusCode code() const { return code_; }
  [[nodiscard]] const std::string& message() const { return message_; }

  // Returns the same failure with "context: " in front of its message. OK stays OK.
  [[nodiscard]] Status Within(std::string_view context) const;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

[[nodiscard]] Status Invalid(std::string message);
[[nodiscard]] Status NotFound(std::string message);
[[nodiscard]] Status Exists(std::string message);
[[nodiscard]] Status Busy(std::string message);
[[nodiscard]] Status Unavailable(std::string message);
[[nodiscard]] Status Timeout(std::string message);
[[nodiscard]] Status Corrupt(std::string message);
[[nodiscard]] Status NoSpace(std::string message);
[[nodiscard]] Status Cancelled(std::string message);
[[nodiscard]] Status Internal(std::string message);
[[nodiscard]] Status Denied(std::string message);
[[nodiscard]] Status Unsupported(std::string message);

// Returns a failure with the message "what: strerror(error)". ENOSPC and EDQUOT, ENOENT, EEXIST, and a lack of
// descriptors or memory (kBusy, since the thing itself is not at fault) have codes of their own; every other error is
// kIo.
[[nodiscard]] Status FromErrno(int error, std::string_view what);

// A value or the Status (never OK) that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT: implicit on purpose
  Result(Status status) : status_(std::move(status)) {  // NOLINT: implicit on purpose
    MILLRACE_CHECK(!status_.ok(), "a Result without a value needs a failure");
  }

  [[nodiscard]] bool ok() const { return value_.has_value(); }
  [[nodiscard]] const Status& status() const& { return status_; }
  [[nodiscard]] Status&& status() && { return std::move(status_); }

  // Returns the value. Requires: ok(); it aborts with the failure's message otherwise.
  [[nodiscard]] T& value() & {
    Require();
    return *value_;
  }
  [[nodiscard]] const T& value() const& {
    Require();
    return *value_;
  }
  [[nodiscard]] T&& value() && {
    Require();
    return std::move(*value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  void Require() const { MILLRACE_CHECK(value_.has_value(), status_.message()); }

  std::optional<T> value_;
  Status status_;
};

#define MILLRACE_CONCAT_INNER_(a, b) a##b
#define MILLRACE_CONCAT_(a, b) MILLRACE_CONCAT_INNER_(a, b)

// MILLRACE_TRY(expression) returns the Status from the enclosing function if it is a failure.
#define MILLRACE_TRY(expression)                                                                             \
  do {                                                                                                       \
    if (::millrace::Status millrace_status_ = (expression); !millrace_status_.ok()) return millrace_status_; \
  } while (false)

// MILLRACE_ASSIGN(auto x, expression) sets x to the value of a Result, or returns its Status from the enclosing
// function.
#define MILLRACE_ASSIGN(target, expression) \
  MILLRACE_ASSIGN_INNER_(MILLRACE_CONCAT_(millrace_result_, __LINE__), target, expression)
#define MILLRACE_ASSIGN_INNER_(result, target, expression) \
  auto result = (expression);                              \
  if (!result.ok()) return std::move(result).status();     \
  target = std::move(result).value()

}  // namespace millrace
