// SPDX-License-Identifier: Apache-2.0
// `millrace master restore` and `millrace master repair` (master_main.h).
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <set>

#include "base/console/arguments.h"
#include "base/file.h"
#include "base/ids/counted.h"
#include "base/kv/rocks_store.h"
#include "base/options.h"
#include "base/text.h"
#include "base/units.h"
#include "dfs/name/namespace.h"
#include "dfs/name/namespace_mend.h"
#include "master/cluster/lineage.h"
#include "master/control/cluster_record.h"
#include "master/control/master_config.h"
#include "master/database_contents.h"
#include "master/jobs/job_record.h"
#include "master/master_main.h"

namespace millrace::master {
namespace {

int Fail(const std::string& verb, const Status& why, int status = 1) {
  std::cerr << "millrace: " << verb << ": " << why.message() << "\n";
  return status;
}

bool PathExists(const std::string& path) { return std::filesystem::exists(path); }

std::string DatabaseOf(const MasterConfig& config) { return config.directory + "/database"; }

// Tells the next master on this database that it may be older than what clients were told.
WriteBatch NoteOf(DoubtCause cause) {
  WriteBatch note;
  Doubt::Announce(cause, &note);
  return note;
}

struct Holdings {
  dfs::Namespace::Usage usage;
  std::uint64_t jobs = 0;
};

Status CountHoldings(const KeyValueStore& store, Holdings* holdings) {
  if (const Result<std::string> id = ReadClusterId(store); !id.ok()) {
    return NotFound("no part of a cluster can be saved (" + std::string(id.status().message()) +
                    "); `millrace master restore` takes a backup");
  }
  dfs::Namespace names([]() -> dfs::BlockId { return 0; });  // no blocks are added to it
  MILLRACE_TRY(names.Load(store));
  MILLRACE_ASSIGN(holdings->usage, names.Measure("/"));
  return store.Scan("j/", {}, [holdings](std::string_view, std::string_view) { return ++holdings->jobs, true; });
}

std::string InWords(const Holdings& holdings) {
  return fmt::format("{} with {} in {}, {}", Counted(holdings.usage.files, "file"), FormatBytes(holdings.usage.bytes),
                     Counted(holdings.usage.directories, "directory", "directories"), Counted(holdings.jobs, "job"));
}

// Removes live jobs whose input is lost.
Result<std::vector<std::string>> MendJobs(const KeyValueStore& store, WriteBatch* batch) {
  std::vector<std::string> told;
  Status failure;
  MILLRACE_TRY(store.Scan("j/", {}, [&](std::string_view key, std::string_view value) {
    const Result<JobRecord> record = DecodeJob(key, value);
    const auto splits = record.ok() ? store.Get(SplitsKey(record->id)) : std::optional<std::string>();
    if (!splits.ok()) failure = splits.status();
    if (record.ok() && (record->outcome || *splits)) return failure.ok();
    batch->Remove(std::string(key));
    told.push_back((record.ok() ? ToText(record->id) : "a job") + " is lost: its stored record is not whole");
    return failure.ok();
  }));
  if (!failure.ok()) return failure;
  return told;
}

Result<std::vector<std::string>> Mend(KeyValueStore& store, const std::function<bool(std::string_view)>& is_newer) {
  WriteBatch batch;
  MILLRACE_ASSIGN(std::vector<std::string> told, dfs::MendNamespace(store, is_newer, &batch));
  MILLRACE_ASSIGN(const std::vector<std::string> of_jobs, MendJobs(store, &batch));
  told.insert(told.end(), of_jobs.begin(), of_jobs.end());
  MILLRACE_TRY(store.Write(batch, Durability::kSynced));
  return told;
}

// Returns the subject of a key, in words.
Result<std::string> Describe(const KeyValueStore& store, const std::string& key) {
  MILLRACE_ASSIGN(std::string of_files, dfs::DescribeStoredKey(store, key));
  if (!of_files.empty()) return of_files;
  constexpr std::string_view kOfJobs = "jste";  // job_record.h, journal.h
  constexpr std::size_t kNumber = 8;
  if (key.size() >= 2 + kNumber && key[1] == '/' && kOfJobs.find(key[0]) != std::string_view::npos) {
    const auto job = ParseKeyNumber(std::string_view(key).substr(2, kNumber));
    if (job) return *job == 0 ? "the journal of nodes and schedulers" : "job" + std::to_string(*job);
  }
  return Printable(key);
}

// Prints the apparent subject of each part that was left out.
Status TellLeftOut(const KeyValueStore& store, const std::vector<DamagedPart>& left_out, std::string* text) {
  for (const DamagedPart& part : left_out) {
    *text += fmt::format(
        "left out: {} at byte {}, {}\n", part.file, part.offset,
        part.operations == 0 ? "nothing that is known to be acknowledged" : Counted(part.operations, "operation"));
    std::set<std::string> about;
    for (const std::string& key : part.keys) {
      MILLRACE_ASSIGN(std::string what, Describe(store, key));
      about.insert(std::move(what));
    }
    for (const std::string& what : about) *text += "  it seems to have changed " + what + "\n";
    if (part.operations > part.keys.size()) {
      *text += fmt::format("  what {} of them changed cannot be told\n", part.operations - part.keys.size());
    }
  }
  return Status::Ok();
}

void Tell(const std::string& database, const RepairFacts& facts, const Holdings& holdings, console::Printer& out) {
  out << fmt::format("{}\nthe last good state of {} has {}: it ends at operation {} with {}\n", facts.problem, database,
                     facts.method, facts.operations, InWords(holdings));
  std::uint64_t lost = 0;
  for (const DamagedPart& part : facts.left_out) lost += part.operations;
  const char* const at_least = facts.acknowledged_known ? "" : "at least ";
  if (!facts.left_out.empty()) {
    out << fmt::format("{}{} lost, and {} after the first of them kept\n", at_least,
                       Counted(lost, "operation is", "operations are"), facts.kept_behind);
    for (const std::string& line : facts.mended) out << "so that the rest fits together: " << line << "\n";
  } else if (facts.acknowledged > facts.operations) {
    out << fmt::format(
        "{}{} lost\n", at_least,
        Counted(facts.acknowledged - facts.operations, "acknowledged operation is", "acknowledged operations are"));
  } else if (!facts.acknowledged_known) {
    out << "how many acknowledged operations are lost is not known\n";
  } else {
    out << "it ends no earlier than what was acknowledged\n";
  }
  if (facts.aside.empty()) {
    out << "nothing was changed; --yes takes that state, and keeps the damaged database aside\n";
  } else {
    out << "that state is taken; the damaged database is in " << facts.aside << "\n";
  }
}

int Verify(const std::string& verb, const std::string& directory, const console::Console& console) {
  DatabaseContents contents;
  const Result<BackupFacts> facts = VerifyBackup(directory, [&contents](const KeyValueStore& store) {
    MILLRACE_ASSIGN(contents, ReadAllOf(store));
    return Status::Ok();
  });
  if (!facts.ok()) return Fail(verb, facts.status());
  console::Printer(console) << fmt::format(
      "{} has a whole backup of cluster {}, made {} UTC, up to operation {}, {}: {} with {} in {}, "
      "{} ({} live) with {}, {}\n",
      directory, contents.cluster, FormatUtc(facts->made), facts->operations, FormatBytes(facts->bytes),
      Counted(contents.usage.files, "file"), FormatBytes(contents.usage.bytes),
      Counted(contents.usage.directories, "directory", "directories"), Counted(contents.jobs, "job"),
      contents.live_jobs, Counted(contents.attempts, "attempt"), Counted(contents.nodes, "node"));
  return 0;
}

}  // namespace

int RunRestore(const std::vector<std::string>& args, const console::Console& console) {
  const std::string verb = "master restore";
  bool verify = false;
  MasterConfig config;
  OptionSet options = DeclareMasterOptions(&config);
  console::Arguments arguments(
      verb, "DIRECTORY",
      "Makes a master's database from the latest backup in DIRECTORY. It refuses to replace an "
      "existing database.");
  arguments.Settings(&options);
  arguments.Flag("--verify", &verify,
                 "restore nothing: check every byte of the latest backup, and that a master could start with it");
  arguments.Example("--config /etc/millrace/master.toml /var/lib/millrace/backup");
  arguments.Example("--verify /var/lib/millrace/backup");
  if (const auto exit = arguments.Parse(args, console, 1, 1)) return *exit;
  const std::string& directory = arguments.operands()[0];
  if (verify) return Verify(verb, directory, console);
  if (const Status checked = CheckMasterConfig(config); !checked.ok()) return Fail(verb, checked, 2);
  const std::string database = DatabaseOf(config);
  if (!config.journal_copy.empty() && PathExists(CopyIn(config.journal_copy))) {
    return Fail(verb,
                Exists("there is a second copy of the database in " + config.journal_copy +
                       " (master.journal_copy), which may be newer than the backup: `millrace master repair` says "
                       "where it ends, and takes it with --yes; move it away to restore " +
                       directory + " all the same"));
  }
  const bool was_there = PathExists(config.directory);
  if (const Status made = MakeDirectories(config.directory); !made.ok()) return Fail(verb, made);
  const Result<BackupFacts> facts = RestoreRocksStore(directory, database, [](const BackupFacts& backup) {
    WriteBatch note = NoteOf(DoubtCause::kRestored);
    StoreKnownUntil(backup.made, &note);
    return note;
  });
  if (!facts.ok()) {
    if (!was_there) ::rmdir(config.directory.c_str());  // which fails if anything is in it
    return Fail(verb, facts.status());
  }
  for (const std::string& damaged : facts->damaged) {
    std::cerr << "millrace: " << verb << ": a later backup is damaged, and was passed over: " << damaged << "\n";
  }
  console::Printer(console) << database << " is restored up to operation " << std::to_string(facts->operations)
                            << ", from the backup of " << FormatUtc(facts->made) << " UTC\n";
  return 0;
}

int RunRepair(const std::vector<std::string>& args, const console::Console& console) {
  const std::string verb = "master repair";
  bool apply = false;
  bool skip = false;
  MasterConfig config;
  OptionSet options = DeclareMasterOptions(&config);
  console::Arguments arguments(verb, "",
                               "Shows what the last good state of a damaged database is, and takes it with --yes.");
  arguments.Settings(&options);
  arguments.Flag("--yes", &apply, "take that state, and keep the damaged database aside");
  arguments.Flag("--skip", &skip,
                 "leave out the damaged records, keep all whole ones after them, and say what the damaged ones seem to "
                 "have been about");
  if (const auto exit = arguments.Parse(args, console, 0, 0)) return *exit;
  if (const Status checked = CheckMasterConfig(config); !checked.ok()) return Fail(verb, checked, 2);
  Holdings holdings;
  const std::string database = DatabaseOf(config);
  std::string left_out;
  const auto look = [&](const KeyValueStore& store, const RepairFacts& facts) {
    holdings = {};
    left_out.clear();
    MILLRACE_TRY(TellLeftOut(store, facts.left_out, &left_out));
    return CountHoldings(store, &holdings);
  };
  const std::string mirror = config.journal_copy.empty() ? std::string() : CopyIn(config.journal_copy);
  const Result<RepairFacts> facts =
      RepairRocksStore(database, apply, look, skip ? MendStore(Mend) : nullptr, mirror, NoteOf(DoubtCause::kRepaired));
  if (!facts.ok()) return Fail(verb, facts.status());
  if (facts->problem.empty()) {
    console::Printer(console) << database << " is sound: " << InWords(holdings) << "\n";
    return 0;
  }
  console::Printer out(console);
  out << left_out;
  Tell(database, *facts, holdings, out);
  return apply ? 0 : 1;
}

}  // namespace millrace::master
