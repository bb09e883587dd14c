// SPDX-License-Identifier: Apache-2.0
// A library of a job (linked_job.cc).
#include <string>

std::string Greet(const std::string& name) { return "hello " + name; }
