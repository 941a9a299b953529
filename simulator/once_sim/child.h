// Worlds run in child processes, because the product ends its process where its logic is broken: a
// process that dies is a violation like any other.
#pragma once

#include <functional>
#include <string>

namespace once {

/// How a child ended, from what waitpid says, as "crash: ..."; empty: it ended by itself.
std::string DeathOf(int status);

/// Runs `work` in a child and returns its exit code. If the child dies, calls `died` with DeathOf
/// and returns what that returns.
int RunInChild(const std::function<int()>& work,
               const std::function<int(const std::string& death)>& died);

}  // namespace once
