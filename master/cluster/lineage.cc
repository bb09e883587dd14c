#include "master/cluster/lineage.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/bytes.h"

namespace millrace::master {
namespace {

constexpr std::string_view kLives = "lives";
constexpr std::string_view kNumber = "moment";
constexpr std::uint8_t kVersion = 1;

}  // namespace

Status Lineage::Load(const KeyValueStore& store) {
  MILLRACE_ASSIGN(const std::optional<std::string> lives, store.Get(kLives));
  MILLRACE_ASSIGN(const std::optional<std::string> number, store.Get(kNumber));
  if (!lives && !number) return Status::Ok();  // of a version that counted none
  const auto last = number ? ParseKeyNumber(*number) : std::nullopt;
  if (!lives || !last) return Corrupt("the database's count of moments is not understood");
  Decoder in(*lives);
  if (in.U8() != kVersion) return Corrupt("the database's list of the master's lives has another version");
  for (std::uint64_t left = in.Varint(); left > 0 && in.left() > 0; --left) {
    const std::uint64_t life = in.U64();
    ended_.push_back({life, in.Varint()});
  }
  MILLRACE_TRY(in.Finish("the database's list of the master's lives"));
  if (ended_.empty()) return Corrupt("the database's list of the master's lives is empty");
  ended_.back().number = *last;
  now_.number = *last;
  return Status::Ok();
}

void Lineage::Begin(std::uint64_t life, WriteBatch* batch) {
  now_ = {life, now_.number + 1};
  if (ended_.size() >= kMostLives) ended_.pop_front();
  Encoder out;
  out.U8(kVersion);
  out.Varint(ended_.size() + 1);
  for (const Moment& ended : ended_) {
    out.U64(ended.life);
    out.Varint(ended.number);
  }
  out.U64(now_.life);
  out.Varint(now_.number);
  batch->Put(std::string(kLives), out.Take());
  batch->Put(std::string(kNumber), KeyNumber(now_.number));
}

void Lineage::Advance(WriteBatch* batch) {
  ++now_.number;
  batch->Put(std::string(kNumber), KeyNumber(now_.number));
}

bool Lineage::Has(const Moment& moment) const {
  if (moment.life == now_.life) return moment.number <= now_.number;
  const auto life = std::ranges::find(ended_, moment.life, &Moment::life);
  return life != ended_.end() && moment.number <= life->number;
}

}  // namespace millrace::master
