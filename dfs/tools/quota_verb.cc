// SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <optional>

#include "base/console/arguments.h"
#include "base/console/json_output.h"
#include "base/text.h"
#include "base/units.h"
#include "dfs/tools/verbs.h"
#include "dfs/wire/path.h"

namespace millrace::dfs {
namespace {

using Json = nlohmann::ordered_json;
using console::Left;
using console::Printer;
using console::Right;

Json Limit(std::uint64_t limit) { return limit == kNoQuota ? Json() : Json(limit); }

Json ToJson(const QuotaState& state) {
  Json out;
  if (state.user.empty()) {
    console::SetBytes(out, "directory", state.directory);
  } else {
    console::SetBytes(out, "user", state.user);
  }
  out["bytes_with_replicas"] = {
      {"quota", Limit(state.quota.bytes)}, {"used", state.use.bytes}, {"reserved", state.reserved.bytes}};
  out["files_and_directories"] = {
      {"quota", Limit(state.quota.entries)}, {"used", state.use.entries}, {"reserved", state.reserved.entries}};
  return out;
}

std::string Line(const QuotaState& state) {
  const auto bytes = [](std::uint64_t n) { return Right(n == kNoQuota ? "none" : FormatBytes(n), 10); };
  const auto number = [](std::uint64_t n) { return Right(n == kNoQuota ? "none" : std::to_string(n), 9); };
  return bytes(state.quota.bytes) + " " + bytes(state.use.bytes) + " " + bytes(state.reserved.bytes) + " " +
         number(state.quota.entries) + " " + number(state.use.entries) + " " + number(state.reserved.entries) + "  " +
         (state.user.empty() ? Quote(state.directory) : "user " + Quote(state.user)) + "\n";
}

constexpr std::string_view kQuotaHead = "     BYTES       USED   RESERVED     FILES      USED  RESERVED  OF\n";

Status Show(const std::vector<QuotaState>& quotas, bool as_json, Printer& out) {
  if (as_json) {
    console::JsonList json(out);
    for (const QuotaState& state : quotas) json.Add(ToJson(state));
    json.Close();
    return out.Flush();
  }
  if (quotas.empty()) {
    out << "there is no quota\n";
    return out.Flush();
  }
  out << kQuotaHead;
  for (const QuotaState& state : quotas) out << Line(state);
  return out.Flush();
}

// Returns the limit that the text of an option stands for; nothing if it is empty, and the option was not given.
Result<std::optional<std::uint64_t>> LimitOf(const std::string& option, const std::string& text, bool bytes) {
  if (text.empty()) return std::optional<std::uint64_t>();
  if (text == "none") return std::optional<std::uint64_t>(kNoQuota);
  if (bytes) {
    const Result<std::uint64_t> parsed = ParseBytes(text);
    if (!parsed.ok()) return parsed.status().Within(option);
    return std::optional<std::uint64_t>(*parsed);
  }
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number == kNoQuota)
    return Invalid(option + ": " + Quote(text) + " is not a number; `none` stands for no limit");
  return std::optional<std::uint64_t>(number);
}

struct QuotaCommand {
  std::string action;  // show, set or clear
  std::optional<std::string> path;
  std::string user;
  std::optional<std::uint64_t> bytes, entries;
  bool json = false;
};

// Returns kInvalid if the parts do not make a command.
Status Check(const QuotaCommand& command) {
  if (command.action != "show" && command.action != "set" && command.action != "clear")
    return Invalid(Quote(command.action) + " is not show, set or clear");
  if (command.path && !command.user.empty()) return Invalid("a path and --user exclude each other; give one");
  const bool limits = command.bytes || command.entries;
  if (command.action == "set" && !limits) return Invalid("set: say what is the most, by --bytes or --files");
  if (command.action != "set" && limits) return Invalid("--bytes and --files belong to set");
  if (command.action != "show" && command.json) return Invalid("--json belongs to show");
  if (command.action != "show" && !command.path && command.user.empty())
    return Invalid(command.action + ": say whose quota, by a path or by --user");
  return Status::Ok();
}

Status Run(const QuotaCommand& command, DfsClient& client, const console::Console& console) {
  const std::string path = command.path.value_or("");
  if (command.action == "set") return client.SetQuota(path, command.user, command.bytes, command.entries);
  if (command.action == "clear") return client.SetQuota(path, command.user, kNoQuota, kNoQuota);
  MILLRACE_ASSIGN(const std::vector<QuotaState> quotas, client.GetQuotas(path, command.user));
  Printer out(console);
  return Show(quotas, command.json, out);
}

}  // namespace

int RunQuota(const Args& args, const FsContext& context) {
  QuotaCommand command;
  std::string bytes, files;
  console::Arguments arguments(
      "fs quota", "show|set|clear [PATH]",
      "Shows, sets or clears quotas: the most that a directory or a user may have. Bytes count with every replica. "
      "show "
      "PATH names the quotas of the directory and of those above it. Only administrators set and clear them.");
  arguments.Example("set /data/team --bytes 2T --files 1000000");
  arguments.Example("set --user ann --bytes 500G");
  arguments.Example("show /data/team");
  arguments.Text("--bytes", &bytes, "with set: the most bytes with all replicas, as in 500G; none: no limit");
  arguments.Text("--files", &files, "with set: the most files and directories; none: no limit");
  arguments.Text("--user", &command.user, "the quota of this user: of all that the user owns, the trash included");
  arguments.Flag("--json", &command.json, "with show: print JSON");
  if (const auto status = arguments.Parse(args, context.console, 1, 2)) return *status;
  const auto wrong = [&](const Status& why) {
    console::SayError(context.console, "fs quota", why);
    return console::kWrongUsage;
  };
  command.action = arguments.operands()[0];
  if (arguments.operands().size() > 1) {
    const Result<std::string> path = CanonicalPath(arguments.operands()[1]);
    if (!path.ok()) return wrong(path.status());
    command.path = *path;
  }
  const auto of_bytes = LimitOf("--bytes", bytes, true), of_files = LimitOf("--files", files, false);
  for (const auto* limit : {&of_bytes, &of_files}) {
    if (!limit->ok()) return wrong(limit->status());
  }
  command.bytes = *of_bytes;
  command.entries = *of_files;
  if (const Status fits = Check(command); !fits.ok()) return wrong(fits);
  return WithClient(context, "quota", [&](DfsClient& client) { return Run(command, client, context.console); });
}

}  // namespace millrace::dfs
