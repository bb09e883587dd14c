// Finds the node that a user means. Thread rule: FindNode any thread; FindNodes as the client.
#pragma once

#include <string>
#include <vector>

#include "base/ids/ids.h"
#include "base/status.h"
#include "client/job_client/job_client.h"

namespace millrace::cli {

// Returns the node that `word` names: by its number, its name (worker.name), HOST:PORT or HOST, the first of these that
// fits a node. kNotFound if there is none, kInvalid, naming them, if several nodes are called so; of them the only live
// one is meant, if there is one.
[[nodiscard]] Result<NodeId> FindNode(const std::vector<job::Node>& nodes, const std::string& word);

// Asks the master for its nodes and does the same for each word.
[[nodiscard]] Result<std::vector<NodeId>> FindNodes(job::JobClient& client, const std::vector<std::string>& words);

}  // namespace millrace::cli
