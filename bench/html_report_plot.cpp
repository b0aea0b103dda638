#include "bench/html_report_plot.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <sstream>

namespace sluice::bench {
namespace {

// In units of the drawing; a phone shows about three quarters of a pixel for each.
constexpr double kWidth = 480;
constexpr double kHeight = 300;
constexpr double kLeft = 56;
constexpr double kRight = 14;
constexpr double kTop = 14;
constexpr double kBottom = 44;

std::string decimals(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

/// One axis: from values to places in the drawing.
struct Axis {
  Scale scale = Scale::kLinear;
  double low = 0;
  double high = 1;
  double begin = 0;  // where `low` is
  double end = 1;

  bool can_show(double value) const { return std::isfinite(value) && (scale == Scale::kLinear || value > 0); }
  double place(double value) const {
    const double share =
        scale == Scale::kLinear ? (value - low) / (high - low) : std::log(value / low) / std::log(high / low);
    return begin + std::clamp(share, 0.0, 1.0) * (end - begin);
  }
};

/// 1, 2 or 5 times a power of ten, at least `raw`.
double nice_step(double raw) {
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (raw <= factor * power * (1 + 1e-9)) return factor * power;
  }
  return 10 * power;
}

std::vector<double> linear_ticks(const Axis& axis) {
  const double step = nice_step((axis.high - axis.low) / 5);
  std::vector<double> ticks;
  for (double tick = std::ceil(axis.low / step - 1e-9) * step; tick <= axis.high + step * 1e-9; tick += step) {
    ticks.push_back(std::abs(tick) < step / 2 ? 0 : tick);
  }
  return ticks;
}

std::vector<double> log_ticks(const Axis& axis) {
  const bool is_wide = axis.high / axis.low > 500;
  std::vector<double> ticks;
  for (double power = std::pow(10, std::floor(std::log10(axis.low))); power <= axis.high; power *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double tick = factor * power;
      const bool is_shown = tick >= axis.low * (1 - 1e-9) && tick <= axis.high * (1 + 1e-9);
      if (is_shown && (factor == 1 || !is_wide)) ticks.push_back(tick);
    }
  }
  return ticks;
}

std::vector<double> doubling_ticks(const Axis& axis) {
  // A word for each would not fit beyond eight.
  const double step = std::log2(axis.high / axis.low) > 8 ? 4 : 2;
  std::vector<double> ticks;
  for (double tick = std::exp2(std::ceil(std::log2(axis.low))); tick <= axis.high; tick *= step) ticks.push_back(tick);
  return ticks;
}

std::vector<double> ticks_of(const Axis& axis) {
  switch (axis.scale) {
    case Scale::kLinear:
      return linear_ticks(axis);
    case Scale::kLog:
      return log_ticks(axis);
    case Scale::kLog2:
      return doubling_ticks(axis);
  }
  return {};
}

/// An axis over all of the values, with some air; a linear one begins at 0 where nothing is below.
Axis axis_over(const std::vector<double>& values, Scale scale, double begin, double end) {
  Axis axis{.scale = scale, .low = std::numeric_limits<double>::infinity(), .high = 0, .begin = begin, .end = end};
  axis.high = -axis.low;
  for (const double value : values) {
    if (!axis.can_show(value)) continue;
    axis.low = std::min(axis.low, value);
    axis.high = std::max(axis.high, value);
  }
  if (scale != Scale::kLinear) {
    axis.low /= 1.15;
    axis.high *= 1.15;
    return axis;
  }
  axis.low = std::min(0.0, axis.low);
  axis.high = axis.high > axis.low ? axis.high + 0.12 * (axis.high - axis.low) : axis.low + 1;
  return axis;
}

class Drawing {
 public:
  explicit Drawing(const Plot& plot) : plot_(plot) {
    std::vector<double> xs;
    std::vector<double> ys;
    for (const PlotSeries& series : plot.series) {
      for (const PlotPoint& point : series.points) {
        xs.push_back(point.x);
        ys.push_back(point.y);
        if (point.bar && std::isfinite(point.bar->high)) ys.push_back(point.bar->high);
      }
    }
    for (const PlotMark& mark : plot.x_marks) xs.push_back(mark.at);
    for (const PlotMark& mark : plot.y_marks) ys.push_back(mark.at);
    x_ = axis_over(xs, plot.x_scale, kLeft, kWidth - kRight);
    y_ = axis_over(ys, plot.y_scale, kHeight - kBottom, kTop);
  }

  bool is_empty() const {
    return std::none_of(plot_.series.begin(), plot_.series.end(), [this](const PlotSeries& series) {
      return std::any_of(series.points.begin(), series.points.end(),
                         [this](const PlotPoint& p) { return can_show(p); });
    });
  }

  std::string svg() {
    out_ << "<svg viewBox=\"0 0 480 300\" role=\"img\" aria-label=\"" << escape_html(plot_.title) << "\">\n";
    draw_grid();
    draw_labels();
    for (size_t index = 0; index < plot_.series.size(); ++index) draw(plot_.series[index], index % 6);
    draw_marks();
    out_ << "</svg>\n";
    return out_.str();
  }

 private:
  void line(const char* name, double x1, double y1, double x2, double y2) {
    out_ << "<line class=\"" << name << "\" x1=\"" << decimals(x1) << "\" y1=\"" << decimals(y1) << "\" x2=\""
         << decimals(x2) << "\" y2=\"" << decimals(y2) << "\"/>\n";
  }
  void text(const char* name, double x, double y, const std::string& words, const std::string& more = {}) {
    out_ << "<text class=\"" << name << "\" x=\"" << decimals(x) << "\" y=\"" << decimals(y) << "\"" << more << ">"
         << escape_html(words) << "</text>\n";
  }

  void draw_grid() {
    for (const double tick : ticks_of(x_)) {
      line("grid", x_.place(tick), kTop, x_.place(tick), kHeight - kBottom);
      text("tick middle", x_.place(tick), kHeight - kBottom + 15, tidy_number(tick));
    }
    for (const double tick : ticks_of(y_)) {
      line("grid", kLeft, y_.place(tick), kWidth - kRight, y_.place(tick));
      text("tick right", kLeft - 6, y_.place(tick) + 4, tidy_number(tick));
    }
    line("axis", kLeft, kHeight - kBottom, kWidth - kRight, kHeight - kBottom);
    line("axis", kLeft, kTop, kLeft, kHeight - kBottom);
  }

  void draw_labels() {
    text("label middle", (kLeft + kWidth - kRight) / 2, kHeight - 8, plot_.x_label);
    const double middle = (kTop + kHeight - kBottom) / 2;
    text("label middle", 12, middle, plot_.y_label, " transform=\"rotate(-90 12 " + decimals(middle) + ")\"");
  }

  void draw_marks() {
    for (const PlotMark& mark : plot_.x_marks) {
      if (!x_.can_show(mark.at)) continue;
      const double x = x_.place(mark.at);
      line("mark", x, kTop, x, kHeight - kBottom);
      // The word goes to the side with more room.
      const bool is_left = x < (kLeft + kWidth) / 2;
      text(is_left ? "mark-text" : "mark-text right", is_left ? x + 4 : x - 4, kTop + 10, mark.text);
    }
    for (const PlotMark& mark : plot_.y_marks) {
      if (!y_.can_show(mark.at)) continue;
      line("mark", kLeft, y_.place(mark.at), kWidth - kRight, y_.place(mark.at));
      text("mark-text right", kWidth - kRight - 2, y_.place(mark.at) - 4, mark.text);
    }
  }

  void draw(const PlotSeries& series, size_t colour) {
    out_ << "<g class=\"series s" << colour << "\">\n<polyline points=\"";
    for (const PlotPoint& point : series.points) {
      if (can_show(point)) out_ << decimals(x_.place(point.x)) << ',' << decimals(y_.place(point.y)) << ' ';
    }
    out_ << "\"/>\n";
    for (const PlotPoint& point : series.points) {
      if (!can_show(point)) continue;
      if (point.bar) draw_bar(point);
      if (series.has_dots) draw_dot(series, point);
    }
    out_ << "</g>\n";
  }

  bool can_show(const PlotPoint& point) const { return x_.can_show(point.x) && y_.can_show(point.y); }

  void draw_bar(const PlotPoint& point) {
    const double x = x_.place(point.x);
    const auto end = [this](double value, double otherwise) {
      return y_.can_show(value) ? y_.place(value) : y_.place(otherwise);
    };
    const double low = end(point.bar->low, y_.low);
    const double high = end(point.bar->high, y_.high);
    line("bar", x, low, x, high);
    line("bar", x - 4, low, x + 4, low);
    line("bar", x - 4, high, x + 4, high);
  }

  void draw_dot(const PlotSeries& series, const PlotPoint& point) {
    const std::string words =
        point.label.empty() ? series.name + ": " + tidy_number(point.x) + ", " + tidy_number(point.y) : point.label;
    out_ << "<circle cx=\"" << decimals(x_.place(point.x)) << "\" cy=\"" << decimals(y_.place(point.y))
         << "\" r=\"3.5\"><title>" << escape_html(words) << "</title></circle>\n";
  }

  const Plot& plot_;
  Axis x_;
  Axis y_;
  std::ostringstream out_;
};

}  // namespace

std::string svg_of(const Plot& plot) {
  Drawing drawing(plot);
  if (drawing.is_empty()) return "<p class=\"none\">no data</p>\n";
  return drawing.svg();
}

std::string tidy_number(double value) {
  if (!std::isfinite(value)) return "–";
  char text[64];
  const double size = std::abs(value);
  if (size >= 99.95 || size == std::floor(size)) {
    std::snprintf(text, sizeof text, "%.0f", value);
  } else {
    std::snprintf(text, sizeof text, size >= 9.995 ? "%.1f" : size >= 0.9995 ? "%.2f" : "%.3g", value);
  }
  std::string digits = text;
  const size_t point = std::min(digits.find('.'), digits.size());
  if (digits.find('e') != std::string::npos) return digits;
  const size_t first = digits.front() == '-' ? 1 : 0;
  for (size_t place = point; place > first + 3; place -= 3) digits.insert(place - 3, ",");
  return digits;
}

std::string escape_html(const std::string& text) {
  std::string escaped;
  for (const char character : text) {
    switch (character) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        // Control characters have no place in HTML.
        const auto byte = static_cast<unsigned char>(character);
        escaped += byte < 0x20 && character != '\n' && character != '\t' ? ' ' : character;
    }
  }
  return escaped;
}

}  // namespace sluice::bench
