// SPDX-License-Identifier: Apache-2.0
#include "base/rpc/status_codec.h"

#include <kj/string.h>

#include <charconv>
#include <optional>

namespace millrace::rpc {
namespace {

// A status travels as "millrace-status CODE SIZE MESSAGE". Each hop puts kRemote in front and may add lines of context
// after it, so the message carries its size.
constexpr std::string_view kMarker = "millrace-status ";
constexpr std::string_view kRemote = "remote exception: ";
constexpr std::size_t kLongestMessage = 16 << 10;  // far below the size that breaks a connection

kj::Exception::Type TypeOf(StatusCode code) {
  switch (code) {
    case StatusCode::kBusy:
      return kj::Exception::Type::OVERLOADED;
    case StatusCode::kUnavailable:
      return kj::Exception::Type::DISCONNECTED;
    default:
      return kj::Exception::Type::FAILED;
  }
}

StatusCode CodeOf(kj::Exception::Type type) {
  switch (type) {
    case kj::Exception::Type::OVERLOADED:
      return StatusCode::kBusy;
    case kj::Exception::Type::DISCONNECTED:
      return StatusCode::kUnavailable;
    default:
      return StatusCode::kInternal;
  }
}

std::string_view WithoutHops(std::string_view text) {
  while (text.starts_with(kRemote)) text.remove_prefix(kRemote.size());
  return text;
}

std::string OneLine(std::string_view text) {
  std::string line(text.substr(0, kLongestMessage));
  for (char& c : line) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return line;
}

// Removes a number and the blank after it from the front of `text`, and returns the number.
std::optional<std::size_t> CutNumber(std::string_view& text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data() + text.size() || *end != ' ') return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return number;
}

std::optional<Status> Decode(std::string_view text) {
  if (!text.starts_with(kMarker)) return std::nullopt;
  text.remove_prefix(kMarker.size());
  const auto code = CutNumber(text);
  const auto size = CutNumber(text);
  if (!code || !size || *size > text.size() || *code == 0) return std::nullopt;
  const bool known = *code <= static_cast<std::size_t>(kLastStatusCode);  // a newer peer may know more codes
  return Status(known ? static_cast<StatusCode>(*code) : StatusCode::kInternal, std::string(text.substr(0, *size)));
}

}  // namespace

kj::Exception ToException(const Status& failure) {
  MILLRACE_CHECK(!failure.ok(), "an exception needs a failure");
  const std::string message = failure.message().size() <= kLongestMessage
                                  ? failure.message()
                                  : failure.message().substr(0, kLongestMessage - 3) + "...";
  const std::string text = std::string(kMarker) + std::to_string(static_cast<int>(failure.code())) + " " +
                           std::to_string(message.size()) + " " + message;
  return kj::Exception(TypeOf(failure.code()), __FILE__, __LINE__, kj::heapString(text.data(), text.size()));
}

std::string PlainReason(std::string_view text) {
  constexpr std::string_view kResolver = "gai_strerror(status) = ", kCall = "): ";
  if (const std::size_t at = text.find(kResolver); at != std::string_view::npos) {
    const std::string_view reason = text.substr(at + kResolver.size());
    return "the name is not found: " + OneLine(reason.substr(0, reason.find(';')));
  }
  if (text.starts_with("DNS lookup")) return "the name is not found; check it, or give a numeric address";
  if (text.starts_with("Peer disconnected")) return "the other side closed it";
  const bool of_call = text.substr(0, text.find(' ')).find('(') != std::string_view::npos;
  if (const std::size_t end = text.rfind(kCall); of_call && end != std::string_view::npos) {
    text.remove_prefix(end + kCall.size());
  }
  text = text.substr(0, text.find("; "));
  while (text.ends_with('.') || text.ends_with(' ')) text.remove_suffix(1);
  return OneLine(text);
}

bool ConnectionBroke(const kj::Exception& exception) {
  const kj::StringPtr description = exception.getDescription();
  return exception.getType() == kj::Exception::Type::DISCONNECTED &&
         !Decode(WithoutHops({description.begin(), description.size()})).has_value();
}

bool IsUnknownCall(const kj::Exception& exception) {
  if (exception.getType() == kj::Exception::Type::UNIMPLEMENTED) return true;
  const kj::StringPtr description = exception.getDescription();
  const auto status = Decode(WithoutHops({description.begin(), description.size()}));
  return status && status->code() == StatusCode::kInvalid && status->message().starts_with(kUnknownCall);
}

Status FromException(const kj::Exception& exception) {
  const kj::StringPtr description = exception.getDescription();
  const std::string_view text = WithoutHops({description.begin(), description.size()});
  if (auto status = Decode(text)) return *std::move(status);
  std::string line = OneLine(text);
  const StatusCode code = CodeOf(exception.getType());
  if (code == StatusCode::kUnavailable) return Unavailable("the connection broke: " + PlainReason(text));
  if (code == StatusCode::kInternal)
    line += std::string(" (") + exception.getFile() + ":" + std::to_string(exception.getLine()) + ")";
  return Status(code, std::move(line));
}

}  // namespace millrace::rpc
