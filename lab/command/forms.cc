// SPDX-License-Identifier: Apache-2.0
#include "lab/command/forms.h"

#include <ctime>

#include "base/file.h"
#include "base/local_place.h"
#include "lab/report/judge.h"
#include "lab/report/report.h"
#include "lab/report/tables.h"

namespace millrace::compare {
namespace {

std::string TimeText() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

constexpr const char *kDocument = "comparison.json", *kComparisons = "comparisons.csv", *kRunsTable = "runs.csv",
                     *kJobs = "jobs.csv", *kReport = "report.html", *kSimulated = "simulated.csv";

}  // namespace

Status WriteAllForms(const std::string& directory, const Material& material, const std::optional<Beside>& beside) {
  const auto write = [&directory](const char* name, const std::string& text) {
    return WriteLocalFile(directory + "/" + name, text);
  };
  MILLRACE_TRY(write(kComparisons, ComparisonsCsv(material)));
  MILLRACE_TRY(write(kRunsTable, RunsCsv(material)));
  MILLRACE_TRY(write(kJobs, JobsCsv(material)));
  MILLRACE_TRY(beside ? write(kSimulated, BesideCsv(*beside, LabelsOf(material.subject->schedulers)))
                      : RemoveTree(directory + "/" + kSimulated));
  const std::string document = TextOf(DocumentOf(material));
  MILLRACE_TRY(write(kDocument, document));
  return report::WriteReport(document, directory + "/" + kReport);
}

Status RemoveOldForms(const std::string& directory, const RunStore& store) {
  if (!store.runs().empty()) return Status::Ok();
  for (const char* name : {kDocument, kReport, kComparisons, kRunsTable, kJobs, kSimulated})
    MILLRACE_TRY(RemoveTree(directory + "/" + name));
  return Status::Ok();
}

void FillSubject(const std::string& verb, const std::vector<std::string>& args, Subject* subject) {
  subject->machine = ThisMachine();
  subject->at = TimeText();
  subject->command = {"millrace", verb};
  subject->command.insert(subject->command.end(), args.begin(), args.end());
}

}  // namespace millrace::compare
