// SPDX-License-Identifier: Apache-2.0
#include "client/top/keys.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "client/top/screen.h"

namespace millrace::top {
namespace {

constexpr char kEsc = '\x1b';
constexpr std::size_t kLongestSequence = 16;

// The sequences of xterm, its relatives and the consoles of Linux.
constexpr std::pair<std::string_view, KeyKind> kSequences[] = {
    {"[A", KeyKind::kUp},   {"OA", KeyKind::kUp},   {"[B", KeyKind::kDown},    {"OB", KeyKind::kDown},
    {"[D", KeyKind::kLeft}, {"OD", KeyKind::kLeft}, {"[5~", KeyKind::kPageUp}, {"[6~", KeyKind::kPageDown},
    {"[H", KeyKind::kHome}, {"OH", KeyKind::kHome}, {"[1~", KeyKind::kHome},   {"[7~", KeyKind::kHome},
    {"[F", KeyKind::kEnd},  {"OF", KeyKind::kEnd},  {"[4~", KeyKind::kEnd},    {"[8~", KeyKind::kEnd},
};

// ECMA-48: after "[" come parameters and one final byte; after "O" comes one byte.
bool IsWhole(std::string_view sequence) {
  if (sequence.empty()) return false;
  if (sequence[0] == 'O') return sequence.size() == 2;
  if (sequence[0] != '[') return true;
  return sequence.size() > 1 && sequence.back() >= '@' && sequence.back() <= '~';
}

void GoTo(View view, State* state) {
  state->view = view;
  state->help = false;
  state->ask = true;
}

void Back(State* state) {
  if (std::exchange(state->help, false) || state->view != View::kTasks) return;
  state->opened.reset();
  GoTo(View::kJobs, state);
}

void Open(const Picture& picture, State* state) {
  if (state->view != View::kJobs || state->help) return;
  const std::vector<JobId> jobs = JobsInOrder(picture, *state);
  if (jobs.empty()) return;
  const auto marked = state->marked ? std::ranges::find(jobs, *state->marked) : jobs.end();
  state->opened = marked != jobs.end() ? *marked : jobs[std::min(state->here().at, jobs.size() - 1)];
  state->marked = state->opened;
  state->order.at(static_cast<std::size_t>(View::kTasks)).at = 0;
  GoTo(View::kTasks, state);
}

// Marks the row that lies `by` rows below the marked one.
void Move(const Picture& picture, std::ptrdiff_t by, State* state) {
  const auto rows = static_cast<std::ptrdiff_t>(RowsOf(picture, state->view));
  if (rows == 0) return;
  Order& order = state->here();
  auto at = static_cast<std::ptrdiff_t>(order.at);
  std::vector<JobId> jobs;
  if (state->view == View::kJobs) {
    jobs = JobsInOrder(picture, *state);
    if (state->marked) {
      const auto marked = std::ranges::find(jobs, *state->marked);
      if (marked != jobs.end()) at = marked - jobs.begin();
    }
  }
  at = std::clamp<std::ptrdiff_t>(std::min(at, rows - 1) + by, 0, rows - 1);
  order.at = static_cast<std::size_t>(at);
  if (state->view == View::kJobs) state->marked = jobs[order.at];
}

void Sort(std::size_t by, State* state) {
  const std::size_t columns = ColumnsOf(state->view);
  state->here().column = (state->here().column + by) % columns;
}

void PressLetter(char letter, State* state) {
  switch (letter) {
    case 'q':
      state->quit = true;
      break;
    case 'h':
    case '?':
      state->help = !state->help;
      break;
    case 'j':
      state->opened.reset();
      GoTo(View::kJobs, state);
      break;
    case 'p':
      state->opened.reset();
      GoTo(View::kPools, state);
      break;
    case 'n':
      state->opened.reset();
      GoTo(View::kNodes, state);
      break;
    case 's':
      Sort(1, state);
      break;
    case 'S':
      Sort(ColumnsOf(state->view) - 1, state);
      break;
    case 'r':
      state->here().reverse = !state->here().reverse;
      break;
    case ' ':
      state->ask = true;
      break;
    default:
      break;
  }
}

}  // namespace

std::vector<Key> KeyReader::Take(std::string_view bytes) {
  std::vector<Key> keys;
  for (const char byte : bytes) {
    if (byte == kEsc) {
      if (begun_.size() == 1) keys.push_back({KeyKind::kEscape});
      begun_ = kEsc;
    } else if (!begun_.empty()) {
      begun_ += byte;
      const std::string_view sequence = std::string_view(begun_).substr(1);
      const auto* known = std::ranges::find(kSequences, sequence, &std::pair<std::string_view, KeyKind>::first);
      if (known != std::end(kSequences)) keys.push_back({known->second});
      if (IsWhole(sequence) || begun_.size() > kLongestSequence) begun_.clear();
    } else if (byte == '\r' || byte == '\n') {
      keys.push_back({KeyKind::kEnter});
    } else if (byte == '\x7f' || byte == '\b') {
      keys.push_back({KeyKind::kEscape});
    } else {
      keys.push_back({KeyKind::kLetter, byte});
    }
  }
  return keys;
}

std::vector<Key> KeyReader::Pause() {
  const bool escape = std::exchange(begun_, "").size() == 1;
  return escape ? std::vector<Key>{{KeyKind::kEscape}} : std::vector<Key>{};
}

void Press(const Key& key, const Picture& picture, std::size_t page, State* state) {
  constexpr std::ptrdiff_t kAll = 1'000'000'000;
  const auto rows = static_cast<std::ptrdiff_t>(page);
  switch (key.kind) {
    case KeyKind::kLetter:
      return PressLetter(key.letter, state);
    case KeyKind::kUp:
      return Move(picture, -1, state);
    case KeyKind::kDown:
      return Move(picture, 1, state);
    case KeyKind::kPageUp:
      return Move(picture, -rows, state);
    case KeyKind::kPageDown:
      return Move(picture, rows, state);
    case KeyKind::kHome:
      return Move(picture, -kAll, state);
    case KeyKind::kEnd:
      return Move(picture, kAll, state);
    case KeyKind::kEnter:
      return Open(picture, state);
    case KeyKind::kLeft:
    case KeyKind::kEscape:
      return Back(state);
  }
}

}  // namespace millrace::top
