#include "client/cli/completion.h"

#include <optional>

#include "base/console/arguments.h"
#include "base/text.h"

namespace millrace::cli {
namespace {

std::string Joined(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

std::string BashCompletion(const std::vector<Verb>& verbs) {
  std::string text =
      "# Completion of millrace in bash: source <(millrace completion bash)\n"
      "_millrace() {\n"
      "  local word=\"${COMP_WORDS[COMP_CWORD]}\" words=\"\" directory\n"
      "  COMPREPLY=()\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
      "    words=\"" +
      Joined(Names(verbs)) +
      " completion\"\n"
      "  elif [ \"$COMP_CWORD\" -eq 2 ]; then\n"
      "    case \"${COMP_WORDS[1]}\" in\n";
  for (const Verb& verb : verbs) {
    if (!verb.below.empty()) text += "      " + verb.name + ") words=\"" + Joined(verb.below) + "\" ;;\n";
  }
  text +=
      "      completion) words=\"bash\" ;;\n"
      "      run)\n"
      "        directory=\"$(dirname \"$(readlink -f \"$(command -v \"${COMP_WORDS[0]}\")\")\")\"\n"
      "        words=\"$(find \"$directory\" -maxdepth 1 -type f -perm -u+x ! -name 'millrace*' -printf '%f ')\"\n"
      "        ;;\n"
      "    esac\n"
      "  fi\n"
      "  if [ -n \"$words\" ]; then\n"
      "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "  fi\n"
      "  if [ \"${#COMPREPLY[@]}\" -eq 0 ]; then\n"
      "    compopt -o default 2>/dev/null\n"
      "  fi\n"
      "}\n"
      "complete -F _millrace millrace\n";
  return text;
}

int CompletionCommand(const Invocation& invocation, const Words& args, const std::vector<Verb>& verbs) {
  console::Arguments arguments("completion", "bash",
                               "Prints a script that completes commands: source <(millrace completion bash)");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 1, 1)) return *status;
  if (arguments.operands()[0] != "bash") {
    return invocation.Fail("completion",
                           Invalid("no completion for " + Quote(arguments.operands()[0]) + "; there is one for bash"),
                           kWrongUsage);
  }
  console::Printer(invocation.console.out) << BashCompletion(verbs);
  return kDone;
}

}  // namespace millrace::cli
