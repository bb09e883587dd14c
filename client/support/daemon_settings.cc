// SPDX-License-Identifier: Apache-2.0
#include "client/support/daemon_settings.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "base/toml_file.h"

namespace millrace::support {
namespace {

constexpr std::size_t kMostDaemons = 64;

// Numbers, times, names and paths. The test compares the list with the declared options.
constexpr std::string_view kShown[] = {
    "access.file",
    "audit.log",
    "audit.reads",
    "dfs.block_size",
    "dfs.copies_per_node",
    "dfs.copy_timeout",
    "dfs.lease_grace",
    "dfs.lease_limit",
    "dfs.maintenance_replicas",
    "dfs.replication",
    "dfs.trash_retention",
    "health.listen",
    "log.file",
    "log.file_bytes",
    "log.format",
    "log.old_files",
    "master.address_file",
    "master.avoid_ailing",
    "master.backup_age",
    "master.bind",
    "master.directory",
    "master.disconnect_grace",
    "master.doubt",
    "master.executable_retention",
    "master.forget_nodes_after",
    "master.heartbeat",
    "master.history_jobs",
    "master.job_logs_bytes",
    "master.job_logs_keep",
    "master.journal_copy",
    "master.log_level",
    "master.lost_after",
    "master.max_connections",
    "master.max_connections_per_peer",
    "master.message_memory",
    "master.program_memory",
    "master.program_paths",
    "master.program_sandbox",
    "master.programs",
    "master.reserved_bytes",
    "master.scheduler",
    "master.scheduler_file",
    "master.startup_grace",
    "metrics.listen",
    "spot.notice",
    "spot.rebalance",
    "task.memory",
    "task.memory_limit",
    "task.scratch_bytes",
    "task.start_timeout",
    "task.stream_bytes",
    "task.timeout",
    "tls.ca",
    "tls.certificate",
    "tls.key",
    "trace.collector",
    "worker.bind",
    "worker.block_directories",
    "worker.copy_connections",
    "worker.copy_stall",
    "worker.cores",
    "worker.datacenter",
    "worker.directory",
    "worker.executable_cache",
    "worker.failed_disks",
    "worker.host",
    "worker.log_bytes",
    "worker.log_level",
    "worker.log_retention",
    "worker.map_slots",
    "worker.master",
    "worker.max_connections",
    "worker.max_connections_per_peer",
    "worker.memory",
    "worker.name",
    "worker.port",
    "worker.rack",
    "worker.ready_file",
    "worker.reduce_slots",
    "worker.reserved_bytes",
    "worker.sandbox",
    "worker.scrub_period",
    "worker.scrub_rate",
    "worker.storage_check",
    "worker.task_directory",
    "worker.task_network",
    "worker.task_paths",
    "worker.task_processes",
    "worker.task_tmp",
    "worker.task_users",
    "worker.trash_retention",
    "worker.unfinished_retention",
    "worker.warm_idle",
    "worker.warm_processes",
};
static_assert(std::ranges::is_sorted(kShown));

std::string LinkTarget(const std::string& path) {
  char target[4096];
  const ssize_t size = ::readlink(path.c_str(), target, sizeof target);
  return size > 0 && static_cast<std::size_t>(size) < sizeof target
             ? std::string(target, static_cast<std::size_t>(size))
             : "";
}

std::vector<std::string> WordsOf(const std::string& command_line) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < command_line.size();) {
    const std::size_t end = std::min(command_line.find('\0', begin), command_line.size());
    words.push_back(command_line.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// Reads "--name VALUE" or "--name=VALUE" at words[*at], and moves *at behind it.
std::optional<std::string> ValueAt(const std::vector<std::string>& words, std::string_view name, std::size_t* at) {
  const std::string& word = words[*at];
  if (word == name && *at + 1 < words.size()) return words[++*at];
  if (word.starts_with(std::string(name) + "=")) return word.substr(name.size() + 1);
  return std::nullopt;
}

// A pipe would never end.
bool IsRegular(const std::string& path, uid_t* owner = nullptr) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return false;
  if (owner != nullptr) *owner = facts.st_uid;
  return true;
}

void ReadConfig(Daemon* daemon) {
  if (::access(daemon->config.c_str(), F_OK) == 0 && !IsRegular(daemon->config)) {
    daemon->problem = daemon->config + " is no regular file";
    return;
  }
  const Result<std::vector<TomlEntry>> entries = ReadTomlFile(daemon->config);
  if (!entries.ok()) {
    // The message may quote a part of the file.
    daemon->problem =
        entries.status().code() == StatusCode::kInvalid ? daemon->config + " is not TOML" : entries.status().message();
    return;
  }
  for (const TomlEntry& entry : *entries) {
    if (entry.kind == TomlEntry::Kind::kTable) continue;
    const bool list = entry.kind == TomlEntry::Kind::kList;
    daemon->settings.emplace_back(Joined(entry.path, "."), list ? Joined(entry.items, ",") : entry.text);
  }
}

bool IsTrusted(const std::string& process, uid_t* user) {
  struct stat facts {};
  if (::stat(process.c_str(), &facts) != 0) return false;
  *user = facts.st_uid;
  if (facts.st_uid == 0 || facts.st_uid == ::geteuid()) return true;
  passwd entry{}, *found = nullptr;
  char buffer[4096];
  return ::getpwuid_r(facts.st_uid, &entry, buffer, sizeof buffer, &found) == 0 && found != nullptr &&
         std::string_view(found->pw_name) == "millrace";
}

std::optional<Daemon> DaemonAt(const std::string& process, const std::string& pid) {
  const Result<std::string> command_line = ReadWholeFile(process + "/cmdline");
  if (!command_line.ok()) return std::nullopt;
  const std::vector<std::string> words = WordsOf(*command_line);
  if (words.size() < 3 || words[0].substr(words[0].rfind('/') + 1) != "millrace") return std::nullopt;
  if (words[1] != "master" && words[1] != "worker") return std::nullopt;
  Daemon daemon;
  if (!IsTrusted(process, &daemon.user)) return std::nullopt;
  daemon.kind = words[1];
  daemon.origin = "process " + pid;
  daemon.directory = LinkTarget(process + "/cwd");
  const std::string output = LinkTarget(process + "/fd/2");
  if (output.starts_with("/") && !output.starts_with("/dev/")) daemon.output = output;
  std::vector<std::string> pairs;
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (words[i] == "--init" || (i == 2 && !words[i].starts_with("-"))) return std::nullopt;  // no daemon
    if (const auto config = ValueAt(words, "--config", &i)) {
      daemon.config = config->starts_with("/") || daemon.directory.empty() ? *config : daemon.directory + "/" + *config;
    } else if (const auto pair = ValueAt(words, "--set", &i)) {
      pairs.push_back(*pair);
    }
  }
  if (!daemon.config.empty()) ReadConfig(&daemon);
  for (const std::string& pair : pairs) {
    const std::size_t equals = std::min(pair.find('='), pair.size());
    daemon.settings.emplace_back(pair.substr(0, equals), pair.substr(std::min(equals + 1, pair.size())));
  }
  return daemon;
}

void NameAll(std::vector<Daemon>* daemons) {
  std::size_t masters = 0, workers = 0;
  for (Daemon& daemon : *daemons)
    daemon.name = daemon.kind + "-" + std::to_string(++(daemon.kind == "master" ? masters : workers));
}

Daemon FromConfig(const std::string& kind, const std::string& config) {
  Daemon daemon;
  daemon.kind = kind;
  daemon.origin = daemon.config = config;
  (void)IsRegular(config, &daemon.user);
  ReadConfig(&daemon);
  return daemon;
}

}  // namespace

std::string Daemon::Get(std::string_view option) const {
  std::string value;
  for (const auto& [key, given] : settings) {
    if (key == option) value = given;
  }
  return value;
}

std::string Daemon::GetPath(std::string_view option) const {
  const std::string value = Get(option);
  if (value.empty() || value.starts_with("/")) return value;
  return directory.empty() ? "" : directory + "/" + value;
}

std::vector<Daemon> FindDaemons(const std::string& proc, const std::string& etc) {
  std::vector<Daemon> daemons;
  std::set<std::string> used;
  const Result<std::vector<std::string>> names = ListDirectory(proc);
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    if (name.find_first_not_of("0123456789") != std::string::npos || daemons.size() == kMostDaemons) continue;
    std::optional<Daemon> daemon = DaemonAt(proc + "/" + name, name);
    if (!daemon) continue;
    used.insert(daemon->config);
    daemons.push_back(*std::move(daemon));
  }
  for (const char* kind : {"master", "worker"}) {
    const std::string config = etc + "/" + kind + ".toml";
    if (!used.contains(config) && ::access(config.c_str(), F_OK) == 0) daemons.push_back(FromConfig(kind, config));
  }
  NameAll(&daemons);
  return daemons;
}

std::vector<Daemon> DaemonsOf(const std::vector<std::string>& configs) {
  std::vector<Daemon> daemons;
  for (const std::string& config : configs) {
    Daemon daemon = FromConfig("master", config);
    const bool worker =
        std::ranges::any_of(daemon.settings, [](const auto& setting) { return setting.first.starts_with("worker."); });
    if (worker) daemon.kind = "worker";
    daemons.push_back(std::move(daemon));
  }
  NameAll(&daemons);
  return daemons;
}

bool MayBeShown(std::string_view option) { return std::ranges::binary_search(kShown, option); }

std::string SettingsText(const Daemon& daemon) {
  std::string text = "# " + daemon.kind + ", " + daemon.origin + "; all other options have their defaults\n";
  if (!daemon.config.empty()) text += "# --config " + Printable(daemon.config) + "\n";
  if (!daemon.problem.empty()) text += "# " + Printable(daemon.problem) + "\n";
  for (const auto& [name, value] : daemon.settings)
    text += Printable(name) + " = " + (MayBeShown(name) ? Printable(value) : "(not shown)") + "\n";
  return text;
}

void HideSecretsOf(const Daemon& daemon, Redactor* redactor) {
  for (const auto& [name, value] : daemon.settings) {
    if (!MayBeShown(name)) redactor->Hide(value);
  }
  std::vector<std::string> files = {daemon.GetPath("tls.key"), daemon.GetPath("tls.certificate")};
  if (const std::string directory = daemon.GetPath("master.directory"); !directory.empty())
    files.push_back(directory + "/token-key");
  for (const std::string& file : files) {
    if (file.empty() || !IsRegular(file)) continue;
    const Result<std::string> text = ReadWholeFile(file);
    // A certificate is not secret, but a file may have the key beside it.
    if (text.ok() && (file != daemon.GetPath("tls.certificate") || text->find("PRIVATE KEY") != std::string::npos))
      redactor->Hide(*text);
  }
}

}  // namespace millrace::support
