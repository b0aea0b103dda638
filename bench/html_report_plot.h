#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/statistics.h"

namespace sluice::bench {

enum class Scale {
  kLinear,
  kLog,  ///< ticks at 1, 2 and 5 times powers of ten
  kLog2  ///< ticks at powers of two
};

struct PlotPoint {
  double x = 0;
  double y = 0;
  std::optional<Interval> bar = {};  ///< an error bar in y; cut off at the plot's edge where it is unbounded
  std::string label = {};            ///< shown when the point is hovered; empty: its figures
};

struct PlotSeries {
  std::string name;
  std::vector<PlotPoint> points;  ///< joined in this order
  bool has_dots = true;           ///< without, the line alone
};

/// A line across the plot with a word at it.
struct PlotMark {
  double at = 0;
  std::string text;
};

/// A drawing with two axes. Points that are not finite are left out, and so are those at or below 0 on a logarithmic
/// axis.
struct Plot {
  std::string title;
  std::string x_label;
  std::string y_label;
  Scale x_scale = Scale::kLinear;
  Scale y_scale = Scale::kLinear;
  std::vector<PlotSeries> series;      ///< up to six, told apart by colour and dash
  std::vector<PlotMark> x_marks = {};  ///< vertical lines
  std::vector<PlotMark> y_marks = {};  ///< horizontal lines
};

/// As an SVG element whose colours are the page's classes; "no data" in words where there is nothing to draw.
std::string svg_of(const Plot& plot);

/// Three digits that count, thousands apart: "1,234", "12.3", "0.0123".
std::string tidy_number(double value);
/// Text as HTML: nothing in it is markup.
std::string escape_html(const std::string& text);

}  // namespace sluice::bench
