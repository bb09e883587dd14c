#include "master/database_verbs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>

#include "base/daemon/arguments.h"
#include "base/file.h"
#include "base/kv/rocks_store.h"
#include "base/options.h"
#include "base/units.h"
#include "dfs/name/namespace.h"
#include "master/cluster/doubt.h"
#include "master/control/master_config.h"

namespace millrace::master {
namespace {

int Fail(const std::string& verb, const Status& why, int status = 1) {
  std::cerr << "millrace: " << verb << ": " << why.message() << "\n";
  return status;
}

std::string DatabaseOf(const MasterConfig& config) { return config.directory + "/database"; }

// The next master on this database is to know that it may be older than what clients were told.
Status Announce(const std::string& database, DoubtCause cause) {
  MILLRACE_ASSIGN(const std::unique_ptr<RocksStore> store, OpenRocksStore(database));
  WriteBatch batch;
  Doubt::Announce(cause, &batch);
  return store->Write(batch, Durability::kSynced);
}

struct Holdings {
  dfs::Namespace::Usage usage;
  std::uint64_t jobs = 0;
};

Status CountHoldings(const KeyValueStore& store, Holdings* holdings) {
  dfs::Namespace names([]() -> dfs::BlockId { return 0; });  // no blocks are added to it
  MILLRACE_TRY(names.Load(store));
  MILLRACE_ASSIGN(holdings->usage, names.Measure("/"));
  return store.Scan("j/", {}, [holdings](std::string_view, std::string_view) { return ++holdings->jobs, true; });
}

std::string InWords(const Holdings& holdings) {
  return fmt::format("{} files with {} in {} directories, {} jobs", holdings.usage.files,
                     FormatBytes(holdings.usage.bytes), holdings.usage.directories, holdings.jobs);
}

void Tell(const std::string& database, const RepairFacts& facts, const Holdings& holdings) {
  std::cout << facts.problem << "\n"
            << "the last good state of " << database << " has " << facts.method << ": it ends at operation "
            << facts.operations << " with " << InWords(holdings) << "\n";
  if (facts.acknowledged > facts.operations) {
    std::cout << facts.acknowledged - facts.operations << " acknowledged operations are lost\n";
  } else if (facts.acknowledged == 0) {
    std::cout << "how many acknowledged operations are lost is not known\n";
  } else {
    std::cout << "it ends no earlier than what was acknowledged\n";
  }
  if (facts.aside.empty()) {
    std::cout << "nothing was changed; --yes takes that state, and keeps the damaged database aside\n";
  } else {
    std::cout << "that state is taken; the damaged database lies in " << facts.aside << "\n";
  }
}

}  // namespace

int RunRestore(const std::vector<std::string>& args) {
  const std::string verb = "master restore";
  if (args.empty() || args[0].starts_with("-")) {
    if (args.empty() || (args[0] != "--help" && args[0] != "-h")) {
      return Fail(verb, Invalid("DIRECTORY is missing: millrace master restore DIRECTORY --set master.directory=..."),
                  2);
    }
  }
  const bool help = args[0].starts_with("-");
  MasterConfig config;
  OptionSet options = DeclareMasterOptions(&config);
  const std::vector<std::string> rest(args.begin() + (help ? 0 : 1), args.end());
  if (const auto exit = daemon::ParseArguments(
          verb,
          "Makes a master's database of the latest backup in DIRECTORY, which comes before the options. It refuses to "
          "replace an existing database.",
          rest, options))
    return *exit;
  if (const Status checked = CheckMasterConfig(config); !checked.ok()) return Fail(verb, checked, 2);
  const std::string database = DatabaseOf(config);
  if (const Status made = MakeDirectories(config.directory); !made.ok()) return Fail(verb, made);
  const Result<std::uint64_t> end = RestoreRocksStore(args[0], database);
  if (!end.ok()) return Fail(verb, end.status());
  if (const Status announced = Announce(database, DoubtCause::kRestored); !announced.ok()) return Fail(verb, announced);
  std::cout << database << " is restored up to operation " << *end << "\n";
  return 0;
}

int RunRepair(const std::vector<std::string>& args) {
  const std::string verb = "master repair";
  bool apply = false;
  const daemon::Flag yes{"--yes", &apply, "take that state, and keep the damaged database aside"};
  MasterConfig config;
  OptionSet options = DeclareMasterOptions(&config);
  if (const auto exit = daemon::ParseArguments(
          verb, "Shows what the last good state of a damaged database is, and takes it with --yes.", args, options,
          {yes}))
    return *exit;
  if (const Status checked = CheckMasterConfig(config); !checked.ok()) return Fail(verb, checked, 2);
  Holdings holdings;
  const std::string database = DatabaseOf(config);
  const Result<RepairFacts> facts =
      RepairRocksStore(database, apply, [&](const KeyValueStore& store) { return CountHoldings(store, &holdings); });
  if (!facts.ok()) return Fail(verb, facts.status());
  if (facts->problem.empty()) {
    std::cout << database << " is sound: " << InWords(holdings) << "\n";
    return 0;
  }
  if (apply) {
    if (const Status announced = Announce(database, DoubtCause::kRepaired); !announced.ok())
      return Fail(verb, announced);
  }
  Tell(database, *facts, holdings);
  return apply ? 0 : 1;
}

}  // namespace millrace::master
