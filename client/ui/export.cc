// SPDX-License-Identifier: Apache-2.0
#include "client/ui/export.h"

#include <cctype>
#include <optional>
#include <string_view>

#include "base/console/arguments.h"
#include "base/console/json_output.h"
#include "base/local_place.h"
#include "client/cli/foretold.h"
#include "client/job_client/job_types.h"
#include "client/ui/api.h"
#include "client/ui/page_files.h"

namespace millrace::ui {
namespace {

using Json = nlohmann::ordered_json;

void ReplaceAll(std::string* text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text->find(from, at)) != std::string::npos; at += to.size())
    text->replace(at, from.size(), to);
}

// Returns the script as an address that has the script in itself (RFC 2397).
std::string DataAddress(const std::string& script) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string address = "data:text/javascript;charset=utf-8,";
  for (const char c : script) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || std::string_view("-_.!~*(),;:=/").find(c) != std::string_view::npos) {
      address += c;
    } else {
      address += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return address;
}

// Returns the addresses of all scripts, by the names by which they import each other here: an address that has its
// content in itself has no neighbours, so "./job.js" becomes "job.js", a name of the import map.
Json ImportMap() {
  Json imports = Json::object();
  for (const PageFile& file : kPageFiles) {
    if (!file.path.ends_with(".js")) continue;
    std::string script(file.content);
    ReplaceAll(&script, " \"./", " \"");
    imports[std::string(file.path.substr(1))] = DataAddress(script);
  }
  return Json{{"imports", imports}};
}

std::string FileOf(std::string_view path) {
  for (const PageFile& file : kPageFiles) {
    if (file.path == path) return std::string(file.content);
  }
  return {};
}

// Returns JSON that an element of HTML can hold.
std::string InElement(const Json& json) {
  std::string text = console::Dump(json);
  ReplaceAll(&text, "<", "\\u003c");
  return text;
}

}  // namespace

Result<Json> KeptDocuments(MasterView& view, JobId job) {
  Api api(view);
  const std::string path = "jobs/" + std::to_string(job.value);
  Json documents = Json::object(), totals = Json::object();
  for (const auto& [name, asked, needed] :
       {std::tuple(path, path, true), std::tuple(path + "/summary", path + "/summary", false),
        std::tuple("stream?job=" + std::to_string(job.value) + "&limit=20000",
                   "stream?job=" + std::to_string(job.value) + "&limit=20000", false),
        std::tuple(path + "/tasks", path + "/tasks?sort=took&limit=" + std::to_string(kMostExported), false),
        std::tuple(path + "/counters", path + "/counters", false)}) {
    const http::Answer answer = api.Get(Query(std::string(Api::kPrefix) + asked));
    const Json document = Json::parse(answer.body, nullptr, false);
    if (answer.status != 200) {
      if (!needed) continue;
      const std::string why = document.is_object() ? document.value("error", answer.body) : answer.body;
      return answer.status == 404 ? NotFound(why) : Unavailable(why);
    }
    documents[name] = document;
    for (const auto& [header, value] : answer.headers) {
      if (header == "Millrace-Total") totals[name] = std::stoull(value);
    }
  }
  if (Json& status = documents[path]; status["ended_at"].is_null()) {
    std::string problem;
    MILLRACE_ASSIGN(const std::vector<job::Foretold> foretold, view.client().Foretell({job}, &problem));
    status["foretold"] = cli::ForetoldOrNull(foretold, job);
  }
  MILLRACE_ASSIGN(const std::shared_ptr<const Snapshot> snapshot, view.Latest());
  return Json{{"job", job.value},
              {"now_at", console::Seconds(snapshot->master_now)},
              {"documents", documents},
              {"totals", totals}};
}

std::string WholePage(const Json& kept) {
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline' data:; "
      "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n<title>Millrace</title>\n";
  for (const char* const style : {"/uplot.css", "/page.css"}) page += "<style>\n" + FileOf(style) + "</style>\n";
  page += "<script type=\"application/json\" id=\"kept\">" + InElement(kept) + "</script>\n";
  page += "<script type=\"importmap\">" + InElement(ImportMap()) + "</script>\n";
  return page +
         "</head>\n<body>\n<div id=\"page\"></div>\n<noscript>This page needs JavaScript.</noscript>\n"
         "<script type=\"module\">import \"page.js\";</script>\n</body>\n</html>\n";
}

int ExportCommand(const cli::Invocation& invocation, const cli::Words& args) {
  console::Arguments arguments("job export", "JOB",
                               "Writes the page of a job as one file, which any browser opens, without a network and "
                               "without Millrace. It has what `millrace ui` shows of the job, but no logs.");
  arguments.Example("12 -o job12.html");
  std::string output = "-";
  arguments.Text("-o,--output", &output, "the file to write; - is standard output (default: -)");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 1, 1)) return *status;
  const Result<JobId> job = job::ParseJobArgument(arguments.operands()[0]);
  if (!job.ok()) return invocation.Fail("job export", job.status(), cli::kWrongUsage);
  const Result<std::unique_ptr<dfs::DfsClient>> files = invocation.Connect();
  if (!files.ok()) return invocation.Fail("job export", files.status(), cli::kUnreachable);
  MasterView view(**files, Monotonic);
  const Result<Json> kept = KeptDocuments(view, *job);
  if (!kept.ok()) return invocation.Fail("job export", kept.status());
  const std::string page = WholePage(*kept);
  if (output != "-") {
    const Status written = WriteLocalFile(output, page);
    return written.ok() ? cli::kDone : invocation.Fail("job export", written);
  }
  console::Printer out(invocation.console);
  out << page;
  const Status written = out.Flush();
  return written.ok() ? cli::kDone : invocation.Fail("job export", written);
}

}  // namespace millrace::ui
