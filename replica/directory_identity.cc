#include "replica/directory_identity.h"

#include <sstream>

#include "conflict/mutation.h"

namespace once {
namespace {

constexpr const char* kFormat = "once-data-2";
constexpr std::size_t kIdSize = 32;

}  // namespace

std::string ToText(const DirectoryIdentity& identity) {
  std::ostringstream text;
  text << kFormat << "\nregion " << identity.region << "\nidentity " << identity.id << "\norigin "
       << identity.origin.inode << ' ' << identity.origin.born_ns << '\n';
  if (!identity.mark.empty()) text << "mark " << identity.mark << '\n';
  return text.str();
}

std::string ToText(const DirectoryMarks& marks) {
  return marks.present + ' ' + marks.next;
}

std::variant<DirectoryIdentity, std::string> ParseIdentity(const std::string& text,
                                                           const std::string& file) {
  std::istringstream in(text);
  std::string format, word_region, word_id, word_origin;
  std::getline(in, format);
  if (in && format != kFormat)
    return file + " has the format '" + format + "'; this program knows only '" + kFormat + "'";
  const std::string damaged = file + " is damaged: restore it, or rejoin with an empty directory";
  std::variant<DirectoryIdentity, std::string> parsed;
  auto& identity = std::get<DirectoryIdentity>(parsed);
  in >> word_region >> identity.region >> word_id >> identity.id >> word_origin >>
      identity.origin.inode >> identity.origin.born_ns;
  if (!in || word_region != "region" || word_id != "identity" || word_origin != "origin" ||
      identity.id.size() != kIdSize)
    return damaged;
  std::string word_mark;
  if (in >> word_mark &&
      (word_mark != "mark" || !(in >> identity.mark) || identity.mark.size() != kIdSize))
    return damaged;
  return parsed;
}

std::string WhyNotAdopt(const DirectoryIdentity& identity, const std::string& region,
                        const std::string& path) {
  if (identity.region == region) return "";
  return path + " holds the data of region '" + identity.region +
         "' and cannot be started as region '" + region + "'";
}

std::string WhyNotStart(const DirectoryIdentity& identity, const FileOrigin& origin,
                        const std::string& region, const std::string& path) {
  if (std::string why = WhyNotAdopt(identity, region, path); !why.empty()) return why;
  if (origin == identity.origin || MutationOn("copy-not-noticed")) return "";
  return path + " is a copy of the directory with identity " + identity.id +
         ": two nodes must not share one. If the original is gone for good, or this is to be "
         "another node, start once with --adopt-data, which gives it a new identity";
}

std::string WhyNotWithStore(const DirectoryIdentity& identity,
                            const std::optional<std::string>& marks, const std::string& path) {
  std::istringstream in(marks.value_or(""));
  DirectoryMarks known;
  std::getline(in, known.present, ' ');
  std::getline(in, known.next);
  if (identity.mark == known.present || identity.mark == known.next) return "";
  return path + " has a store of another time than its IDENTITY: it was put back from a backup. " +
         "Start once with --adopt-data, which gives it a new identity";
}

}  // namespace once
