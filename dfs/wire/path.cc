// SPDX-License-Identifier: Apache-2.0
#include "dfs/wire/path.h"

#include <algorithm>
#include <string>

#include "base/address.h"
#include "base/text.h"

namespace millrace::dfs {
namespace {

Status Refuse(std::string_view path, const std::string& why) { return Invalid(Quote(path) + ": " + why); }

Status RefuseUrl(std::string_view path, std::string_view scheme) {
  if (IsFileScheme(scheme)) {
    return Refuse(path,
                  "a URL of a local file, and a path of the file system begins with /; store the file with `millrace "
                  "fs put`, or give its path alone to `millrace local run`");
  }
  return Refuse(path,
                "a URL of another storage system, and a path of the file system begins with /; Millrace reads and "
                "writes its own files: copy data in with `millrace fs put` and out with `millrace fs get`");
}

// Reads the names from byte `begin` on.
Result<std::string> Canonical(std::string_view path, std::size_t begin) {
  std::string out;
  while (begin <= path.size()) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view name = path.substr(begin, end - begin);
    begin = end + 1;
    if (name.empty() || name == ".") continue;
    if (name == "..") return Refuse(path, "\"..\" is not allowed; write the path without it");
    if (name.find('\0') != std::string_view::npos)
      return Refuse(path, "a NUL byte is not allowed; write the path without it");
    if (name.size() > kMaxNameBytes) {
      return Refuse(
          path, "name " + Quote(name) + " is too long; a name has at most " + std::to_string(kMaxNameBytes) + " bytes");
    }
    out += '/';
    out += name;
  }
  if (out.size() > kMaxPathBytes)
    return Refuse(path, "too long; a path has at most " + std::to_string(kMaxPathBytes) + " bytes");
  return out.empty() ? std::string("/") : out;
}

}  // namespace

Result<std::string> CanonicalPath(std::string_view path) {
  if (const std::string_view scheme = SchemeOf(path); !scheme.empty()) return RefuseUrl(path, scheme);
  if (path.empty() || path.front() != '/') return Refuse(path, "a path of the file system begins with /");
  return Canonical(path, 1);
}

Result<std::string> CompletePath(std::string_view path) {
  if (path.empty()) return Refuse(path, "a path is empty; is a variable of the shell not set?");
  if (path.front() == '/' || !SchemeOf(path).empty()) return CanonicalPath(path);
  return Canonical(path, 0);
}

std::vector<std::string_view> SplitPath(std::string_view canonical) {
  std::vector<std::string_view> names;
  for (std::size_t begin = 1; begin < canonical.size();) {
    const std::size_t end = std::min(canonical.find('/', begin), canonical.size());
    names.push_back(canonical.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

std::string_view ParentPath(std::string_view canonical) {
  const std::size_t slash = canonical.rfind('/');
  return slash == 0 ? canonical.substr(0, 1) : canonical.substr(0, slash);
}

std::string_view BaseName(std::string_view canonical) { return canonical.substr(canonical.rfind('/') + 1); }

bool IsWithin(std::string_view canonical, std::string_view ancestor) {
  if (ancestor == "/") return true;
  return canonical.starts_with(ancestor) && (canonical.size() == ancestor.size() || canonical[ancestor.size()] == '/');
}

Status CheckExecutable(std::string_view canonical, std::string_view digest) {
  if (!IsWithin(canonical, kExecutablesDirectory) || BaseName(canonical) == digest) return Status::Ok();
  return Corrupt("executable " + Quote(canonical) + " is not what its name says: its SHA-256 is " +
                 std::string(digest) + "; have an administrator remove it, and submit the job again");
}

}  // namespace millrace::dfs
