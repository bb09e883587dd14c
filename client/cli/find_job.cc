#include "client/cli/find_job.h"

#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "base/file.h"
#include "base/text.h"

namespace millrace::cli {
namespace {

Status CheckExecutable(const std::string& path) {
  struct stat entry {};
  if (::stat(path.c_str(), &entry) != 0) return NotFound("there is no file " + Quote(path));
  if (S_ISDIR(entry.st_mode)) return Invalid(Quote(path) + " is a directory, not an executable");
  if (!S_ISREG(entry.st_mode) || ::access(path.c_str(), X_OK) != 0) {
    return Invalid(Quote(path) + " is not an executable; chmod +x makes it one if it is a program");
  }
  return Status::Ok();
}

}  // namespace

Result<std::string> FindJob(const std::string& word, const std::string& directory) {
  if (word.find('/') != std::string::npos) {
    MILLRACE_TRY(CheckExecutable(word));
    return word;
  }
  const std::string beside = directory + "/" + word;
  if (!word.empty() && word != "." && word != ".." && word != "millrace" && CheckExecutable(beside).ok()) return beside;
  std::string hint = "for an executable of your own give its path, with a slash in it";
  if (const Result<std::vector<std::string>> names = ListDirectory(directory); names.ok()) {
    if (const auto nearest = Nearest(word, *names); nearest && *nearest != "millrace")
      hint = "did you mean " + *nearest + "?";
  }
  return NotFound("there is no bundled job " + Quote(word) + "; " + hint);
}

}  // namespace millrace::cli
