// Random networks: a group under every fault it is made for, then a healed group that must work.
#pragma once

#include <cstdint>
#include <string>

namespace once {

/// THE FAULTS. Messages are lost, repeated, reordered and held back; links are cut and healed;
/// members crash and lose what was not synced, and restart; one disk may be emptied, and its node
/// returns under a new identity; one founder may have been left out. Meanwhile values are proposed
/// and read, members added, promoted and removed, leaders changed or made to give way, logs
/// compacted. Not among the faults: a disk that forgets what it synced under the same identity, and
/// a member that lies.
///
/// First `steps` random steps in which nothing may be wrong; then the faults stop, and within a
/// bounded time there must be a leader, a committed value, and the same state everywhere. Returns
/// what was wrong, or nothing. `digest` receives a number that depends on everything that happened.
std::string RunChaos(std::uint64_t seed, int steps, std::uint64_t* digest = nullptr);

}  // namespace once
