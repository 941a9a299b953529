// The page's style sheet and its few lines of script. Neither refers to anything outside the page.
#pragma once

#include <string_view>

namespace once {

extern const std::string_view kReportStyle;
extern const std::string_view kReportScript;

}  // namespace once
