#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "bench/html_report_plot.h"

namespace sluice::bench {

/// Cells of text; columns but the first are figures and stand to the right.
struct HtmlTable {
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
  size_t marked_row = SIZE_MAX;  ///< stands out; none by default
};

/// A page in one file without outside assets: light or dark as the reader's system is, readable on a phone, plots as
/// SVG. All text is given plain and escaped here.
class HtmlReport {
 public:
  explicit HtmlReport(std::string title) : title_(std::move(title)) {}

  void add_heading(const std::string& text);
  void add_paragraph(const std::string& text);
  /// Lines to copy.
  void add_code(const std::string& text);
  void add_table(const HtmlTable& table);
  /// Beside each other where there is room.
  void add_plots(const std::vector<Plot>& plots);

  std::string html() const;

 private:
  std::string title_;
  std::string body_;
};

/// What this machine is, on one line: processor, threads this process may use, kernel.
std::string machine_line();

/// A file that is opened at once, so that a wrong path does not cost a long measurement; an empty name opens none.
/// The error names the option.
Status check_writable(const std::string& option, const std::string& path);
/// Replaces the file. Nothing is done for an empty name.
Status write_file(const std::string& path, const std::string& text);

}  // namespace sluice::bench
