// SPDX-License-Identifier: Apache-2.0
// The command line of the program `millrace`: RunCli, and the commands below it, each in the form of Verb::run or as
// the verbs of a branch. Exit status: 0 done, 1 the job or operation failed, 2 wrong usage, 3 the cluster cannot be
// reached; an error is one line on standard error. Thread rule: the main thread, before others start.
#pragma once

#include <string>
#include <vector>

#include "client/cli/verbs.h"
#include "client/job_client/job_types.h"

namespace millrace::cli {

// Runs the command line. `words` is the command line without the program's name. The master and the wait of `defaults`
// are used unless --master and --wait are given. `more` holds verbs from other parts of the program (the daemons and
// `local`); one named "job X" is a verb X of `job`. If a Printer of the console fails to write, the command fails.
[[nodiscard]] int RunCli(const Invocation& defaults, const Words& words, const std::vector<Verb>& more);

// Returns all verbs, in the order of --help.
[[nodiscard]] std::vector<Verb> AllVerbs(const std::vector<Verb>& more);

// `millrace ca` makes the certificates of a cluster with TLS (base/tls/authority.h).
[[nodiscard]] std::vector<Verb> CaVerbs();
// `millrace cluster` shows the state of the whole cluster.
[[nodiscard]] std::vector<Verb> ClusterVerbs();
// `millrace export` makes a job ready for another engine: Hadoop Streaming, Spark (client/export).
[[nodiscard]] std::vector<Verb> ExportVerbs();
// `millrace job`: list, status, wait, kill, counters, logs, history, trace, priority.
[[nodiscard]] std::vector<Verb> JobVerbs();
// `millrace node` shows and changes the machines of a cluster.
[[nodiscard]] std::vector<Verb> NodeVerbs();
// `millrace scheduler` shows and sets the policy that decides what runs where.
[[nodiscard]] std::vector<Verb> SchedulerVerbs();
// `millrace trace` reads traces of other laboratories as workloads, and writes runs in their formats: it becomes the
// Python package's millrace.trace.
[[nodiscard]] std::vector<Verb> TraceVerbs();

// `millrace job list`.
[[nodiscard]] int ListJobs(const Invocation& invocation, const Words& args);
// `millrace job logs` shows the output of attempts, from the workers that ran them.
[[nodiscard]] int LogsCommand(const Invocation& invocation, const Words& args);
// `millrace job rerun ATTEMPT --local [-- WRAPPER...]` runs a failed map again, alone and in the foreground: the job's
// executable with --millrace-rerun (client/process/rerun.h), under a debugger or profiler if one is named. Returns the
// exit status of the program that was run, as in a shell.
[[nodiscard]] int RerunCommand(const Invocation& invocation, const Words& args);
// `millrace job tasks` lists the attempts of a job: their ends, nodes and times.
[[nodiscard]] int ListTasks(const Invocation& invocation, const Words& args);
// `millrace job why` says what is ahead of a job and what would help it (job_why.h).
[[nodiscard]] int WhyJob(const Invocation& invocation, const Words& args);
// `millrace job trace` writes a job as a trace for Perfetto (job_trace.h).
[[nodiscard]] int TraceJob(const Invocation& invocation, const Words& args);
// `millrace master backup` makes a backup of a running master's database.
[[nodiscard]] int BackUpMaster(const Invocation& invocation, const Words& args);
// `millrace run` submits a job and waits for its end (run_command.h has its steps).
[[nodiscard]] int RunCommand(const Invocation& invocation, const Words& args);
// `millrace whoami` shows the user's identity and rights at the master.
[[nodiscard]] int WhoAmICommand(const Invocation& invocation, const Words& args);

// `millrace completion SHELL` prints a script for the shell; `completion offer -- WORDS...` is what the scripts ask: it
// prints what may stand in place of the last word (completion_offers.h), each ended by a NUL.
[[nodiscard]] int CompletionCommand(const Invocation& invocation, const Words& args, const std::vector<Verb>& verbs);
// Return the scripts. None of them ever executes a part of a name, and offers are quoted for the shell. Where there are
// none, the files of this machine are offered. Requires bash 4.4, zsh 5.3 or fish 3.4.
[[nodiscard]] std::string BashCompletion();
[[nodiscard]] std::string ZshCompletion();
[[nodiscard]] std::string FishCompletion();

// Returns the state of a node in one word, as scripts get it, and in words: "maintenance", "maintenance until 14:30
// UTC".
[[nodiscard]] std::string NodeStateWord(const job::Node& node);
[[nodiscard]] std::string NodeState(const job::Node& node);
// Returns why the node is out of use, in a line: "node 3: maintenance until 14:30 UTC, and away: new kernel".
[[nodiscard]] std::string OutOfUseLine(const job::Node& node);

// Returns what is to be known of the jobs that wait: " (1 held, 2 for other jobs)"; empty if all wait for slots.
[[nodiscard]] std::string AmongWaiting(const job::ClusterStatus& status);

// Returns the text of `scheduler show`: the name, the settings in force, pools or queues, deadlines, and why jobs wait.
// No table is wider than `width`, unless that is 0.
[[nodiscard]] std::string SchedulerText(const job::SchedulerView& view, std::size_t width = 0);

}  // namespace millrace::cli
