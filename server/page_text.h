#pragma once

#include <string_view>

namespace sluice::server {

// The files of server/page/; a part of the program.

std::string_view page_html();    ///< live.html, with the places for style and script still empty
std::string_view page_style();   ///< live.css
std::string_view page_script();  ///< the scripts, joined

}  // namespace sluice::server
