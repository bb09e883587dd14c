// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/catalog.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "schedulers/offering/admission.h"
#include "schedulers/offering/common_settings.h"
#include "schedulers/offering/copy_compute_splitting.h"
#include "schedulers/offering/delay_settings.h"
#include "schedulers/offering/greedy.h"
#include "schedulers/offering/locality_wait.h"
#include "schedulers/offering/speculation.h"
#include "schedulers/policies/cp/cp.h"
#include "schedulers/policies/cp/cp_settings.h"
#include "schedulers/policies/external/external.h"
#include "schedulers/policies/external/external_settings.h"
#include "schedulers/policies/fair/fair.h"
#include "schedulers/policies/fair/fair_preempting.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "schedulers/policies/fair/single_pool.h"
#include "schedulers/policies/fresh/fresh_dynamic.h"
#include "schedulers/policies/fresh/fresh_settings.h"
#include "schedulers/policies/fresh/fresh_static.h"
#include "schedulers/policies/joss/joss.h"
#include "schedulers/policies/joss/joss_settings.h"
#include "schedulers/policies/lsap/lsap.h"
#include "schedulers/policies/lsap/lsap_fair.h"
#include "schedulers/policies/lsap/lsap_settings.h"
#include "schedulers/policies/simple/capacity.h"
#include "schedulers/policies/simple/capacity_settings.h"
#include "schedulers/policies/simple/dl.h"
#include "schedulers/policies/simple/edf.h"
#include "schedulers/policies/simple/fifo.h"
#include "schedulers/policies/simple/karma.h"
#include "schedulers/policies/simple/las.h"
#include "schedulers/policies/usage/integral.h"
#include "schedulers/policies/usage/memory.h"
#include "schedulers/policies/virtual/psbs.h"
#include "schedulers/policies/virtual/uwfq.h"

namespace millrace::sched {
namespace {

enum Part : unsigned { kDelay = 1, kCcs = 2, kPreempt = 4, kMemory = 8 };
constexpr std::pair<std::string_view, Part> kParts[] = {
    {"memory", kMemory}, {"delay", kDelay}, {"ccs", kCcs}, {"preempt", kPreempt}};

// It holds what a policy is made of; `name` is the whole expression.
struct Recipe {
  std::string name;
  Settings settings;
  Admission admission;
  bool preempt = false, memory = false;
  std::string* why = nullptr;  // gets the reason if the policy cannot be made of these settings
};

std::unique_ptr<Policy> MakeExternal(Recipe recipe);

// Memory (schedulers/policies/usage/memory.h) changes the weights of the pools of `fair`.
constexpr std::string_view kNoPools =
    "it weighs the pools of fair by what they have used, and the policy shares nothing among such pools; use "
    "fair+memory";

// For each part, why it does not go with the policy and what to use for it; empty if it goes with it.
struct WhyNot {
  std::string_view delay, ccs, preempt, memory = kNoPools;

  [[nodiscard]] std::string_view Of(Part part) const {
    return part == kDelay ? delay : part == kCcs ? ccs : part == kPreempt ? preempt : memory;
  }
};

// Preemption (schedulers/policies/fair/fair_preempting.h) gives a pool what `fair` says is its share.
constexpr std::string_view kNoShares =
    "it takes slots back for a pool that is below its share, and the policy shares nothing among pools; use "
    "fair+preempt";
constexpr WhyNot kGatesOnly = {.delay = {}, .ccs = {}, .preempt = kNoShares};
constexpr WhyNot kCapacity = {
    .delay = {},
    .ccs = {},
    .preempt = "a queue gets back what it has lent as tasks end, as in Hadoop 1; use fair+preempt"};
constexpr WhyNot kKarma = {
    .delay = {},
    .ccs = {},
    .preempt =
        "a pool that is granted more slots gets them as tasks end, and has credits for what it lent until then; "
        "use fair+preempt",
    .memory = "the credits of a pool are its memory; use fair+memory"};
constexpr WhyNot kFair = {.delay = {}, .ccs = {}, .preempt = {}, .memory = {}};
constexpr WhyNot kIntegral = {
    .delay = {}, .ccs = {}, .preempt = {}, .memory = "the volume of a pool is its memory; use fair+memory"};
constexpr WhyNot kLsapFair = {
    .delay = {},
    .ccs = {},
    .preempt = "a group's share is a cost there, beside the cost of distance, and no guarantee; use fair+preempt",
    .memory = "a group's weight sets a cost there, beside the cost of distance; use fair+memory"};
constexpr WhyNot kProgram = {
    .delay = {},
    .ccs = {},
    .preempt = "a program says itself which tasks are killed, by preempt in its answer; use fair+preempt"};
constexpr std::string_view kFreshReduces =
    "FRESH decides how many reduces a node holds, and counts on each of them to hold a slot; use fair+ccs";
constexpr WhyNot kFreshStatic = {
    .delay = {},
    .ccs = kFreshReduces,
    .preempt =
        "a job may be below its share because of the split or of k, which no other job's slots would mend; use "
        "fair+preempt",
    .memory = "FRESH decides how the slots are split by the jobs that run, not by the pools; use fair+memory"};
constexpr WhyNot kFreshDynamic = {
    .delay =
        "a free slot has no type, so a job that waits for its data would keep it from reduces, too; use "
        "fresh-static+delay",
    .ccs = kFreshReduces,
    .preempt = kNoShares};
constexpr WhyNot kJoss = {
    .delay = "a task waits already for the datacenter that it was assigned to, and for no node; use fair+delay",
    .ccs =
        "a reduce queues for a slot of the datacenter that it was assigned to, and holds it to its end; use fair+ccs",
    .preempt = kNoShares};

struct CatalogLine {
  std::string_view name;
  WhyNot why_not;
  std::string_view one_line;
  std::unique_ptr<Policy> (*make)(Recipe recipe);
};

// Returns the policy that Made's constructor makes of the name, the arguments and the gates of `+delay` and `+ccs`.
template <class Made, class... Arguments>
std::unique_ptr<Policy> Make(Recipe& recipe, Arguments&&... arguments) {
  return std::make_unique<Made>(std::move(recipe.name), std::forward<Arguments>(arguments)...,
                                std::move(recipe.admission));
}

// Returns Greedy over an order.
template <class Order, class... Arguments>
std::unique_ptr<Policy> MakeGreedy(Recipe& recipe, const Arguments&... arguments) {
  return Make<Greedy>(recipe, std::make_unique<Order>(arguments...));
}

// Returns the policy of an order that is `fair` or derived from it.
template <class Order>
std::unique_ptr<Policy> MakePools(Recipe& recipe) {
  auto order = std::make_unique<Order>(recipe.settings, recipe.admission.CountedReduces());
  if (recipe.preempt) return Make<FairPreempting>(recipe, std::move(order));
  return Make<Greedy>(recipe, std::move(order));
}

std::unique_ptr<Policy> MakeMemory(Recipe& recipe) {
  if (const auto wrong = MemorySettings::Check(recipe.settings)) {
    *recipe.why = wrong->section + "." + wrong->key + ": " + wrong->why;
    return nullptr;
  }
  return MakePools<MemoryOrder>(recipe);
}

constexpr CatalogLine kPolicies[] = {
    {"fifo", kGatesOnly, "first job first, by priority and submit order (Hadoop's default)",
     [](Recipe r) { return MakeGreedy<FifoOrder>(r); }},
    {"capacity", kCapacity, "queues with guaranteed shares and ceilings; each is FIFO",
     [](Recipe r) {
       return MakeGreedy<CapacityOrder>(r, r.settings.Named<QueueSettings>(), r.admission.CountedReduces());
     }},
    {"sjf", kGatesOnly, "the job with the least remaining work first",
     [](Recipe r) { return MakeGreedy<SinglePoolOrder>(r, PoolOrder::kSjf, r.settings.Of<MlqSettings>()); }},
    {"mlq", kGatesOnly, "a queue of small and one of large jobs share the slots by weight; each is FIFO",
     [](Recipe r) { return MakeGreedy<SinglePoolOrder>(r, PoolOrder::kMlq, r.settings.Of<MlqSettings>()); }},
    {"dl", kGatesOnly, "the closest task of all jobs for each free slot in turn", [](Recipe r) { return Make<Dl>(r); }},
    {"fair", kFair, "pools with weights and minimum shares, slots shared fairly among them",
     [](Recipe r) { return r.memory ? MakeMemory(r) : MakePools<FairOrder>(r); }},
    {"integral", kIntegral, "fair with guarantees over a day: pools gather what they do not use, and get it later",
     [](Recipe r) { return MakePools<IntegralOrder>(r); }},
    {"edf", kGatesOnly, "earliest deadline first, jobs without a deadline last",
     [](Recipe r) { return MakeGreedy<EdfOrder>(r, r.settings.Of<EdfSettings>()); }},
    {"las", kGatesOnly, "the job that has had the least slot time first, in doubling levels",
     [](Recipe r) { return MakeGreedy<LasOrder>(r, r.settings.Of<LasSettings>()); }},
    {"psbs", kGatesOnly,
     "the jobs one by one, in the order in which fair sharing would end them, by sizes that it learns",
     [](Recipe r) { return MakeGreedy<PsbsOrder>(r, r.admission.CountedReduces()); }},
    {"uwfq", kGatesOnly, "the same with the slots shared among users first",
     [](Recipe r) { return MakeGreedy<UwfqOrder>(r, r.settings.Of<UwfqSettings>(), r.admission.CountedReduces()); }},
    {"karma", kKarma, "pools lend slots that they do not use, and borrow as much as they have lent",
     [](Recipe r) { return MakeGreedy<KarmaOrder>(r, r.settings.Of<KarmaSettings>(), r.admission.CountedReduces()); }},
    {"cp", kGatesOnly, "fewest late jobs and shortest turnarounds, by a search over the order of jobs (MRCP)",
     [](Recipe r) { return Make<Cp>(r, r.settings.Of<CpSettings>()); }},
    {"fresh-static", kFreshStatic, "slots split between maps and reduces so that the batch ends first, shared fairly",
     [](Recipe r) { return Make<FreshStatic>(r, r.settings); }},
    {"fresh-dynamic", kFreshDynamic,
     "slots turn to maps or reduces as the remaining work of both asks, least served job first",
     [](Recipe r) -> std::unique_ptr<Policy> {
       return std::make_unique<FreshDynamic>(r.settings.Of<FreshSettings>());
     }},
    {"lsap", kGatesOnly, "all free map slots and waiting maps assigned at once, least transfer time in all",
     [](Recipe r) { return Make<Lsap>(r, r.settings.Of<LsapSettings>(), Lsap::Cost::kMeasured); }},
    {"lsap-uniform", kGatesOnly, "the same, every map away from its data costing as much",
     [](Recipe r) { return Make<Lsap>(r, r.settings.Of<LsapSettings>(), Lsap::Cost::kUniform); }},
    {"lsap-fair", kLsapFair, "the same with a cost for groups beyond their weight",
     [](Recipe r) { return Make<LsapFair>(r, r.settings); }},
    {"joss-t", kJoss, "tasks bound to the datacenters that hold their data, fast assignment (JoSS)",
     [](Recipe r) -> std::unique_ptr<Policy> {
       return std::make_unique<Joss>(Joss::Assigner::kTask, r.settings.Of<JossSettings>());
     }},
    {"joss-j", kJoss, "tasks bound to the datacenters that hold their data, the closest map of a queue first (JoSS)",
     [](Recipe r) -> std::unique_ptr<Policy> {
       return std::make_unique<Joss>(Joss::Assigner::kJob, r.settings.Of<JossSettings>());
     }},
    {kExternal, kProgram, "a program outside of Millrace says in which order jobs get slots", MakeExternal},
};

// They stand in the order in which settings are written.
constexpr Section kSections[] = {
    FixedSection<PoolDefaults>(),         // [pool_defaults]
    FixedSection<FairSettings>(),         // [fair]
    FixedSection<DelaySettings>(),        // [delay]
    FixedSection<CcsSettings>(),          // [ccs]
    FixedSection<MlqSettings>(),          // [mlq]
    FixedSection<FreshSettings>(),        // [fresh]
    FixedSection<JossSettings>(),         // [joss]
    FixedSection<EdfSettings>(),          // [edf]
    FixedSection<LasSettings>(),          // [las]
    FixedSection<UwfqSettings>(),         // [uwfq]
    FixedSection<KarmaSettings>(),        // [karma]
    FixedSection<IntegralSettings>(),     // [integral]
    FixedSection<MemorySettings>(),       // [memory]
    FixedSection<CpSettings>(),           // [cp]
    FixedSection<LsapSettings>(),         // [lsap]
    FixedSection<ExternalSettings>(),     // [external]
    FixedSection<SpeculationSettings>(),  // [speculation]
    FixedSection<EvictionSettings>(),     // [eviction]
    NamedSection<PoolSettings>(),         // [pools.NAME]
    NamedSection<QueueSettings>(),        // [queues.NAME]
};
static_assert(NamedOnce(kSections), "two sections of the scheduler file have one name");

// Returns what comes before the first '+'.
std::string_view Word(std::string_view text) { return text.substr(0, text.find('+')); }

template <class Range, class Name>
std::string Join(const Range& range, Name name) {
  std::string text;
  for (const auto& item : range) (text += text.empty() ? "" : ", ") += name(item);
  return text;
}

// Parses what follows the name: nothing, or a '+' and a part, any number of times.
std::optional<unsigned> ParseParts(const CatalogLine& entry, std::string_view text, std::string* why) {
  unsigned parts = 0;
  while (!text.empty()) {
    text.remove_prefix(1);
    const std::string_view word = Word(text);
    text.remove_prefix(word.size());
    const auto* part =
        std::find_if(std::begin(kParts), std::end(kParts), [&](const auto& p) { return p.first == word; });
    if (part == std::end(kParts)) {
      *why = "nothing called \"" + std::string(word) +
             "\" can be added to a scheduler; there is: " + Join(kParts, [](const auto& p) { return p.first; });
      return std::nullopt;
    }
    if (const std::string_view why_not = entry.why_not.Of(part->second); !why_not.empty()) {
      *why =
          '"' + std::string(word) + "\" does not go with \"" + std::string(entry.name) + "\": " + std::string(why_not);
      return std::nullopt;
    }
    if ((parts & part->second) != 0) {
      *why = '"' + std::string(word) + "\" is added twice";
      return std::nullopt;
    }
    parts |= part->second;
  }
  return parts;
}

// Returns the order of a policy that only orders jobs, and takes the parts of the recipe; null for any other.
std::unique_ptr<JobOrder> OrderOf(const CatalogLine& entry, const Recipe& recipe) {
  std::string why;
  if (entry.make == MakeExternal || !ParseParts(entry, recipe.name.substr(kExternal.size()), &why)) return nullptr;
  Recipe other{std::string(entry.name), recipe.settings, Admission(recipe.admission), false, false, recipe.why};
  std::unique_ptr<Policy> policy = entry.make(std::move(other));
  return policy == nullptr ? nullptr : Greedy::TakeOrder(std::move(policy));
}

std::unique_ptr<Policy> MakeExternal(Recipe recipe) {
  const OutsideTerms terms = recipe.settings.Of<ExternalSettings>();
  std::vector<std::string> possible;
  for (const CatalogLine& entry : kPolicies) {
    std::unique_ptr<JobOrder> rest = OrderOf(entry, recipe);
    if (rest != nullptr && entry.name == terms.fallback) return Make<External>(recipe, terms, std::move(rest));
    if (rest != nullptr) possible.emplace_back(entry.name);
  }
  *recipe.why = "external.fallback: \"" + terms.fallback +
                "\" is not one of the schedulers that order jobs, do nothing else, and take the same parts: " +
                Join(possible, [](const std::string& name) { return name; });
  return nullptr;
}

Admission MakeAdmission(const Settings& settings, unsigned parts) {
  std::unique_ptr<LocalityGate> locality;
  std::unique_ptr<CopyGate> copy;
  if ((parts & kDelay) != 0)
    locality = std::make_unique<LocalityWait>(settings.Of<DelaySettings>(), settings.Of<LsapSettings>().bandwidths);
  if ((parts & kCcs) != 0) copy = std::make_unique<CopyComputeSplitting>(settings.Of<CcsSettings>());
  return {std::move(locality), std::move(copy)};
}

}  // namespace

std::vector<PolicyInfo> ListPolicies() {
  std::vector<PolicyInfo> policies;
  for (const CatalogLine& entry : kPolicies) {
    PolicyInfo& info = policies.emplace_back(PolicyInfo{std::string(entry.name), std::string(entry.one_line), {}, {}});
    for (const auto& [name, part] : kParts) {
      const std::string_view why = entry.why_not.Of(part);
      if (why.empty()) info.parts.emplace_back(name);
      if (!why.empty()) info.refused.push_back({std::string(name), std::string(why)});
    }
  }
  return policies;
}

std::span<const Section> ListSections() { return kSections; }

std::unique_ptr<Policy> MakePolicy(std::string_view expression, const Settings& settings, std::string* why) {
  const std::string_view name = Word(expression);
  const auto* entry =
      std::find_if(std::begin(kPolicies), std::end(kPolicies), [&](const CatalogLine& e) { return e.name == name; });
  if (entry == std::end(kPolicies)) {
    *why = "no scheduler is called \"" + std::string(name) +
           "\"; there is: " + Join(kPolicies, [](const CatalogLine& e) { return e.name; });
    return nullptr;
  }
  const auto parts = ParseParts(*entry, expression.substr(name.size()), why);
  if (!parts) return nullptr;
  Recipe recipe{std::string(name),       settings, MakeAdmission(settings, *parts), (*parts & kPreempt) != 0,
                (*parts & kMemory) != 0, why};
  for (const auto& [word, part] : kParts) {
    if ((*parts & part) != 0) (recipe.name += '+') += word;
  }
  auto policy = entry->make(std::move(recipe));
  if (policy == nullptr) return nullptr;
  const auto& speculation = settings.Of<SpeculationSettings>();
  if (speculation.on()) policy = std::make_unique<Speculating>(std::move(policy), speculation);
  policy->set_gives_way(settings.Of<EvictionSettings>().gives_way);
  policy->set_gives_up_after(settings.Of<EvictionSettings>().gives_up_after);
  policy->set_user_limits(UserLimitsOf(settings));
  return policy;
}

Spec CutSpec(const std::string& word) {
  if (!word.starts_with(std::string(kExternal) + ":")) return {word, ""};
  std::string path = word.substr(kExternal.size() + 1), parts;
  for (std::size_t plus = path.rfind('+'); plus != std::string::npos; plus = path.rfind('+')) {
    const std::string part = path.substr(plus);
    std::string why;
    if (MakePolicy(std::string(kExternal) + part, {}, &why) == nullptr) break;
    parts = part + parts;
    path.resize(plus);
  }
  return {std::string(kExternal) + parts, path};
}

}  // namespace millrace::sched
