// SPDX-License-Identifier: Apache-2.0
// Holds the verbs cat, head and tail.
#include <algorithm>
#include <memory>
#include <optional>

#include "base/console/arguments.h"
#include "base/text.h"
#include "base/units.h"
#include "dfs/tools/get.h"
#include "dfs/tools/verbs.h"

namespace millrace::dfs {
namespace {

Status IsDirectory(const std::string& path) {
  return Invalid(Quote(path) + ": is a directory; name files, as a pattern such as /* behind it does");
}

Status Print(DfsClient& client, const FileStatus& file, const ByteRange& range, const FsContext& context) {
  const auto write = [&](std::string_view bytes) { return console::WriteOut(context.console.out, bytes); };
  return CopyOut(client, file, range, write, nullptr, nullptr);
}

// Returns what is known of a file; kInvalid for a directory.
Result<FileStatus> StatFile(DfsClient& client, const std::string& path) {
  MILLRACE_ASSIGN(FileStatus file, client.Stat(path));
  if (file.directory) return IsDirectory(path);
  return file;
}

// The amount that head and tail write: a number of lines if one is given, else a number of bytes.
struct Part {
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> lines;
};

Status PrintFirst(DfsClient& client, const std::string& path, const Part& part, const FsContext& context) {
  MILLRACE_ASSIGN(const std::unique_ptr<FileReader> reader, client.Open(path));
  std::uint64_t lines = part.lines.value_or(1);
  const std::uint64_t most = part.lines ? (lines == 0 ? 0 : reader->info().length) : part.bytes;
  Status written;
  const Status read = reader->Stream(0, std::min(most, reader->info().length), [&](std::string_view bytes) {
    std::size_t end = bytes.size();
    for (std::size_t at = 0; part.lines && at < end; ++at) {
      if (bytes[at] == '\n' && --lines == 0) end = at + 1;
    }
    written = console::WriteOut(context.console.out, bytes.substr(0, end));
    return written.ok() && lines > 0;
  });
  if (!written.ok()) return written;
  return lines == 0 ? Status::Ok() : read;
}

// Reads the end of the file back to the first of the lines.
Status PrintLastLines(DfsClient& client, const std::string& path, std::uint64_t lines, const FsContext& context) {
  MILLRACE_ASSIGN(const std::unique_ptr<FileReader> reader, client.Open(path));
  const std::uint64_t length = reader->info().length;
  for (std::uint64_t window = std::uint64_t{1} << 16;; window *= 2) {
    const std::uint64_t from = length > window ? length - window : 0;
    std::string end;
    MILLRACE_TRY(reader->Stream(from, length - from, [&end](std::string_view bytes) {
      end += bytes;
      return true;
    }));
    const std::string_view last = LastLines(end, lines);
    if (from == 0 || last.size() < end.size()) return console::WriteOut(context.console.out, last);
  }
}

Status PrintLast(DfsClient& client, const std::string& path, const Part& part, const FsContext& context) {
  if (part.lines) return PrintLastLines(client, path, *part.lines, context);
  MILLRACE_ASSIGN(const FileStatus file, StatFile(client, path));
  return Print(client, file, {.offset = file.length - std::min(file.length, part.bytes)}, context);
}

// Returns the words with "-20" as "--lines=20", as head and tail of coreutils take it.
Args WithLineCounts(const Args& args) {
  constexpr std::string_view kTakeValues[] = {"-n", "--lines", "-c", "--bytes"};
  Args out;
  bool options = true, value = false;
  for (const std::string& word : args) {
    options = options && word != "--";
    const bool count =
        options && !value && word.size() > 1 && word[0] == '-' && word.find_first_not_of("0123456789", 1) == word.npos;
    out.push_back(count ? "--lines=" + word.substr(1) : word);
    value = std::ranges::find(kTakeValues, word) != std::end(kTakeValues);
  }
  return out;
}

// Runs head or tail, whose options say how much.
int RunPart(const Args& args, const FsContext& context, const std::string& verb, const std::string& one_line,
            Status (*print)(DfsClient&, const std::string&, const Part&, const FsContext&)) {
  std::string bytes;
  std::int64_t lines = -1;
  bool follow = false, always = false, never = false;
  console::Arguments arguments("fs " + verb, "PATH...", one_line);
  arguments.Text("-c,--bytes", &bytes, "how many bytes, such as 1000 or 4K (default 1K)");
  arguments.Integer("-n,--lines", &lines, 0, 1'000'000'000, "how many lines, in place of bytes; -20 is -n 20");
  arguments.Flag("-q,--quiet,--silent", &never, "write no headings (==> PATH <==), which several files get");
  arguments.Flag("-v,--verbose", &always, "write a heading also if there is only one file");
  if (verb == "tail") arguments.Flag("-f,--follow", &follow, "is refused: a file that can be read does not grow");
  arguments.Example("-n 20 /out/part-r-00000");
  if (const auto status = arguments.Parse(WithLineCounts(args), context.console, 1, args.size())) return *status;
  const Result<std::uint64_t> count = ParseBytes(bytes.empty() ? "1K" : bytes);
  Status wrong = count.ok() ? Status::Ok() : count.status().Within("--bytes");
  if (lines >= 0 && !bytes.empty()) wrong = Invalid("--bytes and --lines contradict each other; give one of them");
  if (always && never) wrong = Invalid("--quiet and --verbose contradict each other; give one of them");
  if (follow) {
    wrong = Invalid(
        "--follow: a file can be read once it is complete, and does not grow then, so that there is nothing "
        "to follow; what a running job prints is followed with `millrace job logs --follow`");
  }
  if (!wrong.ok()) {
    console::SayError(context.console, "fs " + verb, wrong);
    return console::kWrongUsage;
  }
  Part part{.bytes = *count, .lines = std::nullopt};
  if (lines >= 0) part.lines = static_cast<std::uint64_t>(lines);
  bool first = true;
  return ForEachOfMatches(
      context, verb, arguments.operands(), [&](DfsClient& client, const std::string& path, bool several) -> Status {
        MILLRACE_TRY(StatFile(client, path).status());
        if (always || (several && !never)) {
          MILLRACE_TRY(
              console::WriteOut(context.console.out, std::string(first ? "" : "\n") + "==> " + path + " <==\n"));
        }
        first = false;
        return print(client, path, part, context);
      });
}

}  // namespace

int RunCat(const Args& args, const FsContext& context) {
  std::string offset, length;
  console::Arguments arguments("fs cat", "PATH...", "Writes files to standard output, one after another.");
  arguments.Text("--offset", &offset, "leave out so many bytes at the beginning of each file, such as 1000 or 64M");
  arguments.Text("--length", &length, "write so many bytes of each file at most (default: all that follow)");
  arguments.Example("--offset 64M --length 4K /in/log");
  if (const auto status = arguments.Parse(args, context.console, 1, args.size())) return *status;
  ByteRange range;
  const auto read = [](const std::string& option, const std::string& text, std::uint64_t* bytes) -> Status {
    if (text.empty()) return Status::Ok();
    const Result<std::uint64_t> size = ParseBytes(text);
    if (!size.ok()) return size.status().Within(option);
    *bytes = *size;
    return Status::Ok();
  };
  Status wrong = read("--offset", offset, &range.offset);
  if (wrong.ok()) wrong = read("--length", length, &range.length);
  if (!wrong.ok()) {
    console::SayError(context.console, "fs cat", wrong);
    return console::kWrongUsage;
  }
  return ForEachMatch(context, "cat", arguments.operands(), [&](DfsClient& client, const std::string& path) -> Status {
    MILLRACE_ASSIGN(const FileStatus file, StatFile(client, path));
    return Print(client, file, range, context);
  });
}

int RunHead(const Args& args, const FsContext& context) {
  return RunPart(args, context, "head", "Writes the beginning of files to standard output.", PrintFirst);
}

int RunTail(const Args& args, const FsContext& context) {
  return RunPart(args, context, "tail", "Writes the end of files to standard output.", PrintLast);
}

}  // namespace millrace::dfs
