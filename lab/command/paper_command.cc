// SPDX-License-Identifier: Apache-2.0
#include "lab/command/paper_command.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/console/console.h"
#include "base/file.h"
#include "base/local_place.h"
#include "base/text.h"
#include "lab/study/live_page.h"
#include "lab/study/page.h"
#include "lab/study/paper.h"
#include "lab/study/paper_run.h"
#include "lab/study/seeds.h"
#include "lab/study/summary.h"
#include "lab/study/tables.h"

namespace millrace::compare {
namespace {

namespace study = sim::experiments;
using console::kDone;
using console::Printer;

constexpr const char* kPaperVerb = "compare";

Result<std::vector<study::Findings>> Simulate(const study::Paper& paper, const PaperWords& words,
                                              const study::Options& options) {
  const std::uint32_t seeds = words.seeds > 0 ? static_cast<std::uint32_t>(words.seeds) : paper.seeds;
  return study::RunSeeds([&](const study::Options& of_seed) { return study::RunPaper(paper, of_seed); }, options, seeds,
                         std::max(1U, std::thread::hardware_concurrency()));
}

std::string TextOf(const study::Paper& paper, const std::vector<study::Findings>& seeds, const study::Options& options,
                   bool json) {
  std::string text;
  if (json) {
    for (std::size_t s = 0; s < seeds.size(); ++s)
      text += study::FormatJson(paper.name, paper.authors + ", " + paper.section, options.seed + s, seeds[s]);
    return text;
  }
  text = paper.name + ": " + paper.title + " (" + paper.authors + ", " + paper.section + ")\n\n";
  for (const study::TextTable& table : study::Summarise(seeds)) text += study::FormatTable(table) + '\n';
  return text;
}

study::PageTables TablesOf(const study::Paper& paper, const std::vector<study::Findings>& seeds) {
  study::PageTables tables;
  for (const study::TextTable& table : study::Summarise(seeds))
    tables[paper.name + '/' + table.id] = study::FormatMarkdown(table);
  return tables;
}

// The names on a page of the tables that TablesOf makes.
std::vector<std::string> NamesOf(const std::vector<study::Paper>& papers) {
  std::vector<std::string> names;
  for (const study::Paper& paper : papers) {
    for (const study::PaperTable& table : paper.tables) names.push_back(paper.name + '/' + table.id);
    if (!paper.claims.empty()) names.push_back(paper.name + "/claims");
  }
  return names;
}

// Runs the papers, and prints them or puts them into a page.
Status TellSimulated(const cli::Invocation& invocation, const PaperWords& words,
                     const std::vector<study::Paper>& papers) {
  study::Options options;
  if (words.seed >= 0) options.seed = static_cast<std::uint64_t>(words.seed);
  study::PageTables tables;
  // Before the simulations, which may take hours.
  const std::string& page = words.write.empty() ? words.check : words.write;
  if (!page.empty()) MILLRACE_TRY(study::CheckMarks(page, NamesOf(papers)));
  Printer out(invocation.console);
  for (const study::Paper& paper : papers) {
    MILLRACE_ASSIGN(const std::vector<study::Findings> seeds, Simulate(paper, words, options));
    if (words.write.empty() && words.check.empty()) {
      out << TextOf(paper, seeds, options, words.json);
    } else {
      tables.merge(TablesOf(paper, seeds));
    }
  }
  if (!words.write.empty()) return study::WritePage(words.write, tables);
  if (!words.check.empty()) return study::CheckPage(words.check, tables, "millrace compare --write");
  return out.Flush();
}

// Writes the workloads that sweeps change, and prints the commands that run the comparisons.
Status PrintPlan(const cli::Invocation& invocation, const PaperWords& words, const std::vector<study::Paper>& papers) {
  MILLRACE_TRY(MakeDirectories(words.directory));
  for (const study::Paper& paper : papers) {
    for (const study::LiveComparison& one : study::ComparisonsOf(paper)) {
      if (!one.text.empty()) MILLRACE_TRY(WriteLocalFile(words.directory + "/" + one.workload, one.text));
    }
  }
  Printer out(invocation.console);
  out << study::PlanOf(papers, "deploy/testbed", words.directory);
  return out.Flush();
}

// Puts the pictures beside the page, into a directory of its name. Only those that the page shows.
Status WritePictures(const std::string& path, const std::string& page, const study::LivePage& made) {
  const std::string directory = path.substr(0, path.rfind('.'));
  for (const auto& [name, picture] : made.pictures) {
    if (page.find("/" + name + ".svg)") == std::string::npos) continue;
    MILLRACE_TRY(MakeDirectories(directory));
    MILLRACE_TRY(WriteLocalFile(directory + "/" + name + ".svg", picture));
  }
  return Status::Ok();
}

std::string Listed(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

Status TellLive(const cli::Invocation& invocation, const PaperWords& words, const std::vector<study::Paper>& papers) {
  if (words.write.empty() && words.check.empty()) return PrintPlan(invocation, words, papers);
  const std::string& path = words.write.empty() ? words.check : words.write;
  if (std::error_code error; !std::filesystem::is_directory(words.directory, error))
    return NotFound("-o " + Quote(words.directory) + " is not a directory, so there are no results");
  MILLRACE_ASSIGN(const std::string page, study::ReadPage(path));
  MILLRACE_ASSIGN(const study::LivePage made, study::MakeLivePage(papers, words.directory, page));
  if (!words.check.empty()) {
    MILLRACE_TRY(study::CheckPage(path, made.tables, "millrace compare --write"));
    if (made.missing.empty()) return Status::Ok();
    return NotFound(words.directory + " lacks results, so these comparisons were not checked: " + Listed(made.missing));
  }
  if (made.tables.empty())
    return NotFound(words.directory +
                    " lacks the results of all tables, so the page stays as it was; not run: " + Listed(made.missing));
  MILLRACE_TRY(study::WritePage(path, made.tables));
  MILLRACE_TRY(WritePictures(path, page, made));
  if (!made.left_alone.empty())
    console::SayLine(
        invocation.console,
        "millrace: compare: " + path + ": left alone, since not all of it has been run: " + Listed(made.left_alone));
  return Status::Ok();
}

// Returns kInvalid for an option that would have no effect.
Status CheckOptions(const PaperWords& words, bool simulated) {
  if (!words.write.empty() && !words.check.empty())
    return Invalid("--check looks at the page that --write changes; leave one of them out");
  if (words.json && (!words.write.empty() || !words.check.empty()))
    return Invalid("--json prints, and --write and --check do not; leave one of them out");
  if (simulated && !words.directory.empty()) return Invalid("-o DIR is for live runs; simulated ones are not kept");
  if (simulated) return Status::Ok();
  if (words.directory.empty()) return Invalid("-o DIR is missing, where the results of live runs are");
  if (words.seeds > 0 || words.seed >= 0 || words.json)
    return Invalid("--repeat, --seed and --json are for simulated papers; the file of a live one says `repeat`");
  return Status::Ok();
}

Result<std::vector<study::Paper>> Load(const PaperWords& words) {
  std::vector<study::Paper> papers;
  for (const std::string& path : words.paths) {
    MILLRACE_ASSIGN(study::Paper paper, study::LoadPaper(path));
    if (!papers.empty() && (paper.where == study::Where::kSimulated) != (papers[0].where == study::Where::kSimulated))
      return Invalid(path + " is of " + (paper.where == study::Where::kSimulated ? "simulated" : "live") +
                     " runs, and " + words.paths[0] + " is not; give them to two commands");
    const auto same = [&](const study::Paper& other) { return other.name == paper.name; };
    if (const auto at = std::find_if(papers.begin(), papers.end(), same); at != papers.end())
      return Invalid(path + " has the name " + Quote(paper.name) + ", as " + at->path + " has");
    papers.push_back(std::move(paper));
  }
  if (papers.front().where != study::Where::kSimulated) MILLRACE_TRY(study::CheckLive(papers));
  return papers;
}

}  // namespace

int RunPaperFiles(const cli::Invocation& invocation, const PaperWords& words) {
  const Result<std::vector<study::Paper>> papers = Load(words);
  if (!papers.ok()) return invocation.FailToStart(kPaperVerb, papers.status());
  const bool simulated = papers->front().where == study::Where::kSimulated;
  if (const Status fit = CheckOptions(words, simulated); !fit.ok()) return invocation.FailToStart(kPaperVerb, fit);
  const Status told = simulated ? TellSimulated(invocation, words, *papers) : TellLive(invocation, words, *papers);
  return told.ok() ? kDone : invocation.Fail(kPaperVerb, told);
}

}  // namespace millrace::compare
