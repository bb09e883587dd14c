// SPDX-License-Identifier: Apache-2.0
#include "client/streaming/frame_child.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "base/units.h"

namespace millrace::streaming {
namespace {

constexpr int kVersion = 1;

}  // namespace

std::string FrameHead(char type, std::size_t payload) {
  std::string head;
  for (int shift = 0; shift < 32; shift += 8) head.push_back(static_cast<char>(payload >> shift));
  head.push_back(type);
  return head;
}

bool FrameCutter::Take(std::string_view bytes) {
  if (broken_) return false;
  if (open_.empty()) {
    open_.assign(bytes.substr(Give(bytes)));
  } else {
    open_.append(bytes);
    open_.erase(0, Give(open_));
  }
  return !broken_;
}

std::size_t FrameCutter::Give(std::string_view bytes) {
  std::size_t at = 0;
  while (bytes.size() - at >= kHeadBytes) {
    std::size_t size = 0;
    for (std::size_t i = 0; i < 4; ++i) size |= std::size_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
    if (size > kLongestFrame) {
      broken_ = true;
      break;
    }
    if (bytes.size() - at - kHeadBytes < size) break;
    on_frame_(bytes[at + 4], bytes.substr(at + kHeadBytes, size));
    at += kHeadBytes + size;
  }
  return at;
}

Result<std::unique_ptr<FrameChild>> FrameChild::Start(const ChildCommand& command, Receiver receiver) {
  std::unique_ptr<FrameChild> made(new FrameChild(std::move(receiver)));
  FrameChild* const self = made.get();  // which does not move
  self->cutter_.emplace([self](char type, std::string_view payload) { self->OnFrame(type, payload); });
  MILLRACE_ASSIGN(Child child, Child::Start(
                                   command,
                                   [self](std::string_view bytes) {
                                     if (self->cutter_->Take(bytes)) return;
                                     self->broken_ = true;
                                     self->nonsense_ =
                                         "a message of more than " + FormatBytes(FrameCutter::kLongestFrame);
                                   },
                                   [self](std::string_view bytes) {
                                     if (self->receiver_.log) self->receiver_.log(bytes);
                                   }));
  self->child_.emplace(std::move(child));
  MILLRACE_TRY(self->TakeUntil([self] { return self->greeted_; }));
  return made;
}

void FrameChild::OnFrame(char type, std::string_view payload) {
  if (greeted_) {
    if (receiver_.frame) receiver_.frame(type, payload);
    return;
  }
  const nlohmann::json greeting = nlohmann::json::parse(payload, nullptr, false);
  if (type == 'H' && greeting.is_object() && greeting.value("version", nlohmann::json()) == kVersion) {
    greeted_ = true;
    return;
  }
  broken_ = true;
  nonsense_ = "no greeting of version " + std::to_string(kVersion) + " but " + Quote(payload);
}

Status FrameChild::Send(char type, std::string_view head, std::string_view body) {
  std::string first = FrameHead(type, head.size() + body.size());
  first.append(head);
  MILLRACE_TRY(child_->Give(first));
  return body.empty() ? Status::Ok() : child_->Give(body);
}

Status FrameChild::TakeUntil(const std::function<bool()>& enough) {
  MILLRACE_TRY(child_->TakeUntil([&] { return broken_ || enough(); }));
  if (broken_) return Unavailable("it said what it must not: " + nonsense_);
  if (!enough()) return Unavailable("it " + End());
  return Status::Ok();
}

std::string FrameChild::End() {
  broken_ = true;
  const Result<int> end = child_->Finish(false);
  return end.ok() ? EndInWords(*end) : "failed: " + end.status().message();
}

}  // namespace millrace::streaming
