// SPDX-License-Identifier: Apache-2.0
// Finds what a word of the command line means: a job or a node. Thread rule: any thread; that of the client for
// FindNodes.
#pragma once

#include <string>
#include <vector>

#include "base/ids/ids.h"
#include "base/status.h"
#include "client/job_client/job_client.h"

namespace millrace::cli {

// Returns the path of the executable that JOB names: a bundled example by name, or the path of an executable.
// `directory` holds the bundled examples, beside the program. A word with a slash is a path. Returns kNotFound if there
// is no such file, and kInvalid if it cannot be executed.
[[nodiscard]] Result<std::string> FindJob(const std::string& word, const std::string& directory);

// Returns the node that `word` names: by its number, its name (worker.name), HOST:PORT or HOST, whichever first fits a
// node. If several nodes fit, the word means the only live one among them. Returns kNotFound if no node fits, and
// kInvalid, naming the nodes, if several do and not exactly one is alive.
[[nodiscard]] Result<NodeId> FindNode(const std::vector<job::Node>& nodes, const std::string& word);

// Asks the master for its nodes and finds the node of each word.
[[nodiscard]] Result<std::vector<NodeId>> FindNodes(job::JobClient& client, const std::vector<std::string>& words);

}  // namespace millrace::cli
