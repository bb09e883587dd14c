// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string_view>

#include "base/console/arguments.h"
#include "base/text.h"
#include "client/cli/commands.h"
#include "client/cli/completion_offers.h"

namespace millrace::cli {
namespace {

// Names come from others: a file of the cluster may be called `$(rm -r ~)`. So no word is expanded here: names are read
// into an array, compared as text, and quoted. Whatever changes here is held to that by completion_test.cc.
constexpr const char* kBash = R"bash(# Completion of millrace in bash: source <(millrace completion bash)

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

# Adds those of the names that begin as typed, without the first argument, which the line editor keeps in front of them.
# Within a quotation mark, names that would have to be escaped are left out.
_millrace_offer() {
  local name quoted lead="$1"
  shift
  for name in "$@"; do
    [[ "$name" == "$typed"* && "$name" == "$lead"* ]] || continue
    name="${name:${#lead}}"
    if [[ -n "$quote" ]]; then
      if [[ "$name" != *[[:cntrl:]\'\"\$\`\\!]* ]]; then COMPREPLY+=("$name"); fi
      continue
    fi
    printf -v quoted %q "$name"
    if [[ "$name" == /* && "$quoted" != "\$'"* ]]; then  # these would begin a new word for the line editor
      quoted="${quoted//:/\\:}"
      quoted="${quoted//=/\\=}"
      quoted="${quoted//@/\\@}"
    fi
    COMPREPLY+=("$quoted")
  done
}

_millrace() {
  local typed quote lead="" i word rest blank program="${COMP_WORDS[0]}" line="${COMP_LINE:0:COMP_POINT}" IFS=$' \t\n'
  local -a words=() plain=() names=()
  COMPREPLY=()
  # The line editor ends words at = and : too; what stands together on the line is one word.
  for ((i = 0; i <= COMP_CWORD; ++i)); do
    word="${COMP_WORDS[i]-}"
    rest="${line#"${line%%[![:space:]]*}"}"
    blank=$((${#line} != ${#rest} || ${#line} == 0))
    if [[ -n "${COMP_LINE-}" && "$i" -gt 0 && "$blank" -eq 0 ]]; then
      if [[ "$i" -eq "$COMP_CWORD" ]]; then
        lead="${words[-1]}"
        if [[ "$word" == [=:] ]]; then lead+="$word"; fi
      fi
      words[-1]+="$word"
    else
      words+=("$word")
    fi
    line="${rest:${#word}}"
  done
  for word in "${words[@]:1}"; do
    if ! _millrace_read_word "$word"; then typed="$word" quote="?"; fi
    plain+=("$typed")
  done
  if [[ "$quote" == "?" ]]; then return 0; fi
  mapfile -d '' -t names < <("$program" completion offer -- "${plain[@]}" 2>/dev/null)
  _millrace_offer "$lead" "${names[@]}"
  if [ "${#COMPREPLY[@]}" -eq 0 ]; then
    compopt -o default 2>/dev/null
  else
    case "${COMPREPLY[0]}" in */ | *= | *+) compopt -o nospace 2>/dev/null ;; esac
  fi
}
complete -F _millrace millrace
)bash";

// zsh quotes offers by itself, and takes them as text.
constexpr const char* kZsh = R"zsh(#compdef millrace
# Completion of millrace in zsh: source <(millrace completion zsh), after compinit

_millrace() {
  local -a plain offers open closed
  plain=("${(@Q)words[2,CURRENT]}")
  offers=("${(@0)"$("${(Q)words[1]}" completion offer -- "${plain[@]}" 2>/dev/null)"}")
  offers=("${(@)offers:#}")
  open=("${(@M)offers:#*[/=+]}")
  closed=("${(@)offers:#*[/=+]}")
  if (( ! $#offers )); then
    _files
    return
  fi
  (( $#open )) && compadd -S '' -a -- open
  (( $#closed )) && compadd -a -- closed
  return 0
}
if [[ "${funcstack[1]-}" == _millrace ]]; then _millrace "$@"; else compdef _millrace millrace; fi
)zsh";

// fish quotes offers by itself, too, and leaves those out that do not begin as typed.
constexpr const char* kFish = R"fish(# Completion of millrace in fish: millrace completion fish | source

function __millrace_offers
    set -l words (commandline -opc)
    set -l program $words[1]
    set -e words[1]
    command $program completion offer -- $words (commandline -ct | string unescape) 2>/dev/null | string split0
end
function __millrace_offers_nothing
    test -z "$(__millrace_offers | string collect)"
end
complete -c millrace -f -a '(__millrace_offers)'
complete -c millrace -n __millrace_offers_nothing -F
)fish";

}  // namespace

std::string BashCompletion() { return kBash; }
std::string ZshCompletion() { return kZsh; }
std::string FishCompletion() { return kFish; }

int CompletionCommand(const Invocation& invocation, const Words& args, const std::vector<Verb>& verbs) {
  if (!args.empty() && args[0] == "offer") {  // what the scripts ask
    const bool marked = args.size() > 1 && args[1] == "--";
    console::Printer out(invocation.console);
    std::vector<Verb> all = verbs;
    all.push_back({"completion", "", nullptr, {"bash", "zsh", "fish"}});
    for (const std::string& word : OffersFor(invocation, {args.begin() + (marked ? 2 : 1), args.end()}, all))
      out << word << std::string_view("\0", 1);
    return kDone;
  }
  console::Arguments arguments("completion", "bash | zsh | fish",
                               "Prints a script that completes commands, options, their values, and what the cluster "
                               "has, for one of the shells. For bash and zsh it is read with source <(...), for fish "
                               "with a pipe into source.");
  arguments.Offline();
  arguments.Example("bash >/etc/bash_completion.d/millrace");
  arguments.Example("zsh >/usr/local/share/zsh/site-functions/_millrace");
  arguments.Example("fish >~/.config/fish/completions/millrace.fish");
  if (const std::optional<int> status = arguments.Parse(args, invocation.console, 1, 1)) return *status;
  const std::string& shell = arguments.operands()[0];
  const std::string text = shell == "bash"   ? BashCompletion()
                           : shell == "zsh"  ? ZshCompletion()
                           : shell == "fish" ? FishCompletion()
                                             : std::string();
  if (text.empty()) {
    return invocation.Fail("completion",
                           Invalid("no completion for " + Quote(shell) + "; there is one for bash, zsh and fish"),
                           kWrongUsage);
  }
  console::Printer(invocation.console) << text;
  return kDone;
}

}  // namespace millrace::cli
