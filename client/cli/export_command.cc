// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/console/arguments.h"
#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "client/cli/commands.h"
#include "client/cli/find.h"
#include "client/export/check.h"
#include "client/export/hadoop.h"
#include "client/export/record_lines.h"
#include "client/job_client/job_description.h"
#include "client/job_client/subprocess.h"

namespace millrace::cli {
namespace {

constexpr const char* kHadoopVerb = "export hadoop";
constexpr const char* kSparkVerb = "export spark";
constexpr const char* kProgramLine = "the file to write the program of a job in Python to (default: NAME.zip here)";

struct HadoopWords {
  bool check = false;
  std::string emr, name, output, program;
  std::string job;
  std::int64_t reducers = -1;
  std::vector<std::string> inputs, parameters, files, samples;
};

// A job in Python is named JOB.py, or JOB.py:NAME.
bool IsPython(const std::string& job) { return job.ends_with(".py") || job.substr(0, job.rfind(':')).ends_with(".py"); }

constexpr Micros kPythonPatience = 60 * kSecond;
constexpr int kPythonRefuses = 3;  // the exit status of millrace.export if the job is wrong, with a line that says why

// Asks the Python package (millrace.export), and returns what it prints.
Result<std::string> AskPython(const Words& words) {
  Words argv{"/usr/bin/env", "python3", "-m", "millrace.export"};
  argv.insert(argv.end(), words.begin(), words.end());
  MILLRACE_ASSIGN(job::Captured said, job::RunCaptured(argv, {.timeout = kPythonPatience}));
  if (said.exit_status == 0) return std::move(said.output);
  while (said.error.ends_with('\n')) said.error.pop_back();
  if (said.exit_status == kPythonRefuses) return Invalid(Printable(LastLines(said.error, 1)));
  if (said.error.find("No module named") != std::string::npos && said.error.find("millrace") != std::string::npos)
    return Invalid(
        "python3 does not find the package millrace, which exports jobs in Python; install it "
        "(docs/use/python.md) or set PYTHONPATH");
  return Invalid("python3 ended with status " + std::to_string(said.exit_status) + ": " +
                 Printable(LastLines(said.error, 3)));
}

std::optional<int> Parse(const Invocation& invocation, const Words& args, HadoopWords* given) {
  console::Arguments arguments(kHadoopVerb, "JOB IN... OUT",
                               "Prints the command that runs a job with Hadoop Streaming. JOB is a bundled job, an "
                               "executable or a Python file (job.py[:NAME]).");
  arguments.Offline();
  arguments.Example("wordcount /books /counts --reducers 4");
  arguments.Example("--check --sample books ./my_job s3://data/books s3://data/counts --emr s3://data/programs");
  arguments.Flag("--check", &given->check,
                 "first try it on a sample of IN on this machine, with Hadoop if HADOOP_HOME names one, and compare "
                 "the output with the job's own");
  arguments.List("--sample", &given->samples,
                 "a file or directory of this machine to check with in place of IN; one for each IN");
  arguments.Text("--emr", &given->emr, "s3://BUCKET/PREFIX for the program: print the step of an EMR cluster instead");
  arguments.Integer("-r,--reducers", &given->reducers, 0, exported::kMostReduces,
                    "reduce tasks; 0: the maps write the output (default 1, or 0 for a job without reduces)");
  arguments.List("-D", &given->parameters, "NAME=VALUE, an option of the job; may be repeated");
  arguments.List("--file", &given->files,
                 "LOCAL=PATH, a file of this machine that the job reads as PATH; may be repeated");
  arguments.Text("--program", &given->program, kProgramLine);
  arguments.Text("--name", &given->name, "the job's name (default: that of the program)");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 3, console::kAnyNumber))
    return status;
  given->job = arguments.operands().front();
  given->output = arguments.operands().back();
  given->inputs.assign(arguments.operands().begin() + 1, arguments.operands().end() - 1);
  return std::nullopt;
}

// Returns the word as Hadoop Streaming reads it in a command, and a shell likewise: quotes are around whole words, and
// there is nothing that takes their meaning away.
Result<std::string> CommandWord(const std::string& word) {
  const std::string quoted = exported::ShellWord(word);
  if (word.find('\'') == std::string::npos) return quoted;
  if (word.find_first_of("\"$`\\") == std::string::npos) return "\"" + word + "\"";
  return Unsupported("Hadoop Streaming cannot be given the word " + Quote(word) + ", which has both kinds of quotes");
}

// A job that is exported, as its executable or the Python package describes it.
struct Exported {
  exported::HadoopJob job;   // without places for its files
  Words files, archives;     // of this machine
  std::string not_in_lines;  // empty: it can be exported
  bool map_only = false;
  std::size_t mappers = 0;  // one for each INPUT; 0: any number of INPUTs
  Words own, own_after;     // as in exported::Check
};

Status CheckFit(const HadoopWords& given, const Exported& job) {
  if (!job.not_in_lines.empty())
    return Unsupported("the job cannot be exported to Hadoop Streaming: " + job.not_in_lines);
  if (job.mappers > 0 && job.mappers != given.inputs.size())
    return Invalid("the job has " + std::to_string(job.mappers) + " mappers, one for each INPUT, and " +
                   std::to_string(given.inputs.size()) + " INPUTs are given");
  if (job.map_only && given.reducers > 0) return Invalid("the job has no reduces; leave out --reducers");
  if (!given.samples.empty() && given.samples.size() != given.inputs.size())
    return Invalid("--sample is given " + std::to_string(given.samples.size()) + " times, and there are " +
                   std::to_string(given.inputs.size()) + " INPUTs; give one for each");
  return Status::Ok();
}

Result<Exported> DescribeNative(const Invocation& invocation, const HadoopWords& given) {
  MILLRACE_ASSIGN(const std::string found, FindJob(given.job, invocation.directory()));
  MILLRACE_ASSIGN(const std::string executable, AbsolutePath(found));
  Parameters parameters;
  std::string options;
  Exported made;
  for (const std::string& text : given.parameters) {
    MILLRACE_ASSIGN(parameters.emplace_back(), job::ParseParameter(text));
    MILLRACE_ASSIGN(const std::string word, CommandWord(text));
    options += " " + word;
    made.own_after.push_back(text);
  }
  MILLRACE_ASSIGN(const job::JobDescription description, job::DescribeJob(executable, parameters, {}));
  if (!description.not_in_lines)
    return Unsupported(Quote(given.job) + " was built with an older Millrace, which exports no jobs: build it again");
  made.not_in_lines = *description.not_in_lines;
  if (made.not_in_lines.empty() && description.prepares)
    made.not_in_lines = "it looks at its input before it runs (Prepare or TotalOrder)";
  made.map_only = description.map_only;
  made.mappers = description.mappers.size();
  made.files = {executable};
  for (const std::string& file : given.files) {
    const std::size_t equals = file.rfind('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == file.size())
      return Invalid("--file " + Quote(file) + " is not LOCAL=PATH");
    MILLRACE_ASSIGN(const std::string local, AbsolutePath(file.substr(0, equals)));
    const std::string path = file.substr(equals);
    MILLRACE_ASSIGN(const std::string word, CommandWord("--file=" + local.substr(local.rfind('/') + 1) + path));
    options += " " + word;
    made.files.push_back(local);
    made.own_after.push_back("--file=" + local + path);
  }
  MILLRACE_ASSIGN(const std::string program, CommandWord(executable.substr(executable.rfind('/') + 1)));
  made.job.name = description.name;
  made.job.mapper = program + " --millrace-stream map" + options;
  made.job.reducer = program + " --millrace-stream reduce" + options;
  made.own = {executable, "--millrace-solo"};
  made.own_after.emplace_back("--");
  return made;
}

Words WithOptions(Words words, const Words& parameters) {
  for (const std::string& parameter : parameters) words.insert(words.end(), {"-D", parameter});
  return words;
}

// Returns the file for the program of a job in Python: that of --program, or one of the job's name beside the user.
std::string ProgramFile(const std::string& given, const std::string& job) {
  if (!given.empty()) return given;
  const std::string path = job.substr(0, job.rfind(".py"));
  return path.substr(path.rfind('/') + 1) + ".zip";
}

Result<Exported> DescribePython(const HadoopWords& given) {
  if (!given.files.empty()) return Invalid("--file is for executables; a job in Python names its files itself");
  MILLRACE_ASSIGN(const std::string program, AbsolutePath(ProgramFile(given.program, given.job)));
  MILLRACE_ASSIGN(const std::string line, AskPython(WithOptions({"program", given.job, program}, given.parameters)));
  const nlohmann::json said = nlohmann::json::parse(line, nullptr, false);
  Exported made;
  try {
    made.job.name = said.at("name");
    made.job.mapper = said.at("mapper");
    made.job.reducer = said.at("reducer");
    made.not_in_lines = said.at("not_in_lines");
    made.map_only = said.at("map_only");
    made.mappers = said.at("mappers");
    made.files = said.at("files").get<Words>();
    made.archives = said.at("archives").get<Words>();
    for (const auto& [name, value] : said.at("environment").items())
      made.job.environment.push_back(name + "=" + value.get<std::string>());
  } catch (const nlohmann::json::exception&) {
    return Invalid("the package millrace that python3 finds is of another release: it does not describe the job");
  }
  made.files.insert(made.files.begin(), program);
  MILLRACE_ASSIGN(const std::string job, AbsolutePath(given.job));
  made.own = {"python3", "-m", "millrace.export", "run", job};
  made.own_after = WithOptions({}, given.parameters);
  made.own_after.emplace_back("--");
  return made;
}

// Returns where the job's files are for Hadoop: on this machine or, with `remote`, below that URL. `uploads` are then
// the files and their URLs.
Result<Words> Places(const Words& files, std::string remote,
                     std::vector<std::pair<std::string, std::string>>* uploads) {
  while (remote.ends_with('/')) remote.pop_back();
  Words places;
  for (const std::string& file : files) {
    if (file.find_first_of(",#") != std::string::npos)
      return Unsupported("Hadoop's -files cannot name " + Quote(file) + ", which has a comma or a #");
    if (remote.empty()) {
      places.push_back(file);
    } else {
      places.push_back(remote + file.substr(file.rfind('/')));
      uploads->emplace_back(file, places.back());
    }
  }
  return places;
}

Status TryOut(const Invocation& invocation, const HadoopWords& given, const Exported& made) {
  exported::Check check;
  check.job = made.job;
  check.samples = given.samples.empty() ? given.inputs : given.samples;
  MILLRACE_ASSIGN(check.job.ships, Places(made.files, "", nullptr));
  MILLRACE_ASSIGN(check.job.archives, Places(made.archives, "", nullptr));
  if (!check.job.archives.empty()) return Unsupported("a job with archives is not checked");
  check.own = made.own;
  check.own_after = made.own_after;
  check.own_after.insert(check.own_after.begin(), std::to_string(check.job.reduces));
  for (std::string& sample : check.samples) {
    MILLRACE_ASSIGN(sample, AbsolutePath(sample));
  }
  const char* const home = std::getenv("HADOOP_HOME");
  check.hadoop_home = home == nullptr ? "" : home;
  MILLRACE_ASSIGN(const exported::Checked checked, exported::CheckExport(check));
  console::SayLine(invocation.console,
                   "millrace: export hadoop: checked with " + FormatBytes(checked.bytes) + " of " +
                       std::to_string(checked.files) + (checked.files == 1 ? " file, " : " files, ") +
                       (home != nullptr ? "by Hadoop in one process" : "by mapper, sort and reducer") +
                       ": the output, " + std::to_string(checked.lines) + " lines, is the job's own");
  return Status::Ok();
}

int ExportHadoop(const Invocation& invocation, const Words& args) {
  HadoopWords given;
  if (const std::optional<int> status = Parse(invocation, args, &given)) return *status;
  const auto refuse = [&](const Status& why) { return invocation.Fail(kHadoopVerb, why, kWrongUsage); };
  Result<Exported> made = IsPython(given.job) ? DescribePython(given) : DescribeNative(invocation, given);
  if (!made.ok()) return refuse(made.status());
  if (const Status fit = CheckFit(given, *made); !fit.ok()) return refuse(fit);
  exported::HadoopJob& job = made->job;
  if (!given.name.empty()) job.name = given.name;
  job.inputs = given.inputs;
  job.output = given.output;
  job.reduces = given.reducers >= 0 ? static_cast<std::uint32_t>(given.reducers) : made->map_only ? 0 : 1;
  if (given.check) {
    const Status checked = TryOut(invocation, given, *made);
    if (!checked.ok()) return invocation.Fail(kHadoopVerb, checked.Within("--check"));
  }
  std::vector<std::pair<std::string, std::string>> uploads;
  const Result<Words> files = Places(made->files, given.emr, &uploads);
  const Result<Words> archives = Places(made->archives, given.emr, &uploads);
  if (!files.ok()) return refuse(files.status());
  if (!archives.ok()) return refuse(archives.status());
  job.ships = *files;
  job.archives = *archives;
  console::Printer(invocation.console) << (given.emr.empty() ? exported::ShellCommand("mapred streaming",
                                                                                      exported::StreamingWords(job))
                                                             : exported::EmrCommands(job, uploads))
                                       << "\n";
  return kDone;
}

int ExportSpark(const Invocation& invocation, const Words& args) {
  console::Arguments arguments(kSparkVerb, "JOB.py[:NAME]",
                               "Writes the program of a job in Python to a file, and prints a PySpark program that "
                               "runs it.");
  arguments.Offline();
  arguments.Example("job.py > counts.py");
  std::string program;
  Words options;
  arguments.Text("--program", &program, kProgramLine);
  arguments.List("-D", &options, "NAME=VALUE, an option of the job; may be repeated");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 1, 1)) return *status;
  const std::string& job = arguments.operands()[0];
  const Status no_python = Unsupported("jobs in Python can be exported to Spark, and " + Quote(job) +
                                       " is none; `millrace export hadoop` takes executables");
  if (!IsPython(job)) return invocation.Fail(kSparkVerb, no_python, kWrongUsage);
  const Result<std::string> text = AskPython(WithOptions({"spark", job, ProgramFile(program, job)}, options));
  if (!text.ok()) return invocation.Fail(kSparkVerb, text.status(), kWrongUsage);
  console::Printer(invocation.console) << *text << (text->ends_with('\n') ? "" : "\n");
  return kDone;
}

}  // namespace

std::vector<Verb> ExportVerbs() {
  return {{"hadoop", "print, and check, the command that runs a job with Hadoop Streaming", ExportHadoop, {}},
          {"spark", "make a PySpark program of a job in Python", ExportSpark, {}}};
}

}  // namespace millrace::cli
