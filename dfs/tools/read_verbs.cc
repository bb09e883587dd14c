// Holds the verbs cat and tail.
#include "base/console/arguments.h"
#include "base/text.h"
#include "base/units.h"
#include "dfs/tools/get.h"
#include "dfs/tools/verbs.h"

namespace millrace::dfs {
namespace {

Status Print(DfsClient& client, const std::string& path, std::uint64_t last, const FsContext& context) {
  MILLRACE_ASSIGN(const FileInfo file, client.Stat(path));
  if (file.directory) return Invalid(Quote(path) + ": is a directory");
  const std::uint64_t from = file.length > last ? file.length - last : 0;
  const auto write = [&](std::string_view bytes) { return console::WriteOut(context.console.out, bytes); };
  return CopyOut(client, file, from, write, nullptr, nullptr);
}

}  // namespace

int RunCat(const Args& args, const FsContext& context) {
  console::Arguments arguments("fs cat", "PATH...", "Writes files to standard output, one after another.");
  if (const auto status = arguments.Parse(args, context.console, 1, args.size())) return *status;
  return ForEachPath(context, "cat", arguments.operands(), [&](DfsClient& client, const std::string& path) {
    return Print(client, path, ~std::uint64_t{0}, context);
  });
}

int RunTail(const Args& args, const FsContext& context) {
  std::string bytes = "1K";
  console::Arguments arguments("fs tail", "PATH", "Writes the end of a file to standard output.");
  arguments.Text("-c,--bytes", &bytes, "how many bytes, such as 1000 or 4K (default 1K)");
  if (const auto status = arguments.Parse(args, context.console, 1, 1)) return *status;
  const Result<std::uint64_t> last = ParseBytes(bytes);
  if (!last.ok()) {
    console::SayError(context.console, "fs tail", last.status().Within("--bytes"));
    return console::kWrongUsage;
  }
  return ForEachPath(context, "tail", arguments.operands(),
                     [&](DfsClient& client, const std::string& path) { return Print(client, path, *last, context); });
}

}  // namespace millrace::dfs
