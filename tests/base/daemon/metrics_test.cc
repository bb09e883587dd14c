// SPDX-License-Identifier: Apache-2.0
#include "base/daemon/metrics.h"

#include <gmock/gmock.h>

#include <limits>

namespace millrace::daemon {
namespace {

TEST(MetricsTextTest, GaugesAndCounters) {
  MetricsText text;
  text.One("millrace_up_seconds", MetricType::kGauge, "Time.", 1.5);
  text.Begin("millrace_ended_total", MetricType::kCounter, "Ends.");
  text.Add({{"kind", "map"}, {"result", "lost"}}, 1e15);
  text.Add({{"kind", "reduce"}, {"result", "lost"}}, 0);
  EXPECT_EQ(text.Take(),
            "# HELP millrace_up_seconds Time.\n# TYPE millrace_up_seconds gauge\nmillrace_up_seconds 1.5\n"
            "# HELP millrace_ended_total Ends.\n# TYPE millrace_ended_total counter\n"
            "millrace_ended_total{kind=\"map\",result=\"lost\"} 1e+15\n"
            "millrace_ended_total{kind=\"reduce\",result=\"lost\"} 0\n");
}

TEST(MetricsTextTest, AHistogramIsCumulative) {
  Histogram histogram({0.1, 1});
  for (const double value : {0.05, 0.1, 0.5, 2.0}) histogram.Add(value);
  MetricsText text;
  text.Begin("waits_seconds", MetricType::kHistogram, "Waits.");
  text.Add(histogram);
  EXPECT_EQ(text.Take(),
            "# HELP waits_seconds Waits.\n# TYPE waits_seconds histogram\nwaits_seconds_bucket{le=\"0.1\"} 2\n"
            "waits_seconds_bucket{le=\"1\"} 3\nwaits_seconds_bucket{le=\"+Inf\"} 4\nwaits_seconds_sum 2.65\n"
            "waits_seconds_count 4\n");
}

TEST(MetricsTextTest, NumbersThatAreNoneAndLabelsFromAnywhere) {
  MetricsText text;
  text.Begin("m", MetricType::kGauge, "M.");
  text.Add({{"v", "a\"b\\c\nd\xff"}}, std::numeric_limits<double>::quiet_NaN());
  const std::string made = text.Take();
  EXPECT_THAT(made, testing::HasSubstr("m{v=\"a\\\"b\\\\c\\\\nd\\\\xff\"} NaN\n"));
}

TEST(MetricsPagesTest, OnlyMetricsAreServedAndOnlyOnceTheyAreThere) {
  const auto pages = MetricsPages::Start("", MakeSilentLog());
  ASSERT_TRUE(pages.ok());
  EXPECT_EQ((*pages)->Get("/metrics").status, 503U);
  (*pages)->Write("a 1\n");
  EXPECT_EQ((*pages)->Get("/metrics").body, "a 1\n");
  EXPECT_EQ((*pages)->Get("/metrics?x=1").status, 200U);
  EXPECT_THAT((*pages)->Get("/metrics").type, testing::HasSubstr("version=0.0.4"));
  for (const char* other : {"/", "", "/metrics/", "/metricsx", "/healthz"})
    EXPECT_EQ((*pages)->Get(other).status, 404U);
}

TEST(MetricsPagesTest, APortAloneIsOfThisMachine) {
  EXPECT_TRUE(MetricsPages::Start("0", MakeSilentLog()).ok());
  EXPECT_TRUE(MetricsPages::Start("127.0.0.1:0", MakeSilentLog()).ok());
  const auto wrong = MetricsPages::Start("x", MakeSilentLog());
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.status().message(), testing::HasSubstr("metrics.listen"));
}

}  // namespace
}  // namespace millrace::daemon
