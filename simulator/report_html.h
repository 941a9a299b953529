// report.html: the page a person reads.
#pragma once

#include <string>

#include "simulator/history.h"
#include "simulator/report_figures.h"

namespace once {

/// One page that needs nothing else: style, pictures and script are inside, and its security policy
/// forbids it to load anything.
std::string ReportHtml(const History& history, const Figures& figures);

}  // namespace once
