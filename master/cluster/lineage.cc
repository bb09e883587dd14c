#include "master/cluster/lineage.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/archive.h"

namespace millrace::master {
namespace {

constexpr std::string_view kLives = "lives";
constexpr std::string_view kNumber = "moment";
constexpr std::string_view kListOfLives = "the database's list of the master's lives";

constexpr auto kMoments = [](auto& archive, auto& moments) {
  archive.Version(1, 1, [](int) { return Corrupt(std::string(kListOfLives) + " has another version"); });
  archive.List(moments, [](auto& in, auto& moment) {
    in.U64(moment.life);
    in.Varint(moment.number);
  });
};

}  // namespace

Status Lineage::Load(const KeyValueStore& store) {
  MILLRACE_ASSIGN(const std::optional<std::string> lives, store.Get(kLives));
  MILLRACE_ASSIGN(const std::optional<std::string> number, store.Get(kNumber));
  if (!lives && !number) return Status::Ok();  // of a version that counted none
  const auto last = number ? ParseKeyNumber(*number) : std::nullopt;
  if (!lives || !last) return Corrupt("the database's count of moments is not understood");
  MILLRACE_ASSIGN(ended_, ReadFields<std::deque<Moment>>(*lives, kListOfLives, kMoments));
  if (ended_.empty()) return Corrupt(std::string(kListOfLives) + " is empty");
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
