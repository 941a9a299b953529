// What a data directory says of itself in its file IDENTITY, and whether it may be started so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

namespace once {

/// Where a file was born. Equal only for the very same file: a copy is another one.
struct FileOrigin {
  std::uint64_t inode = 0;
  std::int64_t born_ns = 0;  // 0: the file system does not tell
  bool operator==(const FileOrigin&) const = default;
};

struct DirectoryIdentity {
  std::string region;
  std::string id;     // 32 hex digits
  FileOrigin origin;  // of the file IDENTITY itself, when it was made
  // 32 hex digits, others at every start; empty: a program that knew of none made it.
  std::string mark = "";
};

/// The record of a directory in its own store: the mark that IDENTITY has when this is written, and
/// the one it gets once this is durable. So IDENTITY never has a mark that its store does not know,
/// and a store of an earlier start does not know IDENTITY's.
struct DirectoryMarks {
  std::string present;
  std::string next;
};

std::string ToText(const DirectoryMarks& marks);

std::string ToText(const DirectoryIdentity& identity);
/// Or a sentence for the operator. `file` is what it calls the file.
std::variant<DirectoryIdentity, std::string> ParseIdentity(const std::string& text,
                                                           const std::string& file);

/// Empty, or why the directory at `path` must not be made a member of `region` of its own.
std::string WhyNotAdopt(const DirectoryIdentity& identity, const std::string& region,
                        const std::string& path);
/// Empty, or why it must not be started as it is: besides, its IDENTITY is the file that was made,
/// as `origin` says of the present one.
std::string WhyNotStart(const DirectoryIdentity& identity, const FileOrigin& origin,
                        const std::string& region, const std::string& path);
/// Empty, or why it must not be started with the store that has `marks`, of ToText.
std::string WhyNotWithStore(const DirectoryIdentity& identity,
                            const std::optional<std::string>& marks, const std::string& path);

}  // namespace once
