#include "bench/progress_bar.h"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::bench {
namespace {

using testing::HasSubstr;

TEST(ProgressBar, DrawsNothingWithoutATerminal) {
  std::ostringstream out;
  ProgressBar bar(out, /*is_terminal=*/false);
  bar.draw(0.5, 3);
  bar.clear();
  EXPECT_EQ(out.str(), "");
}

TEST(ProgressBar, StaysInItsBoundsWhateverTheShare) {
  for (const double share : {-1.0, 0.0, 1.0, 7.0}) {
    std::ostringstream out;
    ProgressBar(out, /*is_terminal=*/true).draw(share, 3);
    const std::string text = out.str();
    EXPECT_EQ(text.find(']') - text.find("K[") - 2, 40U) << text;
    EXPECT_THAT(text, HasSubstr(share > 0.5 ? "] 100 %" : "] 0 %"));
  }
}

TEST(ProgressBar, IsHalfFullAtHalfAndRemovesItself) {
  std::ostringstream out;
  ProgressBar bar(out, /*is_terminal=*/true);
  bar.draw(0.5, 3);
  EXPECT_THAT(out.str(), HasSubstr("[" + std::string(20, '=') + std::string(20, ' ') + "] 50 %, 3 requests"));
  bar.clear();
  EXPECT_TRUE(out.str().ends_with("\r\x1b[K"));
}

}  // namespace
}  // namespace sluice::bench
