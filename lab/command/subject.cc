#include "lab/command/subject.h"

#include <ctime>

namespace millrace::compare {
namespace {

std::string TimeText() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace

void FillSubject(const std::string& verb, const std::vector<std::string>& args, Subject* subject) {
  subject->machine = ThisMachine();
  subject->at = TimeText();
  subject->command = {"millrace", verb};
  subject->command.insert(subject->command.end(), args.begin(), args.end());
}

}  // namespace millrace::compare
