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
      "  local word=\"${COMP_WORDS[COMP_CWORD]}\" words=\"\" directory program=\"${COMP_WORDS[0]}\"\n"
      "  COMPREPLY=()\n"
      "  if [[ \"$word\" == -* && \"$COMP_CWORD\" -gt 1 ]]; then\n"
      "    words=\"$(\"$program\" \"${COMP_WORDS[@]:1:2}\" --help 2>/dev/null | grep -oE -- '--[a-z][a-z-]*' | sort "
      "-u)\"\n"
      "  elif [ \"$COMP_CWORD\" -eq 1 ]; then\n"
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
      "  else\n"
      "    case \"${COMP_WORDS[1]} ${COMP_WORDS[2]}\" in\n"
      "      job\\ list) ;;\n"
      "      job\\ *) words=\"$(MILLRACE_WAIT=0s \"$program\" job list 2>/dev/null | awk 'NR > 1 {print $1}')\" ;;\n"
      "      node\\ list) ;;\n"
      "      node\\ *) words=\"$(MILLRACE_WAIT=0s \"$program\" node list 2>/dev/null | awk 'NR > 1 {print $1}')\" ;;\n"
      "      scheduler\\ set) words=\"$(\"$program\" scheduler list 2>/dev/null | awk 'NR > 1 {print $1}')\" ;;\n"
      "      fs\\ put|local\\ *) ;;\n"
      "      fs\\ *|run\\ *)\n"
      "        if [[ \"$word\" == /* ]]; then\n"
      "          directory=\"${word%/*}/\"\n"
      "          words=\"$(MILLRACE_WAIT=0s \"$program\" fs ls --names \"$directory\" 2>/dev/null)\"\n"
      "          compopt -o nospace 2>/dev/null\n"
      "        fi\n"
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
  arguments.Offline();
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
