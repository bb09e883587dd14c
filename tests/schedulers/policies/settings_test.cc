// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <set>

#include "base/file.h"
#include "schedulers/offering/delay_settings.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/external/external_settings.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "schedulers/policies/lsap/lsap_settings.h"
#include "schedulers/policies/make_scheduler.h"
#include "schedulers/policies/settings_file.h"
#include "schedulers/policies/settings_keys.h"
#include "schedulers/policies/simple/capacity_settings.h"
#include "schedulers/policies/simple/edf.h"

namespace millrace::sched {
namespace {

using ::testing::HasSubstr;

Settings Parse(std::string_view text) {
  Result<Settings> settings = ParseSettings(text, "scheduler.toml");
  EXPECT_TRUE(settings.ok()) << settings.status().message();
  return settings.ok() ? *std::move(settings) : Settings();
}

std::string WhyNot(std::string_view text) {
  const Result<Settings> settings = ParseSettings(text, "scheduler.toml");
  EXPECT_FALSE(settings.ok()) << text;
  return settings.ok() ? "" : settings.status().message();
}

TEST(SettingsFile, AnEmptyFileGivesTheDefaults) {
  const Settings settings = Parse("");
  EXPECT_EQ(settings.Of<PoolDefaults>().pool.weight, 1);
  EXPECT_EQ(settings.Of<FairSettings>().fair_share_timeout, 300 * kSecond);
  EXPECT_EQ(settings.Of<DelaySettings>().rack_wait, 5 * kSecond);
  EXPECT_TRUE(settings.Named<PoolSettings>().empty());
  EXPECT_FALSE(settings.Of<LsapSettings>().batch_window.has_value());
}

TEST(SettingsFile, EveryKindOfValueIsRead) {
  const Settings settings = Parse(R"(
    [fair]
    order = "sjf"
    min_share_timeout = 2          # seconds
    fair_share_timeout = "1.5m"
    [delay]
    mode = "auto"
    rack_wait = "200ms"
    off_wait = 0.25
    [pools.ads]
    weight = 2.5
    max_maps = 7
    order = "fifo"
    [pools."a b"]
    min_maps = 3
    [queues.prod]
    capacity = 60
    max_capacity = 90
    supports_priority = true
    [lsap]
    batch_window = "0s"
    off_bandwidth = "1M"
    rack_bandwidth = 2.5e8
    [edf]
    exclusive = true
  )");
  EXPECT_EQ(settings.Of<FairSettings>().order, PoolOrder::kSjf);
  EXPECT_EQ(settings.Of<FairSettings>().min_share_timeout, 2'000'000);
  EXPECT_EQ(settings.Of<FairSettings>().fair_share_timeout, 90'000'000);
  EXPECT_EQ(settings.Of<DelaySettings>().mode, DelaySettings::Mode::kAuto);
  EXPECT_EQ(settings.Of<DelaySettings>().rack_wait, 200'000);
  EXPECT_EQ(settings.Of<DelaySettings>().off_wait, 250'000);
  EXPECT_EQ(SettingsOfPool(settings, "ads").weight, 2.5);
  EXPECT_EQ(SettingsOfPool(settings, "ads").max_maps, 7u);
  EXPECT_EQ(SettingsOfPool(settings, "ads").order, PoolOrder::kFifo);
  EXPECT_EQ(SettingsOfPool(settings, "a b").min_maps, 3u);
  EXPECT_EQ(settings.Named<QueueSettings>().at("prod").capacity, 60);
  EXPECT_TRUE(settings.Named<QueueSettings>().at("prod").supports_priority);
  EXPECT_EQ(settings.Of<LsapSettings>().batch_window, 0);
  EXPECT_EQ(settings.Of<LsapSettings>().bandwidths.off, 1048576);
  EXPECT_EQ(settings.Of<LsapSettings>().bandwidths.rack, 2.5e8);
  EXPECT_TRUE(settings.Of<EdfSettings>().exclusive);
}

TEST(SettingsFile, APoolInheritsWhatItDoesNotSay) {
  const Settings settings = Parse("[pools.ads]\nmin_maps = 1\n[pool_defaults]\nweight = 3\nmax_running_jobs = 4\n");
  EXPECT_EQ(SettingsOfPool(settings, "ads").weight, 3);
  EXPECT_EQ(SettingsOfPool(settings, "ads").max_running_jobs, 4u);
  EXPECT_EQ(SettingsOfPool(settings, "ads").min_maps, 1u);
  EXPECT_EQ(SettingsOfPool(settings, "other").min_maps, 0u);
}

TEST(SettingsFile, MistakesAreToldWithFileLineAndReason) {
  EXPECT_EQ(WhyNot("\n\n[pools.ads]\nweight = -1\n"), "scheduler.toml:4: pools.ads.weight: -1 is not above 0");
  EXPECT_EQ(WhyNot("[fresh]\ntau_progress = 1.5\n"), "scheduler.toml:2: fresh.tau_progress: 1.5 is not within 0 to 1");
  EXPECT_EQ(WhyNot("[fair]\norder = \"lifo\"\n"),
            "scheduler.toml:2: fair.order: \"lifo\" is not fair, fifo, sjf or mlq");
  EXPECT_EQ(WhyNot("[fair]\norde = \"fair\"\n"), "scheduler.toml:2: fair.orde: no such setting; did you mean order?");
  EXPECT_EQ(WhyNot("[delays]\nrack_wait = 1\n"), "scheduler.toml:1: \"delays\": no such setting; did you mean delay?");
  EXPECT_EQ(WhyNot("[mlq]\nsmall_job_maps = 1.5\n"), "scheduler.toml:2: mlq.small_job_maps: 1.5 is not a whole number");
  EXPECT_EQ(WhyNot("[edf]\nexclusive = 2\n"), "scheduler.toml:2: edf.exclusive: 2 is not true or false");
  EXPECT_EQ(WhyNot("[delay]\nrack_wait = -1\n"), "scheduler.toml:2: delay.rack_wait: -1 is not within 0s to 1h");
  EXPECT_EQ(WhyNot("[delay]\nrack_wait = \"2h\"\n"),
            "scheduler.toml:2: delay.rack_wait: \"2h\" is not within 0s to 1h");
  EXPECT_EQ(WhyNot("[ccs]\nmax_reducers = nan\n"), "scheduler.toml:2: ccs.max_reducers: nan is not a number");
  EXPECT_EQ(WhyNot("[ccs]\nmax_reducers = [1]\n"),
            "scheduler.toml:2: ccs.max_reducers: a list, a date or a section; give one text or number");
  EXPECT_EQ(WhyNot("pools = 3\n"), "scheduler.toml:1: pools is not a section; write [pools.NAME]");
  EXPECT_EQ(WhyNot("fair = 3\n"), "scheduler.toml:1: fair is not a section; write [fair]");
  EXPECT_THAT(WhyNot("[fair\n"), HasSubstr("scheduler.toml:1: not TOML: "));
}

TEST(SettingsFile, WhatContradictsItselfIsRefused) {
  EXPECT_EQ(WhyNot("[fair]\nmin_share_timeout = 10\nfair_share_timeout = 9\n"),
            "scheduler.toml:3: fair.fair_share_timeout: is shorter than fair.min_share_timeout");
  EXPECT_EQ(WhyNot("[fair]\nmin_share_timeout = \"10m\"\n"),
            "scheduler.toml:1: fair.fair_share_timeout: is shorter than fair.min_share_timeout");
  EXPECT_EQ(WhyNot("[pools.a]\nmin_maps = 5\nmax_maps = 4\n"), "scheduler.toml:3: pools.a.max_maps: is below min_maps");
  EXPECT_EQ(WhyNot("[queues.a]\ncapacity = 60\n[queues.b]\ncapacity = 40.5\n"),
            "scheduler.toml:4: queues.b.capacity: the capacities of all queues are more than 100 together");
  EXPECT_EQ(WhyNot("[queues.a]\nmax_capacity = 30\ncapacity = 60\n"),
            "scheduler.toml:2: queues.a.max_capacity: is below capacity");
  EXPECT_EQ(Parse("[queues.a]\ncapacity = 60\n[queues.b]\ncapacity = 40\n").Named<QueueSettings>().size(), 2u);
}

TEST(SettingsFile, AFileIsReadAndAMissingOneIsNamed) {
  const Result<TempDir> directory = TempDir::Make("settings");
  ASSERT_TRUE(directory.ok());
  const std::string path = directory->path() + "/scheduler.toml";
  EXPECT_THAT(LoadSettings(path).status().message(), HasSubstr(path));
  ASSERT_TRUE(WriteFileDurably(path, "[edf]\nexclusive = true\n").ok());
  const Result<Settings> settings = LoadSettings(path);
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  EXPECT_TRUE(settings->Of<EdfSettings>().exclusive);
}

// A value other than the default for a key, found by trying what might do.
std::string OtherValue(const SettingKey& key) {
  const std::optional<std::string> before = key.field.get();
  for (const char* text : {"true", "7", "0.5", "1.5", "10", "0", "sjf", "auto", "johnson", "paper", "7s", "30000000",
                           "least-progress", "assignment", "relaxed"}) {
    if (key.field.set(text).ok() && key.field.get() != before) return text;
  }
  return "";
}

// Every key of the table, changed, is found again in the text, and equal settings have equal texts.
TEST(SettingsText, EveryValueComesBack) {
  Settings settings;
  std::vector<SettingSection> sections = FixedSections(&settings);
  for (const Section& section : ListSections()) {
    if (section.name == "pools") {
      sections.push_back(KeysOf(section, &settings, "x"));
      sections.push_back(KeysOf(section, &settings, "odd \"name\"\n\x01.[]"));
    } else if (section.named) {
      sections.push_back(KeysOf(section, &settings, "q"));
    }
  }
  for (SettingSection& section : sections) {
    for (SettingKey& key : section.keys) {
      // What contradicts its neighbours is not wanted here.
      if (key.name.starts_with("max_") && section.name.find("p") == 0) {
        EXPECT_TRUE(key.field.set("100000").ok());
        continue;
      }
      if (key.name.ends_with("_timeout") || key.name.ends_with("capacity")) continue;
      EXPECT_NE(OtherValue(key), "") << section.name << "." << key.name;
    }
  }
  settings.Of<PoolDefaults>().pool.min_share_timeout = 1;  // 1 us, and nothing of it in the pools
  settings.Named<QueueSettings>()["q"].capacity = 33.3;
  settings.Of<FairSettings>().min_share_timeout = 1'234'567;
  settings.Of<ExternalSettings>().program = "/a \"b\" \\c\n\x01d/é";
  const std::string text = FormatSettings(settings);
  const Result<Settings> back = ReadSettings(text);
  ASSERT_TRUE(back.ok()) << back.status().message() << "\n" << text;
  EXPECT_EQ(FormatSettings(*back), text);
  EXPECT_EQ(back->Of<FairSettings>().min_share_timeout, 1'234'567);
  EXPECT_EQ(back->Of<PoolDefaults>().pool.min_share_timeout, 1);
  EXPECT_EQ(back->Of<ExternalSettings>().program, "/a \"b\" \\c\n\x01d/é");
  EXPECT_FALSE(back->Named<PoolSettings>().at("x").min_share_timeout.has_value());
  EXPECT_EQ(back->Named<PoolSettings>().size(), 2u);
  EXPECT_NE(text, FormatSettings(Settings()));
}

TEST(SettingsText, TheTextIsAFileToo) {
  const std::string text = FormatSettings(Settings());
  EXPECT_EQ(FormatSettings(Parse(text)), text);
}

TEST(SettingsText, TheTextOfAnotherVersionIsRead) {
  const Result<Settings> settings = ReadSettings("[future]\nkey = 1\n[edf]\nexclusive = true\nfuture = [1, 2]\n");
  ASSERT_TRUE(settings.ok()) << settings.status().message();
  EXPECT_TRUE(settings->Of<EdfSettings>().exclusive);
  EXPECT_FALSE(ReadSettings("[edf]\nexclusive = 12\n").ok());
  EXPECT_EQ(FormatSettings(*ReadSettings("")), FormatSettings(Settings()));
}

TEST(MakeScheduler, MakesWhatTheJournalSays) {
  std::string why;
  const auto policy = MakeScheduler({"fifo", FormatSettings(Settings())}, false, &why);
  ASSERT_NE(policy, nullptr) << why;
  EXPECT_EQ(policy->name(), "fifo");
  EXPECT_EQ(MakeScheduler({"nothing", ""}, false, &why), nullptr);
  EXPECT_THAT(why, HasSubstr("nothing"));
  EXPECT_EQ(MakeScheduler({"fifo", "[fair]\norder = 3\n"}, false, &why), nullptr);
  EXPECT_THAT(why, HasSubstr("fair.order"));
  EXPECT_EQ(SchedulerMaker(false)({"nothing", ""}), nullptr);
}

TEST(SettingsKeys, HaveNamesOnceAndALineEach) {
  Settings settings;
  for (const SettingSection& section : FixedSections(&settings)) {
    std::set<std::string> names;
    EXPECT_FALSE(section.one_line.empty());
    for (const SettingKey& key : section.keys) {
      EXPECT_TRUE(names.insert(key.name).second) << section.name << "." << key.name;
      EXPECT_FALSE(key.one_line.empty()) << section.name << "." << key.name;
    }
  }
}

}  // namespace
}  // namespace millrace::sched
