// SPDX-License-Identifier: Apache-2.0
// The comparison document holds all facts of a comparison, as JSON. docs/schedulers/comparison.md describes it, member
// by member. Thread rule: free functions, any thread.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/report/details.h"
#include "lab/report/judge.h"
#include "schedulers/settings/settings.h"

namespace millrace::compare {

// Machine describes the machine on which a comparison was made, for its report.
struct Machine {
  std::string kernel, processor;  // empty if the system does not say
  std::uint32_t cores = 0;
  std::uint64_t memory = 0;  // bytes
};

[[nodiscard]] Machine ThisMachine();

// The subject of a comparison, and the command that made it.
struct Subject {
  std::string at;                    // when the document was made, ISO 8601
  std::vector<std::string> command;  // words
  Machine machine;
  std::string settings_text;  // of the scheduler file for all; empty if there was none
  std::string workload_name, workload_text;
  std::string where;  // as Arena::Kind
  std::vector<NodeRow> nodes;
  std::vector<sched::Variant> schedulers;
  std::vector<std::string> headline;  // keys of metrics
  sim::CompareOptions options;
};

// Everything that a document is made of. Pointers outlive it.
struct Material {
  const Subject* subject = nullptr;
  Design design;
  std::vector<const RunRecord*> counting;  // as RunStore::Counting
  std::vector<JudgedMetric> judged;
  std::vector<Picture> pictures = {};
  std::vector<DetailedRun> details = {};       // the runs of the pictures, one after another
  nlohmann::ordered_json simulated = nullptr;  // the member `simulated`; null unless live runs were simulated as well
  std::vector<std::string> warnings = {};      // about these simulations, in the form of WarningsOf
};

// Adds the pictures to the material, and the rows of their runs. The rows of simulated runs are made again; those of
// live runs were kept. As many pictures are added as keep the document small, but at least the first.
[[nodiscard]] Status AddDetails(Arena& arena, Material* material);

// Returns warnings that a reader needs before believing the document, as sentences without a full stop.
[[nodiscard]] std::vector<std::string> WarningsOf(const Material& material);

[[nodiscard]] nlohmann::ordered_json DocumentOf(const Material& material);
// Returns the members of the document that give the outcome of the comparison: schedulers, comparisons,
// same_against_same, winners, groups, simulated and warnings.
[[nodiscard]] nlohmann::ordered_json FindingsOf(const Material& material);
// Returns the JSON as text on one line, with a line break. Bytes that are not UTF-8 become the replacement character.
[[nodiscard]] std::string TextOf(const nlohmann::ordered_json& json);

}  // namespace millrace::compare
