// Describes the command that makes a document. Thread rule: free functions, any thread.
#pragma once

#include <string>
#include <vector>

#include "lab/report/document.h"

namespace millrace::compare {

// Fills in the command (the verb and the words after it), the machine and the current time.
void FillSubject(const std::string& verb, const std::vector<std::string>& args, Subject* subject);

}  // namespace millrace::compare
