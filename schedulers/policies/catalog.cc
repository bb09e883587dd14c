#include "schedulers/policies/catalog.h"

#include "schedulers/policies/fifo.h"

namespace millrace::sched {
namespace {

struct Entry {
  std::string_view name;
  std::string_view one_line;
  std::unique_ptr<Policy> (*make)();
};

template <class P>
std::unique_ptr<Policy> Make() {
  return std::make_unique<P>();
}

constexpr Entry kEntries[] = {
    {"fifo", "first job first, by priority and submit order (Hadoop's default)", &Make<Fifo>},
};

}  // namespace

std::vector<PolicyInfo> ListPolicies() {
  std::vector<PolicyInfo> policies;
  for (const Entry& entry : kEntries) policies.push_back({std::string(entry.name), std::string(entry.one_line)});
  return policies;
}

std::unique_ptr<Policy> MakePolicy(std::string_view name, std::string* why) {
  std::string known;
  for (const Entry& entry : kEntries) {
    if (entry.name == name) return entry.make();
    (known += known.empty() ? "" : ", ") += entry.name;
  }
  *why = "no scheduler is called \"" + std::string(name) + "\"; there is: " + known;
  return nullptr;
}

}  // namespace millrace::sched
