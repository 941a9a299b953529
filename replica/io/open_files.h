// How many files this process may have open, and what that leaves for connections.
#pragma once

#include <cstddef>

namespace once {

/// What a node needs besides its callers' connections: 256 for RocksDB, 64 for connections that are
/// being refused, 64 for handshakes on the peers' port; the rest for the log, links and listeners.
inline constexpr std::size_t kOwnFilesMax = 512;

/// Raises the process's limit as far as it may go, but not beyond what `connections` need. Gives
/// how many connections fit, `connections` at most; 0 when not even the node's own files do.
std::size_t RaiseOpenFiles(std::size_t connections);

}  // namespace once
