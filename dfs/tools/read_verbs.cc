// Holds the verbs cat, head and tail.
#include <algorithm>
#include <memory>

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

Status PrintFirst(DfsClient& client, const std::string& path, std::uint64_t first, const FsContext& context) {
  MILLRACE_ASSIGN(const std::unique_ptr<FileReader> reader, client.Open(path));
  Status written;
  const Status read = reader->Stream(0, std::min(first, reader->info().length), [&](std::string_view bytes) {
    written = console::WriteOut(context.console.out, bytes);
    return written.ok();
  });
  return written.ok() ? read : written;
}

// Runs head or tail, whose only option says how many bytes.
int RunPart(const Args& args, const FsContext& context, const std::string& verb, const std::string& one_line,
            Status (*print)(DfsClient&, const std::string&, std::uint64_t, const FsContext&)) {
  std::string bytes = "1K";
  console::Arguments arguments("fs " + verb, "PATH...", one_line);
  arguments.Text("-c,--bytes", &bytes, "how many bytes, such as 1000 or 4K (default 1K)");
  if (const auto status = arguments.Parse(args, context.console, 1, args.size())) return *status;
  const Result<std::uint64_t> count = ParseBytes(bytes);
  if (!count.ok()) {
    console::SayError(context.console, "fs " + verb, count.status().Within("--bytes"));
    return console::kWrongUsage;
  }
  return ForEachMatch(context, verb, arguments.operands(),
                      [&](DfsClient& client, const std::string& path) { return print(client, path, *count, context); });
}

}  // namespace

int RunCat(const Args& args, const FsContext& context) {
  console::Arguments arguments("fs cat", "PATH...", "Writes files to standard output, one after another.");
  if (const auto status = arguments.Parse(args, context.console, 1, args.size())) return *status;
  return ForEachMatch(context, "cat", arguments.operands(), [&](DfsClient& client, const std::string& path) {
    return Print(client, path, ~std::uint64_t{0}, context);
  });
}

int RunHead(const Args& args, const FsContext& context) {
  return RunPart(args, context, "head", "Writes the beginning of files to standard output.", PrintFirst);
}

int RunTail(const Args& args, const FsContext& context) {
  return RunPart(args, context, "tail", "Writes the end of files to standard output.", Print);
}

}  // namespace millrace::dfs
