// A run's events, as its home region tells them: to a caller, or to a region that was asked.
#pragma once

#include <optional>
#include <string_view>

#include "replica/gossip/message.pb.h"
#include "replica/storage/tables.h"

namespace once {

/// The events from `from_sequence` on, up to a bound. Nothing when the tenant has no such run whose
/// home is `region`. May throw KvUnreadable.
std::optional<EventPage> PageOfEvents(Tables& tables, const EventRequest& request,
                                      std::string_view region);

}  // namespace once
