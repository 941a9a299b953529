// metrics.prom: a run as the Prometheus text that dashboards of real nodes read.
#pragma once

#include <ostream>

#include "simulator/history.h"
#include "simulator/report_figures.h"

namespace once {

/// Labels are tenants, regions, answers and checkers, never caller keys, as on a real node.
void WriteMetrics(const History& history, const Figures& figures, std::ostream& out);

}  // namespace once
