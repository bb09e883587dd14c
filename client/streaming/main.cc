// SPDX-License-Identifier: Apache-2.0
#include "client/streaming/streaming.h"

int main(int argc, char** argv) { return millrace::streaming::RunStreaming(argc, argv); }
