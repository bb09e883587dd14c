// SPDX-License-Identifier: Apache-2.0
#include "base/program.h"
#include "client/streaming/streaming.h"

int main(int argc, char** argv) {
  return millrace::RunProgram("streaming", [&] { return millrace::streaming::RunStreaming(argc, argv); });
}
