// SPDX-License-Identifier: Apache-2.0
#include "client/cli/find.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "base/file.h"
#include "base/text.h"

namespace millrace::cli {
namespace {

Status CheckExecutable(const std::string& path) {
  struct stat entry {};
  if (::stat(path.c_str(), &entry) != 0)
    return NotFound("there is no file " + Quote(path) + " on this machine, whose executables are jobs");
  if (S_ISDIR(entry.st_mode)) return Invalid(Quote(path) + " is a directory, not an executable");
  if (!S_ISREG(entry.st_mode) || ::access(path.c_str(), X_OK) != 0) {
    return Invalid(Quote(path) + " is not an executable; chmod +x makes it one if it is a program");
  }
  return Status::Ok();
}

using Matches = std::vector<const job::Node*>;

Matches Where(const std::vector<job::Node>& nodes, const std::function<bool(const job::Node&)>& fits) {
  Matches matches;
  for (const job::Node& node : nodes) {
    if (fits(node)) matches.push_back(&node);
  }
  const auto live = std::ranges::count_if(matches, [](const job::Node* node) { return node->alive; });
  if (live == 1) std::erase_if(matches, [](const job::Node* node) { return !node->alive; });
  return matches;
}

std::string Describe(const job::Node& node) {
  return std::to_string(node.node.value) + " (" + node.host + ":" + std::to_string(node.port) + ")";
}

}  // namespace

Result<std::string> FindJob(const std::string& word, const std::string& directory) {
  if (word.empty()) return Invalid("the job is an empty word; is a variable of the shell not set?");
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

Result<NodeId> FindNode(const std::vector<job::Node>& nodes, const std::string& word) {
  const std::function<std::string(const job::Node&)> names[] = {
      [](const job::Node& node) { return std::to_string(node.node.value); },
      [](const job::Node& node) { return node.name; },
      [](const job::Node& node) { return node.host + ":" + std::to_string(node.port); },
      [](const job::Node& node) { return node.host; }};
  for (const auto& name : names) {
    const Matches matches = Where(nodes, [&](const job::Node& node) { return !word.empty() && name(node) == word; });
    if (matches.size() == 1) return matches[0]->node;
    if (matches.empty()) continue;
    std::string list;
    for (const job::Node* node : matches) list += (list.empty() ? "" : ", ") + Describe(*node);
    return Invalid("several nodes are called " + Quote(word) + ": " + list + "; give the number of the one you mean");
  }
  return NotFound("there is no node " + Quote(word) + "; `millrace node list --wide` shows them");
}

Result<std::vector<NodeId>> FindNodes(job::JobClient& client, const std::vector<std::string>& words) {
  MILLRACE_ASSIGN(const std::vector<job::Node> known, client.Nodes());
  std::vector<NodeId> nodes;
  for (const std::string& word : words) {
    MILLRACE_ASSIGN(const NodeId node, FindNode(known, word));
    nodes.push_back(node);
  }
  return nodes;
}

}  // namespace millrace::cli
