#include "bench/html_report.h"

#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>

#include <sys/utsname.h>

namespace sluice::bench {
namespace {

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --back: #fff; --ink: #1c2430; --faint: #5c6775; --line: #dfe4ea; --card: #f6f8fa; --mark: #b3261e;
  --c0: #0b63c4; --c1: #b4530a; --c2: #1c7c43; --c3: #8a3fb0; --c4: #0c7f8a; --c5: #a8304f; --chosen: #e3effc; }
@media (prefers-color-scheme: dark) { :root { --back: #11161d; --ink: #e4e9ef; --faint: #9aa6b4; --line: #2c3642; --card: #18202a; --mark: #ff8a80;
  --c0: #6db3ff; --c1: #ffab66; --c2: #6fd39a; --c3: #cf9bf2; --c4: #66d0da; --c5: #ff8fab; --chosen: #1c3350; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 70rem; background: var(--back); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; overflow-wrap: break-word; }
h1 { font-size: 1.5rem; line-height: 1.25; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
pre { background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: .75rem; overflow-x: auto; font-size: .875rem; }
.plots { display: grid; margin-top: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1rem; }
figure { margin: 0; padding: .75rem; background: var(--card); border: 1px solid var(--line); border-radius: 6px; min-width: 0; }
figcaption { font-weight: 600; margin-bottom: .25rem; } svg { width: 100%; height: auto; display: block; }
ul.key { list-style: none; margin: .25rem 0 0; padding: 0; display: flex; flex-wrap: wrap; gap: .25rem 1rem; font-size: .875rem; }
ul.key li::before { content: ""; display: inline-block; width: 1.1rem; height: 0; border-top: 3px solid var(--colour); vertical-align: middle; margin-right: .4rem; }
.s0 { --colour: var(--c0); } .s1 { --colour: var(--c1); } .s2 { --colour: var(--c2); } .s3 { --colour: var(--c3); } .s4 { --colour: var(--c4); } .s5 { --colour: var(--c5); }
.series polyline { fill: none; stroke: var(--colour); stroke-width: 2; stroke-linejoin: round; } .series circle { fill: var(--colour); }
.s1 polyline { stroke-dasharray: 7 3; } .s2 polyline { stroke-dasharray: 2 3; } .s3 polyline { stroke-dasharray: 9 3 2 3; } .s4 polyline { stroke-dasharray: 12 4; }
.bar { stroke: var(--colour); stroke-width: 1.2; } .grid { stroke: var(--line); } .axis { stroke: var(--faint); } .mark { stroke: var(--mark); stroke-dasharray: 4 3; }
svg text { font: 12.5px system-ui, sans-serif; fill: var(--faint); } svg text.label { fill: var(--ink); } svg text.mark-text { fill: var(--mark); paint-order: stroke; stroke: var(--card); stroke-width: 4px; stroke-linejoin: round; }
svg .middle { text-anchor: middle; } svg .right { text-anchor: end; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; min-width: 60%; }
th, td { text-align: right; padding: .3rem .6rem; border-bottom: 1px solid var(--line); white-space: nowrap; } th:first-child, td:first-child { text-align: left; }
th { color: var(--faint); font-weight: 600; } tr.chosen td { background: var(--chosen); font-weight: 600; } .none { color: var(--faint); }
)";

std::string cells(const std::vector<std::string>& row, const std::string& tag) {
  std::string html;
  for (const std::string& cell : row) html += "<" + tag + ">" + escape_html(cell) + "</" + tag + ">";
  return html;
}

std::string figure_of(const Plot& plot) {
  std::string html = "<figure><figcaption>" + escape_html(plot.title) + "</figcaption>\n" + svg_of(plot);
  if (plot.series.size() > 1) {
    html += "<ul class=\"key\">";
    for (size_t index = 0; index < plot.series.size(); ++index) {
      html += "<li class=\"s" + std::to_string(index % 6) + "\">" + escape_html(plot.series[index].name) + "</li>";
    }
    html += "</ul>\n";
  }
  return html + "</figure>\n";
}

/// The value behind a key of /proc/cpuinfo's first processor.
std::string cpuinfo(std::string_view key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with(key) && colon != std::string::npos) return line.substr(colon + 2);
  }
  return {};
}

}  // namespace

void HtmlReport::add_heading(const std::string& text) {
  body_ += "<h2>" + escape_html(text) + "</h2>\n";
}

void HtmlReport::add_paragraph(const std::string& text) {
  body_ += "<p>" + escape_html(text) + "</p>\n";
}

void HtmlReport::add_code(const std::string& text) {
  body_ += "<pre>" + escape_html(text) + "</pre>\n";
}

void HtmlReport::add_table(const HtmlTable& table) {
  body_ +=
      "<div class=\"wide\" tabindex=\"0\"><table>\n<thead><tr>" + cells(table.head, "th") + "</tr></thead>\n<tbody>\n";
  for (size_t index = 0; index < table.rows.size(); ++index) {
    body_ += index == table.marked_row ? "<tr class=\"chosen\">" : "<tr>";
    body_ += cells(table.rows[index], "td") + "</tr>\n";
  }
  body_ += "</tbody></table></div>\n";
}

void HtmlReport::add_plots(const std::vector<Plot>& plots) {
  body_ += "<div class=\"plots\">\n";
  for (const Plot& plot : plots) body_ += figure_of(plot);
  body_ += "</div>\n";
}

std::string HtmlReport::html() const {
  std::ostringstream page;
  page << "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
       << "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" << escape_html(title_)
       << "</title>\n<style>" << kStyle << "</style>\n</head>\n<body>\n<h1>" << escape_html(title_) << "</h1>\n"
       << body_ << "</body>\n</html>\n";
  return page.str();
}

std::string machine_line() {
  utsname system{};
  uname(&system);
  const std::string model = cpuinfo("model name");
  return (model.empty() ? std::string("unknown processor") : model) + ", " +
         std::to_string(std::thread::hardware_concurrency()) + " threads, " + system.sysname + " " + system.release;
}

Status check_writable(const std::string& option, const std::string& path) {
  if (path.empty() || std::ofstream(path, std::ios::app).good()) return {};
  return failed_precondition("cannot write " + option + " file " + path);
}

Status write_file(const std::string& path, const std::string& text) {
  if (path.empty()) return {};
  std::ofstream file(path);
  file << text << std::flush;
  return file.good() ? Status() : unavailable("writing " + path + " failed");
}

}  // namespace sluice::bench
