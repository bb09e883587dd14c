#include "master/cluster/doubt.h"

#include <algorithm>
#include <string_view>

#include "base/bytes.h"
#include "base/units.h"

namespace millrace::master {
namespace {

constexpr std::string_view kKey = "doubt";
constexpr std::uint8_t kVersion = 1;

std::string Encode(DoubtCause cause, Micros until) {  // 0: announced
  Encoder out;
  out.U8(kVersion);
  out.U8(static_cast<std::uint8_t>(cause));
  out.Varint(static_cast<std::uint64_t>(until));
  return out.Take();
}

std::string_view InWords(DoubtCause cause) {
  switch (cause) {
    case DoubtCause::kRestored:
      return "it was restored from a backup";
    case DoubtCause::kRepaired:
      return "it was repaired";
    case DoubtCause::kSetBack:
      return "workers were told of more than it holds";
  }
  return "";
}

}  // namespace

void Doubt::Announce(DoubtCause cause, WriteBatch* batch) { batch->Put(std::string(kKey), Encode(cause, 0)); }

Status Doubt::Load(const KeyValueStore& store) {
  MILLRACE_ASSIGN(const std::optional<std::string> stored, store.Get(kKey));
  if (!stored) return Status::Ok();
  Decoder in(*stored);
  const bool known = in.U8() == kVersion;
  const std::uint8_t cause = in.U8();
  const auto until = static_cast<Micros>(in.Varint());
  if (!known || cause > static_cast<std::uint8_t>(DoubtCause::kSetBack))
    return Corrupt("the database's record of doubt is not understood");
  MILLRACE_TRY(in.Finish("the database's record of doubt"));
  cause_ = static_cast<DoubtCause>(cause);
  if (until != 0) until_ = until;
  return Status::Ok();
}

void Doubt::Begin(DoubtCause cause, Micros now, Micros length, WriteBatch* batch) {
  cause_ = cause;
  until_ = std::max(until_.value_or(0), now + length);
  batch->Put(std::string(kKey), Encode(cause, *until_));
}

bool Doubt::EndIfOver(Micros now, WriteBatch* batch) {
  if (!until_ || now < *until_) return false;
  cause_.reset();
  until_.reset();
  batch->Remove(std::string(kKey));
  return true;
}

std::string Doubt::Line(Micros now) const {
  if (!until_) return {};
  return "the database may be older than what clients were told, since " + std::string(InWords(*cause_)) +
         ": for another " + FormatDuration(std::max<Micros>(0, *until_ - now)) +
         " (master.doubt) blocks that lose their file go to the workers' trash";
}

}  // namespace millrace::master
