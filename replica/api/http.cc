#include "replica/api/http.h"

#include "replica/api/header_list.h"

namespace once {

std::string_view HttpRequest::Header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (SameToken(key, name)) return value;
  return {};
}

int HttpRequest::Count(std::string_view name) const {
  int count = 0;
  for (const auto& [key, value] : headers) count += SameToken(key, name);
  return count;
}

}  // namespace once
