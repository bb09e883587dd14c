// SPDX-License-Identifier: Apache-2.0
// FlatMessage is a message as its bytes, which are compared, kept, and copied into answers. Thread rule: values; free
// functions, any thread.
#pragma once

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/array.h>

#include <cstddef>
#include <cstring>

namespace millrace::master {

using FlatMessage = kj::Array<capnp::word>;

// Returns the message that `fill` fills.
template <class Message, class Fill>
[[nodiscard]] FlatMessage Flatten(const Fill& fill) {
  constexpr std::size_t kWordsAtFirst = 512;
  capnp::word scratch[kWordsAtFirst] = {};
  capnp::MallocMessageBuilder builder(kj::arrayPtr(scratch, kWordsAtFirst));
  fill(builder.template initRoot<Message>());
  return capnp::messageToFlatArray(builder);
}

[[nodiscard]] inline bool Same(const FlatMessage& a, const FlatMessage& b) {
  return a.size() == b.size() && (a.size() == 0 || std::memcmp(a.begin(), b.begin(), a.asBytes().size()) == 0);
}

// Calls `use` with the reader of the message. Requires: Flatten<Message> made it.
template <class Message, class Use>
void ReadFlat(const FlatMessage& flat, const Use& use) {
  capnp::FlatArrayMessageReader reader(flat);
  use(reader.getRoot<Message>());
}

}  // namespace millrace::master
