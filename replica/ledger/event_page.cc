#include "replica/ledger/event_page.h"

#include "replica/ledger/workflows.h"
#include "replica/limits.h"

namespace once {

std::optional<EventPage> PageOfEvents(Tables& tables, const EventRequest& request,
                                      std::string_view region) {
  const auto run = tables.FindRun(request.run_id());
  if (!run || run->tenant() != request.tenant() || run->region() != region) return std::nullopt;
  EventPage page;
  std::uint64_t next = request.from_sequence();
  for (RunEvent& event : tables.Events(run->run_id(), next, kEventsPerPageMax)) {
    if (page.ByteSizeLong() > kEventPageBytesMax) break;
    next = event.sequence() + 1;
    *page.add_events() = std::move(event);
  }
  page.set_complete(IsTerminal(run->status()) && next >= run->next_sequence());
  return page;
}

}  // namespace once
