// SPDX-License-Identifier: Apache-2.0
#include "client/cli/stream_command.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/child_process.h"
#include "base/console/arguments.h"
#include "base/text.h"
#include "client/cli/commands.h"
#include "client/cli/find.h"
#include "client/cli/stream_words.h"
#include "client/streaming/options.h"
#include "client/streaming/pack.h"

extern char** environ;  // NOLINT: no header of POSIX declares it

namespace millrace::cli {
namespace {

constexpr off_t kMostByItself = off_t{16} << 20;  // bytes of a file that is shipped because a command names it

struct Given {
  StreamWords words;
  std::vector<std::string> inputs;
  std::string pack;
  std::vector<std::string> refused;
  bool ignored = false;
};

std::optional<int> Parse(const Invocation& invocation, const Words& args, const std::string& verb, Given* given,
                         RunOptions* run) {
  console::Arguments arguments(verb, "-input IN... -output OUT -mapper COMMAND [-reducer COMMAND]",
                               "Runs a job whose map and reduce are other programs, as Hadoop Streaming does.");
  arguments.OneDash();
  arguments.Example("-input /books -output /counts -mapper map.py -reducer reduce.py");
  arguments.Example("-input /logs -output /errors -mapper 'grep ERROR' -numReduceTasks 0");
  StreamWords& words = given->words;
  arguments.List("--input", &given->inputs, "a file, directory or pattern to read; may be repeated");
  arguments.Text("-o,--output", &run->output, "directory for the output; must not exist");
  arguments.Text("--mapper", &words.mapper, "the command that maps: lines in, lines of key TAB value out");
  arguments.Text("--reducer", &words.reducer,
                 "the command that reduces the sorted lines; NONE: there are no reduces; not given: lines stay as they "
                 "are");
  arguments.Text("--combiner", &words.combiner, "a command that combines the sorted lines of a map");
  arguments.List("--file,--files", &words.files,
                 "FILE[#NAME], a file or directory of this machine that the commands find where they start; may be "
                 "repeated. A script that a command names is taken along by itself");
  arguments.List("--archive,--archives", &words.archives,
                 "FILE[#NAME], a tar or zip archive, unpacked into the directory NAME (its own name by default)");
  arguments.Text("--numReduceTasks", &words.reduces, "reduce tasks (default 1)");
  arguments.List("--cmdenv", &words.environment, "NAME=VALUE in the commands' environment; may be repeated");
  arguments.List("-D", &words.parameters,
                 "an option of Hadoop Streaming's or of Millrace's, or a parameter that the commands find in "
                 "their environment, with underscores for dots; may be repeated");
  arguments.Text("--partitioner", &words.partitioner, "KeyFieldBasedPartitioner or HashPartitioner");
  arguments.Text(
      "--inputformat", &words.input_format,
      "lines (default), records or files, or a class of Hadoop's for them; with commas between, one for each "
      "-input");
  arguments.Text("--outputformat", &words.output_format, "text (default) or records, or a class of Hadoop's for them");
  arguments.Text("--io", &words.io, "text (default), typedbytes, rawbytes or frames: what goes to the commands");
  for (const SchedulingOption& option : SchedulingOptionsOf(run))
    arguments.options().add_option(option.flag, *option.field, option.one_line);
  arguments.Text("--name", &run->name, "the job's name in listings (default: streaming)");
  if (verb == "stream") {
    arguments.Flag("--detach,--background", &run->detach, "print the job's number and do not wait for it");
    arguments.List("--after", &run->after, "start when these jobs have succeeded: JOB[,JOB...]");
    arguments.Flag("--even-if-failed", &run->even_if_failed,
                   "with -after: start when these jobs have ended in any way");
    arguments.Flag("--hold", &run->hold, "start only once `millrace job release` says so");
    arguments.Text("--pack", &given->pack,
                   "write the job's program to this file, for `millrace run`, and do not run it");
  } else {
    arguments.Offline();
  }
  arguments.Flag("--json", &run->json, "print the job's final state as JSON");
  arguments.Flag("--verbose,--lazyOutput,--debug", &given->ignored, "accepted, and without effect");
  arguments.options()
      .add_option("--libjars,--conf,--inputreader,--mapdebug,--reducedebug,--cacheFile,--cacheArchive,--jt,--fs",
                  given->refused)
      ->group("");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 0, console::kAnyNumber))
    return status;
  const std::vector<std::string>& more = arguments.operands();
  given->inputs.insert(given->inputs.end(), more.begin(), more.end());
  const auto refuse = [&](const std::string& why) { return invocation.Fail(verb, Invalid(why), kWrongUsage); };
  if (!given->refused.empty())
    return refuse(
        "-libjars, -conf, -inputreader, -mapdebug, -reducedebug, -cacheFile, -cacheArchive, -jt and -fs are "
        "Hadoop's alone; -file and -archive ship files, --master names the cluster");
  if (words.mapper.empty() && words.reducer.empty()) return refuse("the mapper is missing; give -mapper COMMAND");
  if (!given->pack.empty()) return std::nullopt;
  if (given->inputs.empty()) return refuse("the input is missing; give -input PATH");
  if (run->output.empty()) return refuse("the output is missing; give -output DIRECTORY");
  return std::nullopt;
}

// Runs a program that unpacks, and returns its failure in words.
Status RunTool(const Words& words) {
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  PlainSignals(&attributes);
  pid_t child = -1;
  const int error = ::posix_spawnp(&child, argv[0], nullptr, &attributes, argv.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) return FromErrno(error, "start " + words[0]);
  MILLRACE_ASSIGN(const int status, WaitForChild(child));
  return status == 0 ? Status::Ok() : Invalid(words[0] + " ended with status " + std::to_string(ExitStatusOf(status)));
}

Status UnpackArchive(const std::string& archive, const std::string& directory) {
  MILLRACE_TRY(MakeDirectories(directory));
  const bool zip = archive.ends_with(".zip") || archive.ends_with(".jar") || archive.ends_with(".whl");
  const Status done = zip ? RunTool({"python3", "-m", "zipfile", "-e", archive, directory})
                          : RunTool({"tar", "-xf", archive, "-C", directory});
  return done.Within("unpack " + Quote(archive));
}

bool IsSmallFile(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && info.st_size <= kMostByItself;
}

// Returns all files of the job. `scratch` is an existing directory.
Result<std::vector<streaming::FileToPack>> Gather(const StreamJob& job, const StreamWords& words,
                                                  const std::string& scratch) {
  std::vector<streaming::FileToPack> files;
  const auto add = [&files](const std::string& local, const std::string& name) -> Status {
    MILLRACE_ASSIGN(const std::vector<streaming::FileToPack> below, streaming::FilesBelow(local, name));
    files.insert(files.end(), below.begin(), below.end());
    return Status::Ok();
  };
  for (const ShippedFile& file : job.files) MILLRACE_TRY(add(file.local, file.name));
  for (std::size_t i = 0; i < job.archives.size(); ++i) {
    const std::string directory = scratch + "/archive" + std::to_string(i);
    MILLRACE_TRY(UnpackArchive(job.archives[i].local, directory));
    MILLRACE_TRY(add(directory, job.archives[i].name));
  }
  for (const std::string& command : {words.mapper, words.combiner, words.reducer}) {
    for (const std::string& name : FilesNamedBy(command)) {
      const auto shipped = [&name](const streaming::FileToPack& file) {
        return file.path == name || file.path.starts_with(name + "/") || name.starts_with(file.path + "/");
      };
      if (!IsSmallFile(name) || std::ranges::any_of(files, shipped)) continue;
      MILLRACE_TRY(add(name, name));
    }
  }
  return files;
}

Status Make(const Invocation& invocation, const Given& given, StreamProgram* program) {
  RunOptions& run = program->run;
  MILLRACE_ASSIGN(const StreamJob job, TranslateStream(given.words, &run));
  for (const std::string& note : job.notes) console::SayLine(invocation.console, "millrace: stream: " + note);
  MILLRACE_ASSIGN(TempDir directory, TempDir::Make("millrace-stream-"));
  program->directory.emplace(std::move(directory));
  MILLRACE_ASSIGN(const std::vector<streaming::FileToPack> files, Gather(job, given.words, program->directory->path()));
  MILLRACE_ASSIGN(const std::string streaming, FindJob("streaming", invocation.directory()));
  std::vector<std::pair<std::string, std::string>> packed{{streaming::kInputForm, job.input_form}};
  if (!given.pack.empty()) {
    packed.insert(packed.end(), job.options.begin(), job.options.end());
    return WritePack(streaming, given.pack, packed, files);
  }
  run.inputs = given.inputs;
  for (const auto& [name, value] : job.options) run.parameters.push_back(name + "=" + value);
  run.job = streaming;
  if (files.empty() && job.input_form == "lines") return Status::Ok();
  run.job = program->directory->path() + "/streaming";
  return WritePack(streaming, run.job, packed, files);
}

}  // namespace

std::optional<int> MakeStreamProgram(const Invocation& invocation, const Words& args, const std::string& verb,
                                     StreamProgram* program) {
  Given given;
  if (const std::optional<int> status = Parse(invocation, args, verb, &given, &program->run)) return status;
  const Status made = Make(invocation, given, program);
  if (!made.ok()) return invocation.Fail(verb, made, kWrongUsage);
  if (!given.pack.empty()) return kDone;
  return std::nullopt;
}

int StreamCommand(const Invocation& invocation, const Words& args) {
  StreamProgram program;
  if (const std::optional<int> status = MakeStreamProgram(invocation, args, "stream", &program)) return *status;
  Result<Prepared> prepared = PrepareRun(invocation, program.run);
  if (!prepared.ok()) return invocation.Fail("stream", prepared.status(), kWrongUsage);
  return SubmitAndWait(invocation, std::move(prepared).value(), program.run);
}

}  // namespace millrace::cli
