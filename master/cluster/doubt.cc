#include "master/cluster/doubt.h"

#include <algorithm>
#include <string_view>

#include "base/archive.h"
#include "base/units.h"

namespace millrace::master {
namespace {

constexpr std::string_view kKey = "doubt";
constexpr std::string_view kDoubtName = "the database's record of doubt";

struct DoubtRecord {
  DoubtCause cause = {};
  Micros until = 0;  // 0: announced
};

constexpr auto kDoubtRecord = [](auto& archive, auto& record) {
  archive.Version(1, 1, [](int) { return Corrupt(std::string(kDoubtName) + " is not understood"); });
  archive.Enum(record.cause, DoubtCause::kSetBack);
  archive.Varint(record.until);
};

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

void Doubt::Announce(DoubtCause cause, WriteBatch* batch) {
  batch->Put(std::string(kKey), WriteFields(DoubtRecord{cause}, kDoubtRecord));
}

Status Doubt::Load(const KeyValueStore& store) {
  MILLRACE_ASSIGN(const std::optional<std::string> stored, store.Get(kKey));
  if (!stored) return Status::Ok();
  MILLRACE_ASSIGN(const DoubtRecord record, ReadFields<DoubtRecord>(*stored, kDoubtName, kDoubtRecord));
  cause_ = record.cause;
  if (record.until != 0) until_ = record.until;
  return Status::Ok();
}

void Doubt::Begin(DoubtCause cause, Micros now, Micros length, WriteBatch* batch) {
  cause_ = cause;
  until_ = std::max(until_.value_or(0), now + length);
  batch->Put(std::string(kKey), WriteFields(DoubtRecord{cause, *until_}, kDoubtRecord));
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
