// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>

#include "base/console/arguments.h"
#include "base/console/json_output.h"
#include "base/console/progress.h"
#include "base/ids/counted.h"
#include "base/text.h"
#include "base/units.h"
#include "dfs/tools/verbs.h"

namespace millrace::dfs {
namespace {

using Json = nlohmann::ordered_json;
using console::Printer;
using SteadyClock = std::chrono::steady_clock;

struct BalanceOptions {
  std::string threshold = "10", limit = "24h";
  bool wait = false, stop = false, status = false, json = false;
};

Result<double> ParseThreshold(const std::string& text) {
  std::string_view number = text;
  if (number.ends_with('%')) number.remove_suffix(1);
  double percent = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), percent);
  const bool whole = error == std::errc() && end == number.data() + number.size();
  if (whole && percent > 0 && percent <= 100) return percent / 100;
  return Invalid("--threshold: " + Quote(text) + " is not a percentage above 0 and up to 100");
}

std::string Percent(double share) {
  char text[32];
  // A threshold of a small part of a percent needs more digits.
  std::snprintf(text, sizeof text, "%.*f%%", share != 0 && share < 0.001 ? 6 : 1, 100 * share);
  return text;
}

std::string Shares(const BalanceStatus& status) { return Percent(status.smallest) + " to " + Percent(status.largest); }

std::string Moved(const BalanceStatus& status) {
  return Counted(status.moved_blocks, "block") + " of " + FormatBytes(status.moved_bytes);
}

const char* NameOf(BalancePhase phase) {
  switch (phase) {
    case BalancePhase::kNever:
      return "off";
    case BalancePhase::kMoving:
      return "moving";
    case BalancePhase::kBalanced:
      return "balanced";
    case BalancePhase::kStuck:
      return "stuck";
    case BalancePhase::kStopped:
      return "stopped";
  }
  return "unknown";
}

Status PrintStatus(const BalanceStatus& status, bool as_json, Printer& out) {
  if (as_json) {
    out << console::Dump(Json{{"state", NameOf(status.phase)},
                              {"threshold_fraction", status.threshold},
                              {"mean_fraction", status.mean},
                              {"smallest_fraction", status.smallest},
                              {"largest_fraction", status.largest},
                              {"bytes_left", status.bytes_left},
                              {"moved_blocks", status.moved_blocks},
                              {"moved_bytes", status.moved_bytes},
                              {"moving_blocks", status.moving_blocks}})
        << "\n";
    return out.Flush();
  }
  const auto line = [&out](const char* name, const std::string& text) {
    out << console::Left(name, 18) << text << "\n";
  };
  line("balancing", NameOf(status.phase));
  line("shares", Shares(status) + ", of all " + Percent(status.mean));
  if (status.phase == BalancePhase::kNever) return out.Flush();
  line("threshold", Percent(status.threshold));
  line("moved", Moved(status) + ", " + std::to_string(status.moving_blocks) + " on their way");
  line("left", FormatBytes(status.bytes_left));
  return out.Flush();
}

Status Conclude(const BalanceStatus& status, Printer& out) {
  switch (status.phase) {
    case BalancePhase::kBalanced:
      out << "balanced: " << Moved(status) << (status.moved_blocks == 1 ? " was" : " were")
          << " moved, the workers hold " << Shares(status) << "\n";
      return out.Flush();
    case BalancePhase::kStuck:
      return Unavailable(
          "nothing else can be moved without leaving a block in fewer racks or filling a worker up; the workers hold " +
          Shares(status) + " where " + Percent(status.mean) +
          " is the mean; add workers to the racks of the full ones, or raise --threshold");
    case BalancePhase::kStopped:
      return Cancelled("balancing was stopped after " + Moved(status) + "; run it again to go on");
    default:
      return Unavailable("the master was restarted and does not remember it; run it again to go on");
  }
}

Status Wait(DfsClient& client, Micros limit, const FsContext& context, Printer& out) {
  const bool terminal = context.console.err_is_terminal;
  const auto end = SteadyClock::now() + std::chrono::microseconds(limit);
  console::StatusLine line(context.console);
  while (true) {
    const Micros left = std::chrono::duration_cast<std::chrono::microseconds>(end - SteadyClock::now()).count();
    const Micros pause = std::clamp<Micros>(left, kMillisecond, (terminal ? 1 : 5) * kSecond);
    MILLRACE_ASSIGN(const BalanceStatus status, client.GetBalance(pause));
    const std::string text = "balance: " + FormatBytes(status.moved_bytes) + " moved, " +
                             FormatBytes(status.bytes_left) + " left, the workers hold " + Shares(status);
    if (status.phase != BalancePhase::kMoving) {
      line.Clear();
      return Conclude(status, out);
    }
    if (terminal) {
      line.Show(text);
    } else {
      console::SayLine(context.console, text);
    }
    if (left > pause) continue;
    line.Clear();
    return Timeout("balancing continues beyond the time of --limit; `millrace fs balance --status` shows its progress");
  }
}

Status Balance(DfsClient& client, const BalanceOptions& options, double threshold, Micros limit,
               const FsContext& context) {
  Printer out(context.console);
  if (options.status) {
    MILLRACE_ASSIGN(const BalanceStatus status, client.GetBalance(0));
    return PrintStatus(status, options.json, out);
  }
  if (options.stop) {
    MILLRACE_ASSIGN(const BalanceStatus status, client.GetBalance(0));
    MILLRACE_TRY(client.StopBalance());
    out << (status.phase == BalancePhase::kMoving
                ? "balancing is stopped; replicas that are on their way still arrive\n"
                : "balancing was not under way\n");
    return out.Flush();
  }
  MILLRACE_TRY(client.StartBalance(threshold));
  if (options.wait) return Wait(client, limit, context, out);
  MILLRACE_ASSIGN(const BalanceStatus status, client.GetBalance(0));
  out << "balancing begins with " << FormatBytes(status.bytes_left)
      << " to move; `millrace fs balance --status` shows its progress\n";
  return out.Flush();
}

}  // namespace

int RunBalance(const Args& args, const FsContext& context) {
  BalanceOptions options;
  console::Arguments arguments(
      "fs balance", "",
      "Moves replicas from workers whose share of used space is more than the threshold above that of the whole "
      "cluster "
      "to emptier ones, and fills workers that are as far below it, until no worker is that far off. It runs in the "
      "background, lets missing copies of blocks go first, and ends if the master stops. With --wait the exit status "
      "is 1 if it "
      "ends before the cluster is balanced.");
  arguments.Text("--threshold", &options.threshold, "percent of a worker's capacity (default 10)");
  arguments.Flag("--wait", &options.wait, "wait until it has ended, and show its progress");
  arguments.Text("--limit", &options.limit, "with --wait: the longest time to wait (default 24h)");
  arguments.Flag("--stop", &options.stop, "stop balancing");
  arguments.Flag("--status", &options.status, "show its progress");
  arguments.Flag("--json", &options.json, "with --status: print JSON");
  if (const auto status = arguments.Parse(args, context.console, 0, 0)) return *status;
  const auto wrong = [&context](const Status& why) {
    console::SayError(context.console, "fs balance", why);
    return console::kWrongUsage;
  };
  if (options.stop + options.status + options.wait > 1) {
    return wrong(Invalid("--wait, --stop and --status exclude each other"));
  }
  if (options.json && !options.status) return wrong(Invalid("--json goes with --status"));
  const Result<double> threshold = ParseThreshold(options.threshold);
  if (!threshold.ok()) return wrong(threshold.status());
  const Result<Micros> limit = ParseDuration(options.limit);
  if (!limit.ok()) return wrong(Invalid("--limit: " + limit.status().message()));
  return WithClient(context, "balance",
                    [&](DfsClient& client) { return Balance(client, options, *threshold, *limit, context); });
}

}  // namespace millrace::dfs
