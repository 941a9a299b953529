// Where a command or a question about a run goes: to the region that the run belongs to.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "replica/ledger/command.pb.h"
#include "replica/replica.h"

namespace once {

class Homes {
 public:
  /// As `region` sees it. The replica must outlive it.
  Homes(Replica& replica, std::string region, std::vector<std::string> peers)
      : replica_(replica), region_(std::move(region)), peers_(std::move(peers)) {}

  /// The other region that the mutation's run belongs to; empty when it is this one, or nobody's,
  /// or the strict group's. A run that is not known here yet may still be: its id, or its token,
  /// says where it was made. Saying 404 for it would be stored as final, so its home decides.
  std::string Of(const Mutation& mutation);
  std::string OfRun(const std::string& run_id);
  /// The peer that made the id; or empty.
  std::string OfRunId(std::string_view run_id) const;

 private:
  std::string WithCode(std::string_view code) const;

  Replica& replica_;
  const std::string region_;
  const std::vector<std::string> peers_;
};

}  // namespace once
