// SPDX-License-Identifier: Apache-2.0
#include "client/support/support_command.h"

#include <unistd.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/console/arguments.h"
#include "base/file.h"
#include "base/local_place.h"
#include "base/release.h"
#include "base/text.h"
#include "base/tls/certificates.h"
#include "base/tls/tls_files.h"
#include "base/version.h"
#include "client/job_client/job_client.h"
#include "client/job_client/subprocess.h"
#include "client/support/daemon_settings.h"
#include "client/support/machine_facts.h"
#include "client/support/redaction.h"
#include "client/support/tar_file.h"

extern char** environ;  // NOLINT: no header of POSIX declares it

namespace millrace::support {
namespace {

using cli::Invocation;
using cli::Words;

constexpr std::size_t kMostBytes = std::size_t{2} << 20;  // of a part
constexpr std::size_t kMostLines = 1000;                  // of a log or of the journal
constexpr std::size_t kMostJobs = 20;                     // whose events are looked at
constexpr Micros kPatience = 20 * kSecond;                // with one answer of the master
constexpr const char* kSettings = "/etc/millrace";

constexpr std::string_view kReadMe =
    "What `millrace support` has gathered, for whoever helps with this cluster.\n"
    "\n"
    "These files name users, groups, paths, hosts, addresses and jobs. They have no keys, tokens and passwords, as "
    "far\n"
    "as the program can tell: values of options are shown only if the option is known to be harmless, options of jobs\n"
    "(-D) are not asked for, and in logs what looks like a secret is replaced by \"[hidden]\". A secret that a "
    "program\n"
    "has printed under a harmless name, or that is part of a name of a job or a path, is not recognized. Look through\n"
    "the files before you send them.\n"
    "\n"
    "  MISSING              what could not be had, and why\n"
    "  versions.txt         of this program\n"
    "  cluster-status.txt   the state of the cluster, its faults and warnings; .json the same\n"
    "  nodes.json           the workers and their versions\n"
    "  jobs.json            the jobs that the master remembers\n"
    "  scheduler.txt        the scheduler, its settings in force, and why jobs wait\n"
    "  fsck.txt             the health of the file system; at most 2 MiB, the summary last\n"
    "  whoami.txt           who the master takes the caller for\n"
    "  events.txt           the last events of the journal, of nodes and of the latest jobs\n"
    "  clock.txt            this machine's clock, and how far the master's is from it\n"
    "  system.txt, cgroups.txt, disks.txt\n"
    "                       this machine: kernel, memory, limits; control groups; room in the directories\n"
    "  certificates.txt     whose certificates end when\n"
    "  master-1, worker-1   a daemon of this machine: settings.txt, and log.txt with its last 1000 lines\n";

class Collection {
 public:
  explicit Collection(const Invocation& invocation) : invocation_(invocation) {
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
      const std::string_view text = *variable;
      const std::size_t equals = std::min(text.find('='), text.size());
      const std::string_view name = text.substr(0, equals);
      if (name == "PWD" || name == "OLDPWD") continue;  // the shell's directories, which logs and settings name
      if (NamesASecret(name)) redactor_.Hide(text.substr(std::min(equals + 1, text.size())));
    }
    if (const std::string key = tls::TlsFilesIn(invocation.tls).key; !key.empty()) {
      if (const Result<std::string> text = ReadWholeFile(key); text.ok()) redactor_.Hide(*text);
    }
  }

  Redactor& redactor() { return redactor_; }

  void Add(const std::string& name, std::string_view text) {
    std::string clean = redactor_.Clean(text);
    if (clean.size() > kMostBytes) clean = clean.substr(0, kMostBytes) + "\n(cut here)\n";
    files_.push_back({name, std::move(clean)});
  }
  void AddMissing(const std::string& name, const std::string& why) {
    const std::string line = name + ": " + redactor_.Clean(Printable(why));
    missing_ += line + "\n";
    console::SayLine(invocation_.console, "millrace: support: there is no " + line);
  }
  void AddOrSay(const std::string& name, const Result<std::string>& text) {
    text.ok() ? Add(name, std::string_view(*text)) : AddMissing(name, text.status().message());
  }

  std::string Pack(Micros now) {
    std::vector<ArchivedFile> all = {{"README", std::string(kReadMe)},
                                     {"MISSING", missing_.empty() ? "nothing\n" : missing_}};
    all.insert(all.end(), files_.begin(), files_.end());
    return TarGz(all, now);
  }

 private:
  const Invocation& invocation_;
  Redactor redactor_;
  std::vector<ArchivedFile> files_;
  std::string missing_;
};

// ---- the master ----

struct MasterPart {
  const char* file;
  Words command;
};

std::vector<MasterPart> MasterParts() {
  return {{"cluster-status.txt", {"cluster", "status"}},
          {"cluster-status.json", {"cluster", "status", "--json"}},
          {"nodes.json", {"node", "list", "--json"}},
          {"jobs.json", {"job", "list", "--json"}},
          {"scheduler.txt", {"scheduler", "show"}},
          {"fsck.txt", {"fs", "fsck"}},
          {"whoami.txt", {"whoami"}}};
}

// A command of its own for each part, so that one that hangs or fails takes no other part with it.
Result<std::string> OutputOf(const Invocation& invocation, const Words& command) {
  Words words = {invocation.self, "--master", invocation.master, "--wait", "0s"};
  if (!invocation.tls.empty()) words.insert(words.end(), {"--tls", invocation.tls});
  words.insert(words.end(), command.begin(), command.end());
  MILLRACE_ASSIGN(const job::Captured captured, job::RunCaptured(words, {kPatience, 2 * kMostBytes, true}));
  // Commands about health fail if something is wrong, and say what all the same.
  if (captured.output.empty()) {
    return Unavailable(captured.error.empty()
                           ? "it printed nothing, and ended with status " + std::to_string(captured.exit_status)
                           : captured.error.substr(0, captured.error.find('\n')));
  }
  return captured.output;
}

// The events of nodes and of the latest jobs, the last ones of all.
Result<std::string> Events(job::JobClient client) {
  MILLRACE_ASSIGN(const std::vector<JobStatus> all, client.List(false));
  std::vector<JobId> jobs = {JobId{0}};
  for (auto job = all.rbegin(); job != all.rend() && jobs.size() <= kMostJobs; ++job) jobs.push_back(job->job);
  std::map<std::uint64_t, std::string> lines;
  for (const JobId job : jobs) {
    const Status read = client.History(job, [&lines](std::uint64_t number, const std::string& line) {
      lines[number] = line;
      if (lines.size() > kMostLines) lines.erase(lines.begin());
    });
    // A job has no history if it is lost, or was forgotten after the list was made.
    if (read.code() != StatusCode::kNotFound) MILLRACE_TRY(read);
  }
  std::string text;
  for (const auto& [number, line] : lines) text += std::to_string(number) + " " + line + "\n";
  return text.size() <= kMostBytes ? text : text.substr(text.find('\n', text.size() - kMostBytes) + 1);
}

// The master's time lies between the times before and after it was asked.
Result<std::string> Skew(job::JobClient client) {
  const Micros before = SystemClock().Now();
  MILLRACE_ASSIGN(const job::SchedulerView view, client.ShowScheduler());
  const Micros after = SystemClock().Now();
  const auto millis = [](Micros time) { return std::to_string(time / kMillisecond) + " ms"; };
  return "the master's time is ahead of this machine's by " + millis(view.now - after) + " to " +
         millis(view.now - before) + " (it was asked at " + tls::TimeText(before) + ")\n";
}

void AddMaster(const Invocation& invocation, Collection* collection) {
  Invocation hasty = invocation;
  hasty.wait = "0s";
  Result<std::unique_ptr<dfs::DfsClient>> files = hasty.Connect({}, kPatience);
  // A master that is there but does not answer is asked once, and not for each part.
  Status reached = files.status();
  if (reached.ok()) reached = job::JobClient(**files).WhoAmI().status();
  std::string clock = ClockText();
  if (reached.ok()) {
    for (const MasterPart& part : MasterParts()) collection->AddOrSay(part.file, OutputOf(invocation, part.command));
    collection->AddOrSay("events.txt", Events(job::JobClient(**files)));
    const Result<std::string> skew = Skew(job::JobClient(**files));
    skew.ok() ? static_cast<void>(clock += *skew)
              : collection->AddMissing("time of the master", skew.status().message());
  } else {
    for (const MasterPart& part : MasterParts()) collection->AddMissing(part.file, reached.message());
    collection->AddMissing("events.txt", reached.message());
    collection->AddMissing("time of the master", reached.message());
  }
  collection->AddMissing("time of the workers", "workers tell nobody their time; run this command on their machines");
  collection->Add("clock.txt", clock);
}

// ---- this machine ----

Result<std::string> LogOf(const Daemon& daemon) {
  std::string file = daemon.GetPath("log.file");
  if (file.empty()) file = daemon.output;
  if (!file.empty()) return TailOf(file, daemon.user, kMostLines, kMostBytes);
  constexpr const char* kJournal = "/usr/bin/journalctl";
  if (::access(kJournal, X_OK) != 0)
    return NotFound("its log goes to standard error, and there is no journal of systemd on this machine");
  MILLRACE_ASSIGN(const job::Captured captured,
                  job::RunCaptured({kJournal, "-u", "millrace-" + daemon.kind, "-n", std::to_string(kMostLines),
                                    "--no-pager", "-o", "short-iso"},
                                   {kPatience, kMostBytes, true}));
  if (captured.exit_status != 0 || captured.output.empty())
    return NotFound("the journal of systemd has nothing: " + captured.error.substr(0, captured.error.find('\n')));
  return captured.output;
}

std::string CertificatesText(const std::vector<std::string>& files) {
  std::string text;
  for (const std::string& file : files) {
    const Result<std::string> pem = ReadWholeFile(file);
    const auto facts =
        pem.ok() ? tls::ReadAllFacts(*pem, file) : Result<std::vector<tls::CertificateFacts>>(pem.status());
    if (!facts.ok()) {
      text += Printable(facts.status().message()) + "\n";
      continue;
    }
    for (const tls::CertificateFacts& one : *facts) {
      text += Printable(file) + ": " + Printable(one.common_name) + ", from " + tls::TimeText(one.from) + " until " +
              tls::TimeText(one.until) + "\n";
    }
  }
  return text;
}

void AddMachine(const Invocation& invocation, const std::vector<Daemon>& daemons, Collection* collection) {
  std::vector<std::string> disks = {"/", "/tmp", "/var/log"};
  std::vector<std::string> certificates;
  if (!invocation.tls.empty()) {
    const tls::TlsFiles own = tls::TlsFilesIn(invocation.tls);
    certificates = {own.ca, own.certificate};
  }
  const auto add_certificate = [&certificates](const std::string& file) {
    if (!file.empty() && std::ranges::find(certificates, file) == certificates.end()) certificates.push_back(file);
  };
  for (const Daemon& daemon : daemons) {
    collection->Add(daemon.name + "/settings.txt", SettingsText(daemon));
    if (!daemon.problem.empty()) collection->AddMissing(daemon.name + "/settings.txt, in full", daemon.problem);
    collection->AddOrSay(daemon.name + "/log.txt", LogOf(daemon));
    for (const char* option : {"master.directory", "master.journal_copy", "worker.directory"})
      disks.push_back(daemon.GetPath(option));
    const std::string more = daemon.Get("worker.block_directories");
    for (std::size_t begin = 0; begin < more.size();) {
      const std::size_t end = std::min(more.find(',', begin), more.size());
      disks.push_back(more.substr(begin, end - begin));
      begin = end + 1;
    }
    add_certificate(daemon.GetPath("tls.ca"));
    add_certificate(daemon.GetPath("tls.certificate"));
  }
  if (daemons.empty())
    collection->AddMissing("settings and logs", "no daemon of this user, of root or of the user millrace runs here");
  collection->Add("system.txt", SystemText());
  collection->Add("cgroups.txt", CgroupsText());
  collection->Add("disks.txt", DisksText(disks));
  if (certificates.empty()) {
    collection->AddMissing("certificates.txt", "neither this command nor a daemon of this machine has been given any");
  } else {
    collection->Add("certificates.txt", CertificatesText(certificates));
  }
}

std::string VersionsText() {
  return "millrace " + ToText(ThisRelease()) + "\ncompiler " + __VERSION__ +
#ifdef __aarch64__
         ", arm64"
#else
         ", amd64"
#endif
#ifdef NDEBUG
         ", without assertions\n";
#else
         ", with assertions\n";
#endif
}

// "millrace-support-HOST-20260131T120005Z.tar.gz"
std::string DefaultName(Micros now) {
  char host[256] = "unknown";
  (void)::gethostname(host, sizeof host - 1);
  std::string time = tls::TimeText(now);
  std::erase_if(time, [](char c) { return c == '-' || c == ':'; });
  std::string name = host;
  std::ranges::replace(name, '/', '-');
  return "millrace-support-" + name + "-" + time + ".tar.gz";
}

}  // namespace

int SupportCommand(const Invocation& invocation, const Words& args) {
  console::Arguments arguments(
      "support", "",
      "Packs what somebody needs who is to find out what is wrong with a cluster into one archive: the state of the "
      "cluster, and settings, logs, disks and clock of this machine. It has no keys, tokens and passwords, but names "
      "users, paths and jobs. What cannot be had, as when the master does not answer, is named in its file MISSING.");
  arguments.Example("");
  arguments.Example("-o /tmp/cluster.tar.gz");
  std::string output;
  Words configs;
  arguments.Text("-o,--output", &output, "the file to write (default: millrace-support-HOST-TIME.tar.gz, here)");
  arguments.List("--config", &configs,
                 "the settings of a daemon of this machine, instead of those of the daemons that run; may be repeated");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 0, 0)) return *status;
  const Micros now = SystemClock().Now();
  const std::string file = output.empty() ? DefaultName(now) : output;
  // A wrong place is told before any work is done for it.
  if (const LocalKind there = LookAtLocal(file); there == LocalKind::kNothing || there == LocalKind::kDirectory) {
    const Status place = LocalFile::Open(file, {.replace = true}).status();
    if (!place.ok()) return invocation.Fail("support", place);
  }
  Collection collection(invocation);
  const std::vector<Daemon> daemons = configs.empty() ? FindDaemons("/proc", kSettings) : DaemonsOf(configs);
  for (const Daemon& daemon : daemons) HideSecretsOf(daemon, &collection.redactor());
  collection.Add("versions.txt", VersionsText());
  AddMaster(invocation, &collection);
  AddMachine(invocation, daemons, &collection);
  const Status written = tls::PutFile(file, collection.Pack(now), tls::kForOwner, true);
  if (!written.ok()) return invocation.Fail("support", written);
  console::Printer out(invocation.console);
  out << file << "\n";
  const Status told = out.Flush();
  return told.ok() ? cli::kDone : invocation.Fail("support", told);
}

}  // namespace millrace::support
