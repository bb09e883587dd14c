// SPDX-License-Identifier: Apache-2.0
// Holds the verb checksum.
#include "base/console/arguments.h"
#include "base/console/json_output.h"
#include "base/text.h"
#include "base/tls/sha256.h"
#include "dfs/tools/get.h"
#include "dfs/tools/verbs.h"

namespace millrace::dfs {
namespace {

// As sha256sum has it: a backslash at the beginning says that the name is escaped. A terminal gets printable names.
std::string LineOf(const std::string& sum, const std::string& path, bool for_terminal) {
  if (for_terminal) return sum + "  " + Printable(path) + "\n";
  std::string name;
  for (const char c : path) name += c == '\\' ? "\\\\" : c == '\n' ? "\\n" : c == '\r' ? "\\r" : std::string(1, c);
  return (name == path ? "" : "\\") + sum + "  " + name + "\n";
}

}  // namespace

int RunChecksum(const Args& args, const FsContext& context) {
  bool json = false;
  console::Arguments arguments("fs checksum", "PATH...",
                               "Shows the SHA-256 of the bytes of files in the lines of sha256sum. The files are read "
                               "by this machine; `millrace fs verify` has the workers check all replicas instead.");
  arguments.Example("'/out/part-*'");
  arguments.Flag("--json", &json, "print JSON");
  if (const auto status = arguments.Parse(args, context.console, 1, args.size())) return *status;
  console::Printer out(context.console);
  console::JsonList list(out);
  const int status = ForEachMatch(context, "checksum", arguments.operands(),
                                  [&](DfsClient& client, const std::string& path) -> Status {
                                    MILLRACE_ASSIGN(const FileStatus file, client.Stat(path));
                                    if (file.directory) {
                                      return Invalid(Quote(path) + ": is a directory; only files have a checksum");
                                    }
                                    tls::Sha256 sum;
                                    const auto add = [&sum](std::string_view bytes) {
                                      sum.Add(bytes);
                                      return Status::Ok();
                                    };
                                    MILLRACE_TRY(CopyOut(client, file, {}, add, nullptr, nullptr));
                                    if (!json) {
                                      out << LineOf(sum.Hex(), path, context.console.out_is_terminal);
                                      return Status::Ok();
                                    }
                                    nlohmann::ordered_json line;
                                    console::SetBytes(line, "path", path);
                                    line["sha256"] = sum.Hex();
                                    list.Add(line);
                                    return Status::Ok();
                                  });
  if (json && status == console::kDone) list.Close();
  const Status written = out.Flush();
  if (written.ok()) return status;
  console::SayError(context.console, "fs checksum", written);
  return console::kFailed;
}

}  // namespace millrace::dfs
