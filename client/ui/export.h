// SPDX-License-Identifier: Apache-2.0
// A job as one file: the page with the documents of the job inside, which a browser opens without a network and without
// Millrace. Thread rule: any thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/ids/ids.h"
#include "base/status.h"
#include "client/cli/invocation.h"
#include "client/ui/master_view.h"

namespace millrace::ui {

// How many attempts such a file lists at most, those that took longest.
inline constexpr std::size_t kMostExported = 5'000;

// Returns what the page asks about the job, by path below /api/v1/, under "documents", with "job" and "now_at", the
// time of all this by the master's clock. What there is not yet, such as the figures of a job that has not begun, is
// left out.
[[nodiscard]] Result<nlohmann::ordered_json> KeptDocuments(MasterView& view, JobId job);

// Returns the page with these documents as one file of HTML. No text in them can end the element that they are in.
[[nodiscard]] std::string WholePage(const nlohmann::ordered_json& kept);

// `millrace job export JOB`.
[[nodiscard]] int ExportCommand(const cli::Invocation& invocation, const cli::Words& args);

}  // namespace millrace::ui
