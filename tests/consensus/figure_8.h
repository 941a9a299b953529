// Figure 3.7 of the dissertation (figure 8 of the paper), as a story.
#pragma once

#include "tests/consensus/group.h"

namespace once {

/// Why counting copies does not commit an entry of an earlier term: (a) a, leading term 1, keeps an
/// entry to itself; (b) c leads term 2 and keeps its own to itself; (c) a leads term 3 and copies
/// its old entry to b, a majority; (d) c is elected all the same, its last entry being of a later
/// term, and replaces it. Up to (c) in `group`, which has append_bytes_max = 1; then (d).
void TellFigure8UpToC(Group& group);
void TellFigure8D(Group& group);
RaftOptions Figure8Options();

}  // namespace once
