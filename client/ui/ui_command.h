// SPDX-License-Identifier: Apache-2.0
// `millrace ui` serves the page of the cluster on this machine and opens it in the browser (docs/use/ui.md). Thread
// rule: the main thread, before others start.
#pragma once

#include "client/cli/invocation.h"

namespace millrace::ui {

[[nodiscard]] int UiCommand(const cli::Invocation& invocation, const cli::Words& args);

}  // namespace millrace::ui
