// SPDX-License-Identifier: Apache-2.0
#include "lab/study/forest.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace millrace::sim::experiments {
namespace {

constexpr int kWidth = 760, kLeft = 270, kRight = 110, kRow = 26, kTop = 40, kBottom = 34;
constexpr const char *kBetter = "#1b7837", *kWorse = "#b2182b", *kNeither = "#555";
constexpr std::size_t kMostTicks = 8;
constexpr double kRoom = 1.05;  // beyond the ends of the intervals

std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return escaped;
}

// Returns round numbers between these, at most about eight.
std::vector<double> Ticks(double low, double high) {
  const std::vector<double> steps[] = {
      {1, 1.1, 1.2, 1.3, 1.5, 1.7, 2, 2.5, 3, 4, 5, 6, 7, 8, 9}, {1, 1.5, 2, 3, 5, 7}, {1, 2, 5}, {1}};
  std::vector<double> found;
  for (const std::vector<double>& some : steps) {
    found.clear();
    for (int power = -4; power < 5; ++power) {
      for (const double step : some) {
        const double tick = step * std::pow(10.0, power);
        if (low <= tick && tick <= high) found.push_back(tick);
      }
    }
    if (found.size() <= kMostTicks) break;
  }
  return found;
}

// The logarithmic axis of a picture.
class Axis {
 public:
  explicit Axis(const std::vector<ForestRow>& rows) {
    low_ = high_ = 1;
    for (const ForestRow& row : rows) {
      Reach(row.ratio);
      if (Shown(row.itself)) Reach(*row.itself);
    }
    low_ /= kRoom, high_ *= kRoom;
  }

  [[nodiscard]] static bool Shown(const std::optional<Estimate>& itself) { return itself && itself->low > 0; }
  [[nodiscard]] double At(double ratio) const {
    return kLeft + (kWidth - kLeft - kRight) * std::log(ratio / low_) / std::log(high_ / low_);
  }
  [[nodiscard]] std::vector<double> TicksOf() const { return Ticks(low_, high_); }

 private:
  void Reach(const Estimate& estimate) { low_ = std::min(low_, estimate.low), high_ = std::max(high_, estimate.high); }

  double low_, high_;
};

std::string RowOf(const ForestRow& row, double y, const Axis& axis) {
  std::string out;
  if (Axis::Shown(row.itself)) {
    const double from = axis.At(row.itself->low);
    out += Formatted("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"16\" fill=\"#bbb\" opacity=\"0.6\"/>\n", from,
                     y - 8, std::max(1.0, axis.At(row.itself->high) - from));
  }
  bool good = row.ratio.high<1, bad = row.ratio.low> 1;
  if (row.higher_is_better) std::swap(good, bad);
  const char* colour = good ? kBetter : bad ? kWorse : kNeither;
  out +=
      Formatted("<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", kLeft - 10, y + 4) + Escaped(row.label) + "</text>\n";
  out += Formatted("<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"2\"/>\n",
                   axis.At(row.ratio.low), axis.At(row.ratio.high), y, y, colour);
  out += Formatted("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\" fill=\"%s\"/>\n", axis.At(row.ratio.value), y, colour);
  return out + Formatted("<text x=\"%d\" y=\"%.1f\" fill=\"%s\">%.2f %s</text>\n", kWidth - kRight + 10, y + 4, colour,
                         row.ratio.value,
                         good  ? "better"
                         : bad ? "worse"
                               : "");
}

}  // namespace

std::string ForestPlot(const std::vector<ForestRow>& rows, const std::string& title) {
  const Axis axis(rows);
  const int bottom = kTop + kRow * static_cast<int>(rows.size()), height = bottom + kBottom;
  std::string out = Formatted(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
      "font-family=\"sans-serif\" font-size=\"13\" role=\"img\">\n",
      kWidth, height, kWidth, height);
  out += "<title>" + Escaped(title) + "</title>\n";
  out += Formatted("<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n", kWidth, height);
  out += "<text x=\"10\" y=\"22\" font-weight=\"bold\">" + Escaped(title) + "</text>\n";
  for (const double tick : axis.TicksOf()) {
    const double x = axis.At(tick);
    out += Formatted("<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke=\"%s\"/>\n", x, x, kTop, bottom,
                     tick == 1 ? "#333" : "#ddd");
    out +=
        Formatted("<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" fill=\"#333\">%g</text>\n", x, bottom + 18, tick);
  }
  for (std::size_t i = 0; i < rows.size(); ++i)
    out += RowOf(rows[i], kTop + kRow * static_cast<double>(i) + kRow / 2.0, axis);
  return out + "</svg>\n";
}

}  // namespace millrace::sim::experiments
