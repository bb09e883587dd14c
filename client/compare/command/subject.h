// What a document says of the command that made it. Thread rule: free functions, any thread.
#pragma once

#include <string>
#include <vector>

#include "client/compare/document.h"

namespace millrace::compare {

// Fills in the command (of the verb and the words after it), the machine and the time: this moment.
void FillSubject(const std::string& verb, const std::vector<std::string>& args, Subject* subject);

}  // namespace millrace::compare
