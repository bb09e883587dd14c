// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

namespace millrace {

std::string_view ToString(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "ok";
    case StatusCode::kInvalid:
      return "invalid";
    case StatusCode::kNotFound:
      return "not found";
    case StatusCode::kExists:
      return "exists";
    case StatusCode::kBusy:
      return "busy";
    case StatusCode::kUnavailable:
      return "unavailable";
    case StatusCode::kTimeout:
      return "timeout";
    case StatusCode::kCorrupt:
      return "corrupt";
    case StatusCode::kNoSpace:
      return "no space";
    case StatusCode::kCancelled:
      return "cancelled";
    case StatusCode::kIo:
      return "I/O error";
    case StatusCode::kInternal:
      return "internal error";
    case StatusCode::kDenied:
      return "denied";
    case StatusCode::kUnsupported:
      return "unsupported";
  }
  return "unknown";
}

Status Status::Within(std::string_view context) const {
  if (ok()) return *this;
  return Status(code_, std::string(context) + ": " + message_);
}

Status Invalid(std::string message) { return Status(StatusCode::kInvalid, std::move(message)); }
Status NotFound(std::string message) { return Status(StatusCode::kNotFound, std::move(message)); }
Status Exists(std::string message) { return Status(StatusCode::kExists, std::move(message)); }
Status Busy(std::string message) { return Status(StatusCode::kBusy, std::move(message)); }
Status Unavailable(std::string message) { return Status(StatusCode::kUnavailable, std::move(message)); }
Status Timeout(std::string message) { return Status(StatusCode::kTimeout, std::move(message)); }
Status Corrupt(std::string message) { return Status(StatusCode::kCorrupt, std::move(message)); }
Status NoSpace(std::string message) { return Status(StatusCode::kNoSpace, std::move(message)); }
Status Cancelled(std::string message) { return Status(StatusCode::kCancelled, std::move(message)); }
Status Internal(std::string message) { return Status(StatusCode::kInternal, std::move(message)); }
Status Denied(std::string message) { return Status(StatusCode::kDenied, std::move(message)); }
Status Unsupported(std::string message) { return Status(StatusCode::kUnsupported, std::move(message)); }

Status FromErrno(int error, std::string_view what) {
  std::string message = std::string(what) + ": " + std::generic_category().message(error);
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return NoSpace(std::move(message));
    case ENOENT:
      return NotFound(std::move(message));
    case EEXIST:
      return Exists(std::move(message));
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return Busy(std::move(message));
    default:
      return Status(StatusCode::kIo, std::move(message));
  }
}

void CheckFailed(const char* file, int line, const char* condition, std::string_view detail) {
  std::fprintf(stderr, "%s:%d: check failed: %s: %.*s\n", file, line, condition, static_cast<int>(detail.size()),
               detail.data());
  std::abort();
}

}  // namespace millrace
