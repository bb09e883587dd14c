// SPDX-License-Identifier: Apache-2.0
#include "client/export/check.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "client/export/record_lines.h"
#include "client/job_client/subprocess.h"
#include "client/solo/local_files.h"

namespace millrace::exported {
namespace {

constexpr std::uint64_t kLeastOfFile = std::uint64_t{64} << 10;
constexpr Micros kPatience = 3600 * kSecond;  // of one program over the sample

using Parts = std::map<std::string, std::string>;  // the bytes of the output's files, by name
using Environment = std::vector<std::pair<std::string, std::string>>;

// Runs a command of the shell in `directory`, whose programs it finds there.
Status RunIn(const std::string& directory, const std::string& command, const std::string& what) {
  const std::string script = "cd " + ShellWord(directory) + " && PATH=\"$PWD:$PATH\" && export PATH && " + command;
  MILLRACE_ASSIGN(job::Captured ran, job::RunCaptured({"/bin/sh", "-c", script}, {.timeout = kPatience, .cuts = true}));
  if (ran.exit_status == 0) return Status::Ok();
  while (ran.error.ends_with('\n')) ran.error.pop_back();
  return Invalid(what + " ended with status " + std::to_string(ran.exit_status) +
                 (ran.error.empty() ? "" : ": " + Printable(LastLines(ran.error, 5))));
}

std::string InEnvironment(const Environment& environment) {
  std::string words = "env";
  for (const auto& [name, value] : environment) words += " " + ShellWord(name + "=" + value);
  return words + " ";
}

// Calls `take` with each line, without its \n.
void EachLine(std::string_view text, const std::function<void(std::string_view)>& take) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    take(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

Result<Parts> ReadParts(const std::string& directory) {
  Parts parts;
  MILLRACE_ASSIGN(const std::vector<std::string> names, ListDirectory(directory));
  for (const std::string& name : names) {
    if (!name.starts_with("part-")) continue;
    // Hadoop's older classes leave out the letter of the kind.
    const bool old = name.size() == std::string_view("part-00000").size();
    MILLRACE_ASSIGN(parts[old ? "part-r-" + name.substr(5) : name], ReadWholeFile(directory + "/" + name));
  }
  return parts;
}

// Returns the difference of two texts in words: their first line that differs.
std::string Difference(std::string_view own, std::string_view exported) {
  std::size_t line = 1;
  const auto first = [](std::string_view text) { return text.substr(0, text.find('\n')); };
  while (!own.empty() && !exported.empty() && first(own) == first(exported)) {
    own.remove_prefix(std::min(first(own).size() + 1, own.size()));
    exported.remove_prefix(std::min(first(exported).size() + 1, exported.size()));
    ++line;
  }
  const auto shown = [&](std::string_view text) {
    return text.empty() ? std::string("ends") : "has " + Quote(first(text));
  };
  return "at line " + std::to_string(line) + " Millrace's own " + shown(own) + ", and the exported job's " +
         shown(exported);
}

class Trial {
 public:
  Trial(const Check& check, std::string place) : check_(check), place_(std::move(place)) {}

  Result<Checked> Run() {
    MILLRACE_TRY(TakeSample());
    MILLRACE_TRY(RunOwn());
    MILLRACE_TRY(check_.hadoop_home.empty() ? RunByHand() : RunHadoop());
    return Compare();
  }

 private:
  [[nodiscard]] std::string PlaceFor(const std::string& name) const { return place_ + "/" + name; }

  Status TakeSample() {
    std::vector<std::vector<InputFile>> found;
    std::size_t files = 0;
    for (const std::string& sample : check_.samples) {
      MILLRACE_ASSIGN(found.emplace_back(), solo::ListLocal(sample));
      files += found.back().size();
    }
    if (files == 0) return Invalid("there is no file in the sample");
    const std::uint64_t most = std::max(kLeastOfFile, check_.most_bytes / files);
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::string input = PlaceFor("input" + std::to_string(i));
      const bool one = found[i].size() == 1 && found[i][0].path == check_.samples[i];
      inputs_.push_back(one ? input + "/" + found[i][0].name : input);
      for (const InputFile& file : found[i]) MILLRACE_TRY(TakeFile(file, input + "/" + file.name, most));
    }
    return Status::Ok();
  }

  // Copies whole lines from the beginning of the file.
  Status TakeFile(const InputFile& file, const std::string& to, std::uint64_t most) {
    const std::uint64_t size = std::min(file.length, most);
    std::string bytes(size, '\0');
    MILLRACE_ASSIGN(const Fd fd, OpenFile(file.path, O_RDONLY));
    MILLRACE_TRY(ReadExactlyAt(fd.get(), bytes.data(), bytes.size(), 0, file.path));
    if (size < file.length) bytes.resize(bytes.rfind('\n') + 1);
    if (bytes.find('\0') != std::string::npos)
      return Invalid(Quote(file.path) + " is not plain text; a check takes files that are not compressed");
    MILLRACE_TRY(MakeDirectories(to.substr(0, to.rfind('/'))));
    MILLRACE_TRY(WriteFileDurably(to, bytes));
    done_.bytes += bytes.size();
    ++done_.files;
    files_.push_back(to);
    return Status::Ok();
  }

  Status RunOwn() const {
    std::vector<std::string> words = check_.own;
    words.push_back(PlaceFor("own"));
    words.insert(words.end(), check_.own_after.begin(), check_.own_after.end());
    words.insert(words.end(), inputs_.begin(), inputs_.end());
    std::string command;
    for (const std::string& word : words) command += (command.empty() ? "" : " ") + ShellWord(word);
    return RunIn(place_, command, "the job itself");
  }

  Status RunHadoop() const {
    HadoopJob job = check_.job;
    job.inputs.clear();
    for (const std::string& input : inputs_) job.inputs.push_back("file://" + input);
    job.output = "file://" + PlaceFor("exported");
    std::vector<std::string> words{"-D", "mapreduce.framework.name=local",   "-D", "fs.defaultFS=file:///",
                                   "-D", "hadoop.tmp.dir=" + PlaceFor("tmp")};
    const std::vector<std::string> more = StreamingWords(job);
    words.insert(words.end(), more.begin(), more.end());
    MILLRACE_TRY(MakeDirectories(PlaceFor("hadoop")));
    return RunIn(PlaceFor("hadoop"), ShellCommand(ShellWord(check_.hadoop_home + "/bin/mapred") + " streaming", words),
                 "Hadoop");
  }

  // Does what Hadoop does, a task after the other.
  Status RunByHand() {
    const std::string tasks = PlaceFor("tasks");
    MILLRACE_TRY(MakeDirectories(tasks));
    MILLRACE_TRY(MakeDirectories(PlaceFor("exported")));
    for (const std::string& ship : check_.job.ships) {
      const std::size_t hash = ship.rfind('#');
      const std::string file = ship.substr(0, hash);
      const std::string name = hash == ship.npos ? file.substr(file.rfind('/') + 1) : ship.substr(hash + 1);
      MILLRACE_ASSIGN(const std::string path, AbsolutePath(file));
      if (::symlink(path.c_str(), (tasks + "/" + name).c_str()) != 0)
        return FromErrno(errno, "make a link to " + Quote(path));
    }
    std::vector<std::vector<std::string>> lines(check_.job.reduces);
    for (std::size_t map = files_.size(); map-- > 0;) MILLRACE_TRY(RunMap(map, tasks, &lines));
    for (std::size_t reduce = 0; reduce < lines.size(); ++reduce)
      MILLRACE_TRY(RunReduce(reduce, tasks, std::move(lines[reduce])));
    return Status::Ok();
  }

  [[nodiscard]] Environment EnvironmentOf(std::size_t task) const {
    return {{"mapreduce_job_reduces", std::to_string(check_.job.reduces)},
            {"mapreduce_job_maps", std::to_string(files_.size())},
            {"mapreduce_task_partition", std::to_string(task)}};
  }

  Status RunMap(std::size_t map, const std::string& tasks, std::vector<std::vector<std::string>>* lines) const {
    const bool last = lines->empty();  // there are no reduces
    const std::string out = last ? PlaceFor("exported/" + Formatted("part-m-%05zu", map)) : PlaceFor("map.out");
    Environment environment = EnvironmentOf(map);
    std::string list;
    for (const std::string& input : inputs_) list += (list.empty() ? "file:" : ",file:") + input;
    environment.insert(environment.end(), {{"mapreduce_map_input_file", "file:" + files_[map]},
                                           {"mapreduce_map_input_start", "0"},
                                           {"mapreduce_input_fileinputformat_inputdir", list}});
    MILLRACE_TRY(RunIn(
        tasks, InEnvironment(environment) + check_.job.mapper + " < " + ShellWord(files_[map]) + " > " + ShellWord(out),
        "the mapper"));
    if (last) return Status::Ok();
    MILLRACE_ASSIGN(const std::string text, ReadWholeFile(out));
    const auto reduces = static_cast<std::uint32_t>(lines->size());
    EachLine(text, [&](std::string_view line) {
      lines->at(reduces > 1 ? HadoopReduceOf(CutLine(line).key, reduces) : 0).emplace_back(line);
    });
    return Status::Ok();
  }

  Status RunReduce(std::size_t reduce, const std::string& tasks, std::vector<std::string> lines) const {
    std::ranges::stable_sort(lines, {}, [](const std::string& line) { return CutLine(line).key; });
    std::string text;
    for (const std::string& line : lines) {
      const Line cut = CutLine(line);
      text.append(cut.key).append("\t").append(cut.value).append("\n");
    }
    const std::string in = PlaceFor("reduce.in");
    MILLRACE_TRY(WriteFileDurably(in, text));
    return RunIn(tasks,
                 InEnvironment(EnvironmentOf(reduce)) + check_.job.reducer + " < " + ShellWord(in) + " > " +
                     ShellWord(PlaceFor("exported/" + Formatted("part-r-%05zu", reduce))),
                 "the reducer");
  }

  Result<Checked> Compare() {
    MILLRACE_ASSIGN(Parts own, ReadParts(PlaceFor("own")));
    MILLRACE_ASSIGN(Parts exported, ReadParts(PlaceFor("exported")));
    if (check_.job.reduces == 0) {  // Hadoop numbers its maps otherwise
      own = {{"the maps' output", Sorted(own)}};
      exported = {{"the maps' output", Sorted(exported)}};
    }
    for (const auto& [name, bytes] : own) {
      const auto other = exported.find(name);
      if (other == exported.end()) return Invalid("the outputs differ: the exported job wrote no " + name);
      if (other->second != bytes)
        return Invalid("the outputs differ: of " + name + ", " + Difference(bytes, other->second));
      done_.lines += static_cast<std::uint64_t>(std::ranges::count(bytes, '\n'));
      ++done_.parts;
    }
    if (own.size() < exported.size()) return Invalid("the outputs differ: the exported job wrote more files");
    return done_;
  }

  static std::string Sorted(const Parts& parts) {
    std::vector<std::string> all;
    for (const auto& [name, bytes] : parts) all.push_back(bytes);
    std::ranges::sort(all);
    return Joined(all, "");
  }

  const Check& check_;
  const std::string place_;
  std::vector<std::string> inputs_, files_;  // of the sample
  Checked done_;
};

}  // namespace

Result<Checked> CheckExport(const Check& check) {
  MILLRACE_ASSIGN(const TempDir place, TempDir::Make("millrace-export-"));
  MILLRACE_ASSIGN(const std::string path, AbsolutePath(place.path()));
  return Trial(check, path).Run();
}

}  // namespace millrace::exported
