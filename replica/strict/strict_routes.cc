#include "replica/strict/strict_routes.h"

#include <xxhash.h>

#include <algorithm>
#include <set>

#include "conflict/mutation.h"
#include "replica/ledger/run_id.h"
#include "replica/ledger/workflows.h"

namespace once {
namespace {

constexpr std::string_view kRuns = "POST /v1/runs";
constexpr std::string_view kWebhooks = "POST /v1/webhooks";

bool Starts(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

std::string_view Family(std::string_view endpoint) {
  if (Starts(endpoint, "POST /v1/runs/") || Starts(endpoint, "POST /v1/interrupts/")) return kRuns;
  if (endpoint.find(" /v1/webhooks") != std::string_view::npos) return kWebhooks;
  return endpoint;
}

std::string About(std::string_view tenant, std::string_view endpoint) {
  std::string text = "tenant " + std::string(tenant);
  if (!endpoint.empty()) text += ", endpoint " + std::string(endpoint);
  return text;
}

}  // namespace

bool StrictRoutes::Contains(std::string_view tenant, std::string_view endpoint) const {
  const std::string_view family = Family(endpoint);
  return std::any_of(routes_.begin(), routes_.end(), [&](const StrictRoute& route) {
    return (route.tenant == "*" || route.tenant == tenant) &&
           (route.endpoint == "*" || Family(route.endpoint) == family);
  });
}

bool StrictRoutes::all() const {
  return std::any_of(routes_.begin(), routes_.end(), [](const StrictRoute& route) {
    return route.tenant == "*" && route.endpoint == "*";
  });
}

bool StrictRoutes::Contains(const Mutation& mutation) const {
  if (mutation.has_begin()) return Contains(mutation.tenant(), mutation.begin().slot().endpoint());
  if (mutation.has_cancel_run()) return IsStrictRunId(mutation.cancel_run().run_id());
  if (mutation.has_resolve_approval()) return IsStrictRunId(mutation.resolve_approval().run_id());
  if (mutation.has_resolve_interrupt()) return IsStrictToken(mutation.resolve_interrupt().token());
  return Contains(mutation.tenant(), mutation.has_create_run() ? kRuns : kWebhooks);
}

bool StrictRoutes::Contains(const Command& command) const {
  switch (command.body_case()) {
    case Command::kBegin:
      return Contains(command.begin().slot().tenant(), command.begin().slot().endpoint());
    case Command::kSettle:
      return IsStrictRunId(command.settle().run_id());
    case Command::kRenew:
      return IsStrictRunId(command.renew().run_id());
    case Command::kMutation:
      return Contains(command.mutation());
    default:
      return false;
  }
}

std::string StrictRoutes::Text() const {
  std::set<std::string> rules;
  for (const StrictRoute& route : routes_)
    rules.insert(keys::Part(route.tenant) + keys::Part(Family(route.endpoint)));
  std::string text;
  for (const std::string& rule : rules) text += rule;
  return text;
}

std::uint64_t StrictRoutes::Digest() const {
  const std::string text = Text();
  return std::max<std::uint64_t>(1, XXH3_64bits(text.data(), text.size()));
}

std::string StrictRoutes::Moved(Tables& tables, bool is_strict) const {
  std::string moved;
  for (int byte = 0; byte < 256 && moved.empty(); ++byte)
    tables.VisitSlots(static_cast<std::uint8_t>(byte), [&](const std::string&, const Slot& slot) {
      if (Contains(slot.tenant(), slot.endpoint()) != is_strict)
        moved = About(slot.tenant(), slot.endpoint());
    });
  tables.VisitWebhooks([&](const Webhook& webhook) {
    if (Contains(webhook.tenant(), kWebhooks) != is_strict)
      moved = About(webhook.tenant(), kWebhooks);
  });
  return moved;
}

bool StrictRoutes::AreThoseOf(Tables& best_effort) const {
  return best_effort.ReadRaw(keys::StrictRoutes()).value_or("") == Text();
}

std::string StrictRoutes::TakeEffect(Tables& best_effort, Tables& strict,
                                     const std::vector<Command>& unapplied) const {
  if (AreThoseOf(best_effort)) return "";
  std::string moved = Moved(best_effort, false);
  if (moved.empty()) moved = Moved(strict, true);
  for (const Command& command : unapplied) {
    const bool begins = command.has_begin() || command.has_mutation();
    if (!begins || Contains(command)) continue;
    const SlotRef& slot =
        command.has_begin() ? command.begin().slot() : command.mutation().begin().slot();
    moved =
        About(command.has_begin() ? slot.tenant() : command.mutation().tenant(), slot.endpoint());
  }
  if (!moved.empty() && !MutationOn("rules-move-claims"))
    return "[[strict]] was changed, but claims or webhooks of the old mode are still kept (" +
           moved + "): keep the old rules until they have expired or are deleted";
  best_effort.PutRaw(keys::StrictRoutes(), Text());
  return "";
}

bool IsStrictRunId(std::string_view run_id) {
  static const std::string kCode = RegionCode(kStrictRegion);
  return RunIdCode(run_id) == kCode;
}

bool IsStrictToken(std::string_view interrupt_token) {
  static const std::string kCode = RegionCode(kStrictRegion);
  return InterruptHomeCode(interrupt_token) == kCode;
}

}  // namespace once
