// SPDX-License-Identifier: Apache-2.0
// Whole streaming jobs in this process, with real children.
#include "client/streaming/streaming.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/random.h"
#include "client/api/testing.h"
#include "client/streaming/options.h"

namespace millrace::streaming {
namespace {

using Lines = std::vector<std::string>;

TestedJob RunStream(const std::vector<TestInput>& inputs, std::vector<std::string> options, std::uint32_t reducers = 1,
                    const InputForms& forms = {InputForm::kLines}, std::uint64_t split = std::uint64_t{64} << 20) {
  const ProcessFacts facts{"/proc/self/exe", {}};
  FrameHost host;
  return internal::RunTestedJob(BindStreaming(facts, forms, host), inputs, {std::move(options), {}, reducers, split});
}

std::string RandomText(std::uint64_t seed, std::size_t lines) {
  Random random(seed);
  std::string text;
  for (std::size_t i = 0; i < lines; ++i) {
    for (std::uint64_t words = random.Below(12); words > 0; --words)
      text += "w" + std::to_string(random.Below(300)) + " ";
    text += '\n';
  }
  return text;
}

std::map<std::string, int> CountWords(const std::string& text) {
  std::map<std::string, int> counts;
  std::istringstream words(text);
  for (std::string word; words >> word;) ++counts[word];
  return counts;
}

constexpr const char* kSplitWords = R"(stream.mapper=awk '{for (i = 1; i <= NF; ++i) print $i "\t1"}')";
constexpr const char* kSum =
    R"(awk -F '\t' '$1 != k {if (NR > 1) print k "\t" n; k = $1; n = 0} {n += $2} END {if (NR) print k "\t" n}')";

TEST(StreamingTest, CountsWordsByOtherPrograms) {
  const std::string text = RandomText(1, 3000);
  Lines expected;
  for (const auto& [word, count] : CountWords(text)) expected.push_back(word + "\t" + std::to_string(count));
  for (const std::string& combiner : {std::string(), std::string(kSum)}) {
    const TestedJob job =
        RunStream({text}, {kSplitWords, std::string("stream.reducer=") + kSum, "stream.combiner=" + combiner}, 1,
                  {InputForm::kLines}, 20'000);
    EXPECT_EQ(job.error, "");
    EXPECT_EQ(job.lines, expected);
    EXPECT_EQ(job.counters.at("millrace map_input_records"), 3000);
  }
  TestedJob job = RunStream({text}, {kSplitWords, std::string("stream.reducer=") + kSum}, 5);
  std::sort(job.lines.begin(), job.lines.end());
  EXPECT_EQ(job.lines, expected) << "by five reduces";
}

TEST(StreamingTest, WithoutReducesLinesStayAsTheyAre) {
  const TestedJob job = RunStream({"b two\na\n\nno newline"}, {"stream.mapper=tr a-z A-Z"}, 0);
  EXPECT_EQ(job.files.at("part-m-00000"), "B TWO\nA\n\nNO NEWLINE\n");
}

TEST(StreamingTest, WithoutAReducerLinesAreSorted) {
  EXPECT_EQ(RunStream({"b\t2\na\t1\nc\nb\t1\n"}, {"stream.mapper=cat"}).lines, (Lines{"a\t1", "b\t2", "b\t1", "c\t"}));
  EXPECT_EQ(RunStream({"b\na\n"}, {"stream.reducer=cat"}).lines, (Lines{"a\t", "b\t"})) << "without a mapper";
}

// The examples of Hadoop's page: a key of four fields, partitioned by the first two, sorted by the second and third.
TEST(StreamingTest, KeysHaveFields) {
  const std::string input = "11.12.1.2\n11.14.2.3\n11.11.4.1\n11.12.1.1\n11.14.2.2\n";
  EXPECT_EQ(RunStream({input}, {"stream.mapper=cat", "stream.reducer=cat", "stream.map.output.field.separator=.",
                                "stream.num.map.output.key.fields=2", "mapreduce.map.output.key.field.separator=.",
                                "mapreduce.partition.keycomparator.options=-k2,2nr"})
                .lines,
            (Lines{"11.14\t2.3", "11.14\t2.2", "11.12\t1.2", "11.12\t1.1", "11.11\t4.1"}));
  const TestedJob parted =
      RunStream({input},
                {"stream.mapper=cat", "stream.num.map.output.key.fields=4", "stream.map.output.field.separator=.",
                 "mapreduce.map.output.key.field.separator=.", "mapreduce.partition.keypartitioner.options=-k1,2"},
                3);
  std::map<std::string, std::string> part_of;
  for (const auto& [name, bytes] : parted.files) {
    std::istringstream lines(bytes);
    for (std::string line; std::getline(lines, line);) {
      const std::string group = line.substr(0, 5);
      EXPECT_TRUE(part_of.emplace(group, name).first->second == name) << group << " is in two parts";
    }
  }
  EXPECT_EQ(part_of.size(), 3U);
}

// Expected values: by hand, from the functions' descriptions.
TEST(StreamingTest, TheReducerAggregate) {
  const std::string input =
      "LongValueSum:a\t3\nLongValueSum:a\t-1\nLongValueMax:b\t-7\nLongValueMax:b\t-9\nLongValueMin:b\t4\nLongValueMin:"
      "b\t2\n"
      "DoubleValueSum:c\t0.25\nDoubleValueSum:c\t1.75\nStringValueMax:d\tx\nStringValueMax:d\tab\nStringValueMin:d\tx\n"
      "StringValueMin:d\tab\nUniqValueCount:e\tp\nUniqValueCount:e\tq\nUniqValueCount:e\tp\n"
      "ValueHistogram:f\tp\nValueHistogram:f\tq\t3\nValueHistogram:f\tp\n";
  Lines lines = RunStream({input}, {"stream.mapper=cat", "stream.reducer=aggregate"}).lines;
  std::sort(lines.begin(), lines.end());
  EXPECT_EQ(lines, (Lines{"a\t2", "b\t-7", "b\t2", "c\t2.0", "d\tab", "d\tx", "e\t2", "f\t2\t2\t3\t3\t2.5\t0.5"}));
  for (const char* wrong :
       {"word\t1\n", "Sum:a\t1\n", "LongValueSum:a\tx\n", "LongValueSum:a\t9223372036854775807\nLongValueSum:a\t1\n"})
    EXPECT_NE(RunStream({wrong}, {"stream.mapper=cat", "stream.reducer=aggregate"}).error, "") << wrong;
}

TEST(StreamingTest, SeparatorsAreThoseThatWereAskedFor) {
  EXPECT_EQ(
      RunStream({"a,1\nb,2\n"}, {"stream.mapper=cat", "stream.reducer=cat", "stream.map.output.field.separator=,",
                                 "stream.reduce.input.field.separator=;", "stream.reduce.output.field.separator=;",
                                 "mapreduce.output.textoutputformat.separator=::"})
          .lines,
      (Lines{"a::1", "b::2"}));
  EXPECT_EQ(RunStream({"x\ny\n"}, {"stream.mapper=cat", "stream.map.input.ignoreKey=false"}, 0).lines,
            (Lines{"0\tx", "2\ty"}));
}

TEST(StreamingTest, ReportsCountAndSetTheStatus) {
  const TestedJob job = RunStream(
      {"a\nb\n"}, {"stream.mapper=echo reporter:counter:mine,maps,3 >&2; echo reporter:status:at work >&2; cat"}, 0);
  EXPECT_EQ(job.counters.at("mine maps"), 3);
  EXPECT_EQ(job.lines, (Lines{"a", "b"}));
}

TEST(StreamingTest, TheEnvironmentHasTheFactsOfTheAttempt) {
  ::setenv("PYTHONUNBUFFERED", "1", 1);
  const TestedJob job = RunStream({TestInput("name.txt", "a\n")},
                                  {"stream.mapper=env", JoinPairs({{"x", "y"}}).insert(0, "stream.environment="),
                                   JoinPairs({{"my.own.parameter", "two words"}}).insert(0, "stream.parameters="),
                                   "stream.num.map.output.key.fields=2"},
                                  0);
  ::unsetenv("PYTHONUNBUFFERED");
  const auto has = [&job](const std::string& line) { return std::ranges::find(job.lines, line) != job.lines.end(); };
  for (const char* line :
       {"mapreduce_task_ismap=true", "mapreduce_task_partition=0", "mapreduce_job_name=job",
        "mapreduce_map_input_start=0", "mapreduce_map_input_length=2", "x=y", "my_own_parameter=two words",
        "stream_num_map_output_key_fields=2", "millrace_input_index=0"})
    EXPECT_TRUE(has(line)) << line;
  EXPECT_TRUE(std::ranges::any_of(job.lines, [](const std::string& line) {
    return line.starts_with("mapreduce_map_input_file=/") && line.ends_with("/name.txt");
  }));
  EXPECT_FALSE(has("PYTHONUNBUFFERED=1"));
}

TEST(StreamingTest, EachFileHasAChildAndSoHasNoFile) {
  EXPECT_EQ(RunStream({TestInput("one", "a\nb\n"), TestInput("two", "c\n")}, {"stream.mapper=wc -l"}, 0).lines,
            (Lines{"2", "1"}));
  EXPECT_EQ(RunStream({"x\n"}, {"stream.mapper=cat", "stream.reducer=wc -l"}, 2).lines.size(), 2U)
      << "a reduce without records runs its reducer, too";
}

TEST(StreamingTest, WholeFilesAndBytesPassUnchanged) {
  std::string bytes;
  for (int i = 0; i < 300'000; ++i) bytes.push_back(static_cast<char>(i * 7 + i / 256));
  EXPECT_EQ(
      RunStream({bytes}, {"stream.mapper=cksum"}, 0, {InputForm::kFiles}).counters.at("millrace map_input_records"), 1);
  const TestedJob sum = RunStream({bytes}, {"stream.mapper=wc -c"}, 0, {InputForm::kFiles}, 1000);
  EXPECT_EQ(sum.lines, Lines{"300000"});
  const std::string copy = "python3 -c 'import sys, shutil; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer)'";
  for (const char* io : {"stream.io=rawbytes", "stream.io=typedbytes"}) {
    const TestedJob through = RunStream({"a\nb\nc\n"}, {"stream.mapper=" + copy, "stream.reducer=" + copy, io});
    EXPECT_EQ(through.error, "");
    EXPECT_EQ(through.lines, (Lines{"0\ta", "2\tb", "4\tc"}));
  }
}

// What becomes of children that do not do as they should, and what is said of it.
TEST(StreamingTest, BrokenChildren) {
  struct Case {
    const char *mapper, *says;  // says: empty if the job succeeds
  };
  const Case cases[] = {
      {"exit 1", "the mapper \"exit 1\" ended with status 1; it "},
      {"cat >/dev/null; exit 3", "ended with status 3"},
      {"kill -SEGV $$", "was ended by signal 11 (Segmentation fault)"},
      {"cat > /dev/null; kill -KILL $$", "was ended by signal 9 (Killed)"},
      {"/no/such/program", "ended with status 127 (of a shell: not found)"},
      {"python3 -c 'raise ValueError(\"bad line\")'", "ValueError: bad line"},
      {"seq -f 'line %g' 100 >&2; exit 1", "line 81 | line 82"},
      {"head -c 100000 /dev/zero >&2; exit 1", "the end of its standard error"},
      {"printf '\\033[2J' >&2; exit 1", "\\x1b[2J"},
      {"exit 256; syntax error (", "ended with status 2"},
      {"true", ""},                       // no output, nothing read
      {"cat > /dev/null", ""},            // no output
      {"head -n 1", ""},                  // closes its input early
      {"exec <&-; echo early", ""},       // at once
      {"head -c 5000 /dev/urandom", ""},  // garbage is lines, too
      {"printf 'no newline'", ""},
      {"cat; (sleep 0.2; echo late) & :", ""},  // forks, and what it forks still writes
      {"cat; sleep 1000 >/dev/null 2>&1 & :", ""},
      {"exec >&-; cat > /dev/null; exit 4", "ended with status 4"},  // closes its output
      {"cat; echo oops >&2; exit 255", "oops"},
  };
  const std::string text = RandomText(2, 20'000);
  for (const Case& c : cases) {
    SCOPED_TRACE(c.mapper);
    const TestedJob job = RunStream({text}, {std::string("stream.mapper=") + c.mapper}, 0);
    if (c.says[0] == '\0') {
      EXPECT_EQ(job.error, "");
    } else {
      EXPECT_NE(job.error.find(c.says), std::string::npos) << job.error;
      EXPECT_EQ(job.error.find('\n'), std::string::npos);
      EXPECT_LT(job.error.size(), 4000U);
    }
  }
  EXPECT_NE(RunStream({"a\n"}, {"stream.reducer=exit 9"}).error.find("the reducer \"exit 9\" ended with status 9"),
            std::string::npos);
  EXPECT_NE(RunStream({"a\n"}, {"stream.mapper=cat", "stream.combiner=exit 8", "stream.reducer=cat"})
                .error.find("the combiner \"exit 8\" ended with status 8"),
            std::string::npos);
  EXPECT_NE(
      RunStream({"a\n"}, {R"(stream.mapper=printf '\013')", "stream.io=typedbytes"}, 0).error.find("not typed bytes"),
      std::string::npos);
  EXPECT_NE(RunStream({"a\n"}, {"stream.mapper=printf abc", "stream.io=rawbytes"}, 0).error.find("inside a record"),
            std::string::npos);
  EXPECT_EQ(RunStream({"a\n"}, {"stream.mapper=cat; exit 5", "stream.non.zero.exit.is.failure=false"}, 0).error, "");
}

// Where a child was in its input is told as far as that is known.
TEST(StreamingTest, AFailureSaysHowFarTheChildHadCome) {
  const std::string text = RandomText(4, 200'000);  // more than a pipe holds
  const auto error = [&text](const char* mapper) {
    return RunStream({text}, {std::string("stream.mapper=") + mapper}, 0).error;
  };
  EXPECT_NE(error("cat > /dev/null; exit 1").find("up to byte " + std::to_string(text.size()) + ";"), std::string::npos)
      << error("cat > /dev/null; exit 1");
  EXPECT_NE(error("exit 1").find("it stopped reading"), std::string::npos) << error("exit 1");
  EXPECT_EQ(error("exit 1").find("up to byte"), std::string::npos);
}

TEST(StreamingTest, WrongSettingsAreRefused) {
  for (const char* wrong : {"stream.map.output.field.separator=", "mapreduce.partition.keycomparator.options=-k0",
                            "stream.environment=x", "job.skip_bad_records=1", "stream.io=xml"})
    EXPECT_NE(RunStream({"a\n"}, {"stream.mapper=cat", wrong}).error, "") << wrong;
  EXPECT_NE(RunStream({"a\n"}, {}).error.find("-mapper"), std::string::npos);
}

// ---- children that live for many attempts ----

// A child of the protocol: counts words; says what a record asks for.
constexpr const char* kFrameChild = R"(stream.mapper=python3 -c '
import json, os, socket, struct, sys
s = socket.socket(fileno=int(os.environ["MILLRACE_CHANNEL"]))
f = s.makefile("rb")
def send(kind, payload=b""): s.sendall(struct.pack("<I", len(payload)) + kind + payload)
send(b"H", json.dumps({"version": 1, "language": "test"}).encode())
attempts = 0
while True:
    head = f.read(5)
    if len(head) < 5: break
    size, kind = struct.unpack("<Ic", head)
    p = f.read(size)
    if kind == b"J":
        job = json.loads(p); attempts += 1; counts = {}; key = None
        if attempts > 1: send(b"C", json.dumps([["test", "reused", 1]]).encode())
    elif kind == b"L":
        for word in p[8:].split():
            if word == b"FAIL":
                send(b"X", json.dumps({"type": "ValueError", "message": "bad word", "traceback": ["File x", "raise"], "record": "FAIL", "path": "/in", "offset": 7}).encode())
                break
            if word == b"CRASH": print("last words", file=sys.stderr); sys.exit(3)
            if word == b"NONSENSE": send(b"O", b"abc")
            if word == b"UNKNOWN": send(b"z")
            send(b"O", struct.pack("<II", len(word), 1) + word + b"1")
    elif kind == b"R":
        at = 0
        while at < len(p):
            k, v = struct.unpack_from("<II", p, at); at += 8
            if k != 0xffffffff: key = p[at:at + k]; at += k
            counts[key] = counts.get(key, 0) + int(p[at:at + v]); at += v
    elif kind == b"E":
        for k, n in counts.items():
            line = k + b"\t%d\n" % n
            send(b"W", b"\0" + line)
            if n > 1: send(b"W", b"\4many" + line)
        send(b"D")
')";

TEST(FramesTest, AChildLivesForManyAttempts) {
  const std::string text = RandomText(3, 2000);
  Lines expected;
  for (const auto& [word, count] : CountWords(text)) expected.push_back(word + "\t" + std::to_string(count));
  TestedJob job = RunStream({text}, {kFrameChild, "stream.io=frames"}, 2, {InputForm::kLines}, 5'000);
  EXPECT_EQ(job.error, "");
  std::sort(job.lines.begin(), job.lines.end());
  EXPECT_EQ(job.lines, expected);
  EXPECT_TRUE(job.files.contains("many-r-00001"));
  const std::int64_t maps = static_cast<std::int64_t>((text.size() + 4'999) / 5'000);
  EXPECT_EQ(job.counters.at("test reused"), maps + 2 - 1)
      << "each attempt but the first found the child of the one before";
  EXPECT_EQ(job.counters.at("millrace map_input_records"), 2000);
}

// A child that sends each word under the key "LETTER/WORD", and writes what it gets back: by the group of the key (Q),
// or to the reduce that it chooses by the length of the word (P).
std::string PlacingChild(char message) {
  return std::string(R"(stream.mapper=python3 -c '
import json, os, socket, struct
s = socket.socket(fileno=int(os.environ["MILLRACE_CHANNEL"]))
f = s.makefile("rb")
def send(kind, payload=b""): s.sendall(struct.pack("<I", len(payload)) + kind + payload)
send(b"H", json.dumps({"version": 1}).encode())
while True:
    head = f.read(5)
    if len(head) < 5: break
    size, kind = struct.unpack("<Ic", head)
    p = f.read(size)
    if kind == b"L":
        for word in p[8:].split():
            key = word[:1] + b"/" + word
            place = 1 if b")") +
         message + R"(" == b"Q" else len(word) % 3
            send(b")" +
         message + R"(", struct.pack("<III", len(key), place, 0) + key)
    elif kind == b"R":
        at = 0
        while at < len(p):
            k, v = struct.unpack_from("<II", p, at); at += 8
            if k != 0xffffffff: key = p[at:at + k]; at += k
            at += v
            send(b"W", b"\0" + key + b"\n")
    elif kind == b"E": send(b"D")
')";
}

TEST(FramesTest, AChildDecidesWhatGoesTogether) {
  std::string text;
  Random random(5);
  for (int i = 0; i < 500; ++i)
    text += static_cast<char>('a' + random.Below(26)) + std::string(random.Below(9), 'x') + std::to_string(i) + "\n";
  for (const char message : {'Q', 'P'}) {
    const TestedJob job = RunStream({text}, {PlacingChild(message), "stream.io=frames"}, 3);
    ASSERT_EQ(job.error, "");
    std::map<char, std::string> part_of;
    std::size_t lines = 0;
    for (const auto& [part, bytes] : job.files) {
      std::istringstream keys(bytes);
      for (std::string key; std::getline(keys, key); ++lines) {
        if (message == 'Q') {
          EXPECT_EQ(part_of.emplace(key[0], part).first->second, part) << key << " is apart from its group";
        } else {
          EXPECT_EQ(part, "part-r-0000" + std::to_string((key.size() - 2) % 3)) << key;
        }
      }
    }
    EXPECT_EQ(lines, 500U);
  }
}

TEST(FramesTest, WhatGoesWrongIsTold) {
  const auto error = [](const char* text) { return RunStream({text}, {kFrameChild, "stream.io=frames"}).error; };
  EXPECT_NE(
      error("a FAIL b\n").find("ValueError: bad word; at /in, byte 7; the record: FAIL; traceback: | File x | raise"),
      std::string::npos)
      << error("a FAIL b\n");
  EXPECT_NE(error("CRASH\n").find("ended with status 3; the end of its output: last words"), std::string::npos)
      << error("CRASH\n");
  EXPECT_NE(error("NONSENSE\n").find("sizes do not fit"), std::string::npos);
  EXPECT_NE(error("UNKNOWN\n").find("unknown type \"z\""), std::string::npos);
  for (const char* child :
       {"stream.mapper=true", "stream.mapper=exit 5", "stream.mapper=echo hello >&3", "stream.mapper=/no/such"})
    EXPECT_NE(RunStream({"a\n"}, {child, "stream.io=frames"}).error, "") << child;
}

// A child that asks for the first byte of each line whose number is in its split, the line being of ten bytes, and for
// the last two bytes of the file; of a file that it gets whole, it sends the length.
constexpr const char* kAskingChild = R"(stream.mapper=python3 -c '
import json, os, socket, struct
s = socket.socket(fileno=int(os.environ["MILLRACE_CHANNEL"]))
f = s.makefile("rb")
def send(kind, payload=b""): s.sendall(struct.pack("<I", len(payload)) + kind + payload)
def take():
    head = f.read(5)
    if len(head) < 5: os._exit(0)
    size, kind = struct.unpack("<Ic", head)
    return kind, f.read(size)
def ask(at, size):
    send(b"G", struct.pack("<QQ", at, size))
    got = b""
    while len(got) < size:
        kind, p = take()
        assert kind == b"F" and struct.unpack_from("<Q", p) == (at + len(got),), kind
        got += p[8:]
    return got
def say(text): send(b"W", b"\0" + text + b"\n")
send(b"H", json.dumps({"version": 1}).encode())
whole = None
while True:
    kind, p = take()
    if kind == b"F": whole += len(p) - 8
    if kind == b"L": say(b"lines " + p[8:].split()[0])
    if kind in b"IE" and whole is not None: say(b"whole %d" % whole)
    if kind in b"IE": whole = None
    if kind == b"E": send(b"D")
    if kind == b"I":
        about = json.loads(p)
        wanted = os.environ["WANTED"]
        if "ranges" not in about: continue
        if not about["ranges"]: whole = 0
        elif wanted == "lines":
            end = about["offset"] + about["length"]
            for at in range((about["offset"] + 9) // 10 * 10, end, 10): say(ask(at, 1) + b" of %d" % about["index"])
            say(b"end " + ask(about["file_length"] - 2, 2))
            send(b"N")
        elif wanted == "too much": ask(about["file_length"] - 1, 2)
        elif wanted == "overflow": ask(5, 2**64 - 1)
        elif wanted == "short": send(b"G", b"xyz"); take()
        elif wanted == "late": send(b"N"); send(b"G", struct.pack("<QQ", 0, 1))
        elif wanted == "done": send(b"D"); take()
        elif wanted == "end": os._exit(4)
')";

TestedJob Asking(const std::vector<TestInput>& inputs, const std::string& wanted, const InputForms& forms,
                 std::uint64_t split = std::uint64_t{64} << 20) {
  return RunStream(inputs, {kAskingChild, "stream.io=frames", "stream.environment=WANTED=" + wanted}, 0, forms, split);
}

TEST(FramesTest, AChildAsksForPartsOfAFile) {
  std::string text, expected;
  for (int i = 0; i < 100; ++i) text += std::string(1, static_cast<char>('a' + i % 26)) + "xxxxxxx\n\n";
  text.back() = '!';
  TestedJob job = Asking({text}, "lines", {InputForm::kTables}, 137);
  ASSERT_EQ(job.error, "");
  std::map<std::string, int> counts;
  for (const std::string& line : job.lines) ++counts[line];
  EXPECT_EQ(counts["end "], 8);
  EXPECT_EQ(counts["!"], 8) << "each of the maps has read what is beyond its split";
  for (char letter = 'a'; letter <= 'z'; ++letter)
    EXPECT_EQ(counts[std::string(1, letter) + " of 0"], letter <= 'v' ? 4 : 3) << letter;
  EXPECT_EQ(job.counters.at("millrace map_input_records"), 8);
}

TEST(FramesTest, WhatAChildMayNotAskForFailsTheAttempt) {
  const auto error = [](const char* wanted) { return Asking({"0123456789"}, wanted, {InputForm::kTables}).error; };
  for (const char* wanted : {"too much", "overflow"})
    EXPECT_NE(error(wanted).find("which has 10"), std::string::npos) << wanted << ": " << error(wanted);
  EXPECT_NE(error("short").find("not two numbers"), std::string::npos) << error("short");
  EXPECT_NE(error("late").find("when none was to be asked for"), std::string::npos) << error("late");
  EXPECT_NE(error("done").find("before it had said so of its input"), std::string::npos) << error("done");
  EXPECT_NE(error("end").find("status 4"), std::string::npos) << error("end");
}

TEST(StreamingTest, TablesAreForChildrenThatAsk) {
  const TestedJob job = RunStream({"a\n"}, {"stream.mapper=wc"}, 0, {InputForm::kTables});
  EXPECT_NE(job.error.find("stream.io=frames"), std::string::npos) << job.error;
}

}  // namespace
}  // namespace millrace::streaming
