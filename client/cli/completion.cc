#include <optional>
#include <string_view>

#include "base/console/arguments.h"
#include "base/text.h"
#include "client/cli/commands.h"

namespace millrace::cli {
namespace {

std::string Joined(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// Names come from others: a file of the cluster may be called `$(rm -r ~)`. So no word is expanded here: names are read
// into an array, compared as text, and quoted. Whatever changes here is held to that by completion_test.cc.
constexpr const char* kScript = R"bash(# Completion of millrace in bash: source <(millrace completion bash)

# Sets `typed` to what the word means and `quote` to the quotation mark that is still open, if it is the word's first
# character. Fails for a word that the shell would expand, which is left to the shell.
_millrace_read_word() {
  local word="$1" char next i
  typed="" quote=""
  for ((i = 0; i < ${#word}; ++i)); do
    char="${word:i:1}"
    if [[ "$quote" == "'" ]]; then
      if [[ "$char" == "'" ]]; then quote=""; else typed+="$char"; fi
    elif [[ "$char" == '\' ]]; then
      ((++i))
      next="${word:i:1}"
      if [[ -n "$quote" && "$next" != [\$\`\"\\] ]]; then typed+='\'; fi
      typed+="$next"
    elif [[ "$char" == '"' || ("$char" == "'" && -z "$quote") ]]; then
      if [[ -n "$quote" ]]; then quote=""; else quote="$char"; fi
    elif [[ "$char" == [\$\`] ]]; then
      return 1
    else
      typed+="$char"
    fi
  done
  [[ -z "$quote" || "$quote$typed" == "$word" ]]
}

# Adds those of the names that begin as typed. Within a quotation mark, names that would have to be escaped are left
# out.
_millrace_offer() {
  local name quoted
  for name in "$@"; do
    [[ "$name" == "$typed"* ]] || continue
    if [[ -n "$quote" ]]; then
      if [[ "$name" != *[[:cntrl:]\'\"\$\`\\!]* ]]; then COMPREPLY+=("$name"); fi
      continue
    fi
    printf -v quoted %q "$name"
    if [[ "$quoted" != "\$'"* ]]; then  # these would begin a new word for the line editor
      quoted="${quoted//:/\\:}"
      quoted="${quoted//=/\\=}"
      quoted="${quoted//@/\\@}"
    fi
    COMPREPLY+=("$quoted")
  done
}

_millrace() {
  local typed quote sub directory program="${COMP_WORDS[0]}" IFS=$' \t\n'
  local verb="${COMP_WORDS[1]-}" second="${COMP_WORDS[2]-}"
  local -a names=() below=() command=("$verb")
  COMPREPLY=()
  _millrace_read_word "${COMP_WORDS[COMP_CWORD]-}" || return 0
  case "$verb" in
@BELOW@
    completion) below=(bash) ;;
    local) if [[ "$second" == run ]]; then command+=(run); fi ;;
  esac
  for sub in "${below[@]}"; do
    if [[ "$second" == "$sub" ]]; then command+=("$sub"); fi
  done
  if [[ "$typed" == -* && "$COMP_CWORD" -gt 1 ]]; then
    mapfile -t names < <("$program" "${command[@]}" --help 2>/dev/null | grep -oE -- '--[a-z][a-z-]*' | sort -u)
  elif [ "$COMP_CWORD" -eq 1 ]; then
    names=(@VERBS@ completion)
  elif [ "$COMP_CWORD" -eq 3 ] && [ "$verb $second" = "fs quota" ]; then
    names=(show set clear)
  elif [ "$COMP_CWORD" -eq 2 ] && [ "$verb" != run ]; then
    names=("${below[@]}")
  elif [ "$COMP_CWORD" -eq 2 ] && [[ "$typed" != */* ]]; then
    directory="$(dirname -- "$(readlink -f -- "$(command -v -- "$program")")")"
    mapfile -d '' -t names < <(find "$directory" -maxdepth 1 -type f -perm -u+x ! -name 'millrace*' -printf '%f\0')
  else
    case "$verb $second" in
      "job list" | "node list" | "fs put" | local\ *) ;;
      job\ *) mapfile -t names < <(MILLRACE_WAIT=0s "$program" job list 2>/dev/null | awk 'NR > 1 {print $1}') ;;
      node\ *) mapfile -t names < <(MILLRACE_WAIT=0s "$program" node list 2>/dev/null | awk 'NR > 1 {print $1}') ;;
      "scheduler set") mapfile -t names < <("$program" scheduler list 2>/dev/null | awk 'NR > 1 {print $1}') ;;
      fs\ * | run\ *)
        if [[ "$typed" == /* ]]; then
          mapfile -d '' -t names < <(MILLRACE_WAIT=0s "$program" fs ls --null "${typed%/*}/" 2>/dev/null)
          compopt -o nospace 2>/dev/null
        fi
        ;;
    esac
  fi
  _millrace_offer "${names[@]}"
  if [ "${#COMPREPLY[@]}" -eq 0 ]; then
    compopt -o default 2>/dev/null
  fi
}
complete -F _millrace millrace
)bash";

}  // namespace

std::string BashCompletion(const std::vector<Verb>& verbs) {
  std::string below;
  for (const Verb& verb : verbs) {
    if (!verb.below.empty()) below += "    " + verb.name + ") below=(" + Joined(verb.below) + ") ;;\n";
  }
  std::string text = kScript;
  const auto fill = [&text](std::string_view place, const std::string& with) {
    text.replace(text.find(place), place.size(), with);
  };
  fill("@VERBS@", Joined(Names(verbs)));
  fill("@BELOW@\n", below);
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
  console::Printer(invocation.console) << BashCompletion(verbs);
  return kDone;
}

}  // namespace millrace::cli
