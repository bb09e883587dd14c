// SPDX-License-Identifier: Apache-2.0
#include "base/kv/committed_mark.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/crc32c.h"

namespace millrace {
namespace {

constexpr std::uint64_t kMagic = 0x6b72616d7663726d;  // "mrcvmark"
constexpr std::size_t kSlotBytes = 512;               // a sector: most disks write it whole or not at all

std::string EncodeSlot(std::uint64_t number) {
  std::string slot(kSlotBytes, '\0');
  std::memcpy(slot.data(), &kMagic, sizeof kMagic);
  std::memcpy(slot.data() + 8, &number, sizeof number);
  const std::uint32_t crc = Crc32c(std::string_view(slot).substr(0, 16));
  std::memcpy(slot.data() + 16, &crc, sizeof crc);
  return slot;
}

std::optional<std::uint64_t> DecodeSlot(std::string_view slot) {
  if (slot.size() < kSlotBytes) return std::nullopt;
  std::uint64_t number = 0;
  std::memcpy(&number, slot.data() + 8, sizeof number);
  if (slot != EncodeSlot(number)) return std::nullopt;
  return number;
}

}  // namespace

Status CommittedMark::Make(const std::string& path, std::uint64_t number) {
  return WriteFileDurably(path, EncodeSlot(number) + EncodeSlot(number));
}

Result<CommittedMark> CommittedMark::Open(const std::string& path) {
  MILLRACE_ASSIGN(const std::string bytes, ReadWholeFile(path));
  const auto first = DecodeSlot(std::string_view(bytes).substr(0, kSlotBytes));
  const auto second = DecodeSlot(std::string_view(bytes).substr(std::min(bytes.size(), kSlotBytes), kSlotBytes));
  if (!first && !second)
    return Corrupt(path + " is damaged: it does not say up to which operation the database was acknowledged");
  MILLRACE_ASSIGN(Fd fd, OpenFile(path, O_WRONLY));
  const bool second_is_newer = second && (!first || *second > *first);
  return CommittedMark(path, std::move(fd), second_is_newer ? *second : *first, second_is_newer ? 0 : 1);
}

Status CommittedMark::Raise(std::uint64_t number) {
  if (number <= number_) return Status::Ok();
  MILLRACE_TRY(WriteAllAt(fd_.get(), EncodeSlot(number), static_cast<std::uint64_t>(next_slot_) * kSlotBytes, path_));
  number_ = number;
  next_slot_ = 1 - next_slot_;
  if (std::chrono::steady_clock::now() < synced_ + kSyncEvery) return Status::Ok();
  return Sync();
}

Status CommittedMark::Sync() {
  if (::fdatasync(fd_.get()) != 0) return FromErrno(errno, "sync " + path_);
  synced_ = std::chrono::steady_clock::now();
  return Status::Ok();
}

}  // namespace millrace
