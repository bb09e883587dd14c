// SPDX-License-Identifier: Apache-2.0
#include "lab/tune/apply.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/console/json_output.h"
#include "base/file.h"
#include "base/text.h"
#include "client/job_client/job_client.h"
#include "lab/advise/settings_change.h"
#include "schedulers/policies/settings_file.h"

namespace millrace::tune {
namespace {

using Json = nlohmann::ordered_json;

struct Record {
  std::string before, after;  // schedulers
  std::string file;           // the scheduler file; empty: it was not changed
};

// Replaces a file by another one with the same owner and rights. The path may be a link.
Status ReplaceFile(const std::string& path, const std::string& text) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  struct stat was {};
  if (real == nullptr || ::stat(real.get(), &was) != 0) return FromErrno(errno, "write " + Quote(path));
  const std::string target = real.get(), next = target + ".next";
  MILLRACE_TRY(WriteFileDurably(next, text));
  if (::chmod(next.c_str(), was.st_mode & 07777) != 0 || ::chown(next.c_str(), was.st_uid, was.st_gid) != 0) {
    const Status failed = FromErrno(errno, "give " + Quote(next) + " the owner and rights of " + Quote(target));
    (void)::unlink(next.c_str());
    return failed;
  }
  MILLRACE_TRY(RenameFile(next, target));
  return SyncDirectory(target.substr(0, target.rfind('/') + 1));
}

// Returns whether the settings of a file are those in force, but for what the file leaves open.
bool AreInForce(const sched::Settings& of_file, const sched::Settings& in_force) {
  const std::string others = compare::SettingsChange(in_force, of_file);
  for (std::size_t begin = 0; begin < others.size();) {
    const std::size_t end = others.find('\n', begin);
    if (others[begin] != '#' && others[begin] != '[') return false;
    begin = end + 1;
  }
  return true;
}

// A scheduler file before and after a change.
struct Texts {
  std::string before, after;
};

// Returns the master's scheduler file, and what it will be with the settings of a try.
Result<Texts> TextsFor(const compare::History& history, const Try& to) {
  const std::string& file = history.settings_file;
  const std::string by_hand = "; change it by hand: what to put into it stands in scheduler.toml of the directory";
  if (file.empty())
    return Invalid("the master has no scheduler file (master.scheduler_file) whose settings could be changed" +
                   by_hand);
  Result<std::string> text = ReadWholeFile(file);
  if (!text.ok())
    return Invalid("the scheduler file of the master cannot be read here: " + text.status().message() + by_hand);
  Result<sched::Settings> settings = sched::ParseSettings(*text, file);
  if (!settings.ok() || !AreInForce(*settings, history.in_force.settings)) {
    return Invalid(Quote(file) +
                   " has other settings here than those in force, so it is not the file of the master, or was changed" +
                   by_hand);
  }
  for (const std::string& value : to.values) {
    const std::size_t equals = value.find('=');
    MILLRACE_TRY(SetByKey(value.substr(0, equals), value.substr(equals + 1), &*settings));
  }
  return Texts{*std::move(text), "# Written by `millrace tune`.\n" + sched::FormatSettings(*settings)};
}

Result<Record> ReadRecord(const std::string& directory) {
  const std::string path = directory + "/applied.json";
  Result<std::string> text = ReadWholeFile(path);
  if (text.status().code() == StatusCode::kNotFound)
    return NotFound(Quote(directory) + " has no applied.json: nothing was applied from it, or it was undone");
  if (!text.ok()) return text.status();
  const Json json = Json::parse(*text, nullptr, false);
  const auto has = [&](const char* key) { return json.is_object() && json.contains(key) && json[key].is_string(); };
  if (!has("before") || !has("after") || !has("file"))
    return Corrupt(Quote(path) + " is not the record of a tuning that was applied");
  return Record{json["before"], json["after"], json["file"]};
}

}  // namespace

Status CheckNotApplied(const std::string& directory) {
  if (::access((directory + "/applied.json").c_str(), F_OK) != 0) return Status::Ok();
  return Exists("a tuning of " + Quote(directory) + " was applied, and not undone: `millrace tune --undo " +
                Printable(directory) + "` goes back, and another directory keeps both");
}

Result<std::string> Apply(const cli::Invocation& invocation, const compare::History& history, const Try& to,
                          const std::string& directory) {
  MILLRACE_ASSIGN(const std::unique_ptr<dfs::DfsClient> files, invocation.Connect());
  job::JobClient client(*files);
  MILLRACE_ASSIGN(const job::SchedulerView view, client.ShowScheduler());
  if (view.name != history.in_force.scheduler)
    return Invalid("the scheduler was set to " + view.name +
                   " since the history was read, so nothing is applied; tune again");
  const bool changes = !to.values.empty();
  Texts texts;
  if (changes) {
    MILLRACE_ASSIGN(texts, TextsFor(history, to));
    MILLRACE_TRY(WriteFileDurably(directory + "/before.toml", texts.before));
    MILLRACE_TRY(WriteFileDurably(directory + "/scheduler.toml", texts.after));
  }
  const Record record{history.in_force.scheduler, to.variant.scheduler, changes ? history.settings_file : ""};
  const Json json{{"before", record.before}, {"after", record.after}, {"file", record.file}};
  MILLRACE_TRY(WriteFileDurably(directory + "/applied.json", console::Dump(json) + "\n"));
  Status done = changes ? ReplaceFile(record.file, texts.after) : Status::Ok();
  if (done.ok() && record.after != record.before) {
    done = client.SetScheduler(record.after);
    const Status back = !done.ok() && changes ? ReplaceFile(record.file, texts.before) : Status::Ok();
    if (!back.ok()) return Status(done.code(), done.message() + "; and " + back.message());
  }
  if (!done.ok()) {
    (void)::unlink((directory + "/applied.json").c_str());  // nothing is to be undone
    return done;
  }
  return "Applied: " + record.after + (changes ? ", with the scheduler file " + Printable(record.file) : "") +
         ". `millrace tune --undo " + Printable(directory) + "` goes back.";
}

Result<std::string> Undo(const cli::Invocation& invocation, const std::string& directory) {
  MILLRACE_ASSIGN(const Record record, ReadRecord(directory));
  MILLRACE_ASSIGN(const std::unique_ptr<dfs::DfsClient> files, invocation.Connect());
  job::JobClient client(*files);
  MILLRACE_ASSIGN(const job::SchedulerView view, client.ShowScheduler());
  const auto changed = [](const std::string& what) {
    return Invalid(what + ", so it was changed since the tuning was applied, and nothing is put back");
  };
  if (view.name != record.after) return changed("the scheduler is " + view.name + " and not " + record.after);
  if (!record.file.empty()) {
    MILLRACE_ASSIGN(const std::string before, ReadWholeFile(directory + "/before.toml"));
    MILLRACE_ASSIGN(const std::string after, ReadWholeFile(directory + "/scheduler.toml"));
    MILLRACE_ASSIGN(const std::string now, ReadWholeFile(record.file));
    if (now != after) return changed(Quote(record.file) + " is not the one that was written");
    MILLRACE_TRY(ReplaceFile(record.file, before));
  }
  if (record.after != record.before) MILLRACE_TRY(client.SetScheduler(record.before));
  if (::unlink((directory + "/applied.json").c_str()) != 0)
    return FromErrno(errno, "remove " + Quote(directory + "/applied.json"));
  return "Undone: " + record.before + " is in force again" +
         (record.file.empty() ? "." : ", with the scheduler file " + Printable(record.file) + " as it was.");
}

}  // namespace millrace::tune
