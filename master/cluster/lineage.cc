// SPDX-License-Identifier: Apache-2.0
#include "master/cluster/lineage.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/archive.h"
#include "base/units.h"

namespace millrace::master {
namespace {

constexpr std::string_view kDoubtKey = "doubt";
constexpr std::string_view kDoubtWhat = "the database's record of doubt";

struct DoubtRecord {
  DoubtCause cause = {};
  Micros until = 0;  // 0: announced
};

constexpr auto kDoubtRecord = [](auto& archive, auto& record) {
  archive.Version(1, 1, [](int) { return Corrupt(std::string(kDoubtWhat) + " is not understood"); });
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

constexpr std::string_view kKnownUntil = "time";

constexpr std::string_view kLives = "lives";
constexpr std::string_view kLastNumber = "moment";
constexpr std::string_view kLivesWhat = "the database's list of the master's lives";

constexpr auto kMoments = [](auto& archive, auto& moments) {
  archive.Version(1, 1, [](int) { return Corrupt(std::string(kLivesWhat) + " has another version"); });
  archive.List(moments, [](auto& in, auto& moment) {
    in.U64(moment.life);
    in.Varint(moment.number);
  });
};

}  // namespace

Status Lineage::Load(const KeyValueStore& store) {
  MILLRACE_ASSIGN(const std::optional<std::string> lives, store.Get(kLives));
  MILLRACE_ASSIGN(const std::optional<std::string> number, store.Get(kLastNumber));
  if (!lives && !number) return Status::Ok();  // of a version that counted none
  const auto last = number ? ParseKeyNumber(*number) : std::nullopt;
  if (!lives || !last) return Corrupt("the database's count of moments is not understood");
  MILLRACE_ASSIGN(ended_, ReadFields<std::deque<Moment>>(*lives, kLivesWhat, kMoments));
  if (ended_.empty()) return Corrupt(std::string(kLivesWhat) + " is empty");
  ended_.back().number = *last;
  now_.number = *last;
  return Status::Ok();
}

void Lineage::Begin(std::uint64_t life, WriteBatch* batch) {
  now_ = {life, now_.number + 1};
  if (ended_.size() >= kMostLives) ended_.pop_front();
  std::deque<Moment> lives = ended_;
  lives.push_back(now_);
  batch->Put(std::string(kLives), WriteFields(lives, kMoments));
  batch->Put(std::string(kLastNumber), KeyNumber(now_.number));
}

void Lineage::Advance(WriteBatch* batch) {
  ++now_.number;
  batch->Put(std::string(kLastNumber), KeyNumber(now_.number));
}

bool Lineage::Has(const Moment& moment) const {
  if (moment.life == now_.life) return moment.number <= now_.number;
  const auto life = std::ranges::find(ended_, moment.life, &Moment::life);
  return life != ended_.end() && moment.number <= life->number;
}

void StoreKnownUntil(Micros time, WriteBatch* batch) {
  batch->Put(std::string(kKnownUntil), KeyNumber(static_cast<std::uint64_t>(std::max<Micros>(0, time))));
}

Result<Micros> ReadKnownUntil(const KeyValueStore& store) {
  MILLRACE_ASSIGN(const std::optional<std::string> stored, store.Get(kKnownUntil));
  if (!stored) return Micros{0};  // of a version that stored none
  const auto time = ParseKeyNumber(*stored);
  if (!time || *time > static_cast<std::uint64_t>(std::numeric_limits<Micros>::max())) {
    return Corrupt("the database's record of its time is not understood");
  }
  return static_cast<Micros>(*time);
}

void Doubt::Announce(DoubtCause cause, WriteBatch* batch) {
  batch->Put(std::string(kDoubtKey), WriteFields(DoubtRecord{cause}, kDoubtRecord));
}

Status Doubt::Load(const KeyValueStore& store) {
  MILLRACE_ASSIGN(const std::optional<std::string> stored, store.Get(kDoubtKey));
  if (!stored) return Status::Ok();
  MILLRACE_ASSIGN(const DoubtRecord record, ReadFields<DoubtRecord>(*stored, kDoubtWhat, kDoubtRecord));
  cause_ = record.cause;
  if (record.until != 0) until_ = record.until;
  return Status::Ok();
}

void Doubt::Begin(DoubtCause cause, Micros now, Micros length, WriteBatch* batch) {
  cause_ = cause;
  until_ = std::max(until_.value_or(0), now + length);
  batch->Put(std::string(kDoubtKey), WriteFields(DoubtRecord{cause, *until_}, kDoubtRecord));
}

bool Doubt::EndIfOver(Micros now, WriteBatch* batch) {
  if (!until_ || now < *until_) return false;
  cause_.reset();
  until_.reset();
  batch->Remove(std::string(kDoubtKey));
  return true;
}

std::string Doubt::Line(Micros now) const {
  if (!until_) return {};
  return "the database may be older than what clients were told, since " + std::string(InWords(*cause_)) +
         ": for another " + FormatDuration(std::max<Micros>(0, *until_ - now)) +
         " (master.doubt) blocks that lose their file go to the workers' trash";
}

}  // namespace millrace::master
