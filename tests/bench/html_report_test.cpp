#include "bench/html_report.h"

#include <limits>
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::bench {
namespace {

using testing::HasSubstr;
using testing::Not;

Plot simple_plot() {
  return {.title = "Goodput",
          .x_label = "max running",
          .y_label = "requests/s",
          .series = {{.name = "seen", .points = {{.x = 1, .y = 2}, {.x = 2, .y = 4}}}}};
}

/// Where circles are drawn.
std::vector<std::pair<double, double>> dots(const std::string& svg) {
  const std::regex circle("<circle cx=\"([0-9.]+)\" cy=\"([0-9.]+)\"");
  std::vector<std::pair<double, double>> found;
  for (std::sregex_iterator it(svg.begin(), svg.end(), circle); it != std::sregex_iterator(); ++it) {
    found.emplace_back(std::stod((*it)[1]), std::stod((*it)[2]));
  }
  return found;
}

TEST(HtmlReport, TakesNoTextForMarkup) {
  const std::string evil = "<script>alert(\"1\" & '2')</script>";
  HtmlReport report(evil);
  report.add_heading(evil);
  report.add_paragraph(evil);
  report.add_code(evil);
  report.add_table({.head = {evil}, .rows = {{evil}}});
  Plot plot = simple_plot();
  plot.title = plot.x_label = plot.y_label = plot.series[0].name = evil;
  plot.series[0].points[0].label = evil;
  plot.x_marks = plot.y_marks = {{.at = 1, .text = evil}};
  plot.series.push_back(plot.series[0]);
  report.add_plots({plot});
  const std::string html = report.html();
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("\"1\"")));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;alert(&quot;1&quot; &amp; &#39;2&#39;)"));
}

TEST(HtmlReport, NeedsNothingFromOutside) {
  HtmlReport report("Report");
  report.add_plots({simple_plot()});
  const std::string html = report.html();
  for (const char* const word : {"http:", "https:", "src=", "href=", "@import", "url("}) {
    EXPECT_THAT(html, Not(HasSubstr(word)));
  }
  EXPECT_THAT(html, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(html, HasSubstr("width=device-width"));
}

TEST(HtmlReport, MarksOneRowOfATable) {
  HtmlReport report("Report");
  report.add_table({.head = {"a"}, .rows = {{"first"}, {"second"}}, .marked_row = 1});
  EXPECT_THAT(report.html(), HasSubstr("<tr class=\"chosen\"><td>second</td></tr>"));
  EXPECT_THAT(report.html(), HasSubstr("<tr><td>first</td></tr>"));
}

TEST(HtmlReport, SaysWhichFileCannotBeWritten) {
  EXPECT_TRUE(check_writable("--report", "").ok());
  const Status status = check_writable("--report", "/nonexistent/report.html");
  EXPECT_THAT(status.message(), HasSubstr("--report"));
  EXPECT_THAT(status.message(), HasSubstr("/nonexistent/report.html"));
  EXPECT_FALSE(write_file("/nonexistent/report.html", "text").ok());
}

TEST(SvgPlot, DrawsUpwardsAndToTheRight) {
  const auto found = dots(svg_of(simple_plot()));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_LT(found[0].first, found[1].first);
  EXPECT_GT(found[0].second, found[1].second);
}

TEST(SvgPlot, LeavesEqualFactorsEqualRoomOnALogarithmicAxis) {
  Plot plot = simple_plot();
  plot.series[0].points = {{.x = 1, .y = 1}, {.x = 4, .y = 1}, {.x = 16, .y = 1}};
  for (const Scale scale : {Scale::kLog, Scale::kLog2}) {
    plot.x_scale = scale;
    const auto found = dots(svg_of(plot));
    ASSERT_EQ(found.size(), 3U);
    EXPECT_NEAR(found[1].first - found[0].first, found[2].first - found[1].first, 0.2);
  }
}

TEST(SvgPlot, CountsInPowersOfTwoWhereThatIsTheScale) {
  Plot plot = simple_plot();
  plot.x_scale = Scale::kLog2;
  plot.series[0].points = {{.x = 3, .y = 1}, {.x = 70, .y = 1}};
  const std::string svg = svg_of(plot);
  for (const char* const tick : {">4<", ">8<", ">16<", ">32<", ">64<"}) EXPECT_THAT(svg, HasSubstr(tick));
  EXPECT_THAT(svg, Not(HasSubstr(">2<")));
}

TEST(SvgPlot, LeavesOutWhatHasNoPlace) {
  Plot plot = simple_plot();
  plot.x_scale = plot.y_scale = Scale::kLog;
  plot.series[0].points = {{.x = 0, .y = 1},
                           {.x = 1, .y = 0},
                           {.x = std::numeric_limits<double>::quiet_NaN(), .y = 1},
                           {.x = 2, .y = std::numeric_limits<double>::infinity()},
                           {.x = 3, .y = 3}};
  const std::string svg = svg_of(plot);
  EXPECT_EQ(dots(svg).size(), 1U);
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

TEST(SvgPlot, SaysWhenThereIsNothingToDraw) {
  Plot plot = simple_plot();
  plot.series[0].points.clear();
  EXPECT_THAT(svg_of(plot), HasSubstr("no data"));
  plot.series.clear();
  EXPECT_THAT(svg_of(plot), HasSubstr("no data"));
}

TEST(SvgPlot, CutsAnUnboundedBarOffAtTheEdge) {
  Plot plot = simple_plot();
  const double infinity = std::numeric_limits<double>::infinity();
  plot.series[0].points[0].bar = Interval{-infinity, infinity};
  const std::string svg = svg_of(plot);
  EXPECT_THAT(svg, HasSubstr("class=\"bar\""));
  EXPECT_THAT(svg, Not(HasSubstr("inf")));
}

TEST(SvgPlot, DrawsAPlotOfEqualValues) {
  Plot plot = simple_plot();
  plot.series[0].points = {{.x = 0, .y = 0}, {.x = 0, .y = 0}};
  EXPECT_THAT(svg_of(plot), Not(HasSubstr("nan")));
  plot.x_scale = plot.y_scale = Scale::kLog;
  plot.series[0].points = {{.x = 5, .y = 5}};
  EXPECT_THAT(svg_of(plot), Not(HasSubstr("nan")));
}

TEST(TidyNumber, KeepsThreeDigitsThatCount) {
  EXPECT_EQ(tidy_number(0), "0");
  EXPECT_EQ(tidy_number(1234567), "1,234,567");
  EXPECT_EQ(tidy_number(-1234), "-1,234");
  EXPECT_EQ(tidy_number(123.4), "123");
  EXPECT_EQ(tidy_number(12.34), "12.3");
  EXPECT_EQ(tidy_number(1.234), "1.23");
  EXPECT_EQ(tidy_number(0.01234), "0.0123");
  EXPECT_EQ(tidy_number(std::numeric_limits<double>::infinity()), "–");
}

}  // namespace
}  // namespace sluice::bench
