#include "replica/api/accept.h"

#include <algorithm>
#include <array>
#include <optional>

#include "replica/api/header_list.h"

namespace once {
namespace {

// What says something about JSON, from the least to the most specific.
constexpr std::array<std::string_view, 3> kJson = {"*/*", "application/*", "application/json"};

/// In thousandths: 0 or 1, with at most three decimals. Nothing when it is something else.
std::optional<int> Weight(std::string_view text) {
  constexpr std::size_t kLongest = 5;
  if (text.empty() || text.size() > kLongest || (text[0] != '0' && text[0] != '1'))
    return std::nullopt;
  if (text.size() > 1 && text[1] != '.') return std::nullopt;
  int thousandths = (text[0] - '0') * 1000;
  int place = 100;
  for (std::size_t i = 2; i < text.size(); ++i, place /= 10) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
    thousandths += (text[i] - '0') * place;
  }
  return thousandths <= 1000 ? std::optional(thousandths) : std::nullopt;
}

/// Of a media range with these parameters: 1000 without a weight.
std::optional<int> WeightIn(std::string_view parameters) {
  while (!parameters.empty()) {
    std::string_view parameter = TakeUntil(parameters, ';');
    if (SameToken(TakeUntil(parameter, '='), "q")) return Weight(Trimmed(parameter));
  }
  return 1000;
}

struct Weights {
  std::string_view type;
  int of_type = 0;
  std::array<std::optional<int>, kJson.size()> json = {};

  void Add(std::string_view accept) {
    while (!accept.empty()) {
      std::string_view range = TakeUntil(accept, ',');
      const std::string_view named = TakeUntil(range, ';');
      const auto weight = WeightIn(range);
      if (!weight) continue;
      if (SameToken(named, type)) of_type = std::max(of_type, *weight);
      for (std::size_t i = 0; i < kJson.size(); ++i)
        if (SameToken(named, kJson[i])) json[i] = std::max(json[i].value_or(0), *weight);
    }
  }

  int OfJson() const {
    for (std::size_t i = json.size(); i-- > 0;)
      if (json[i]) return *json[i];
    return 0;
  }
};

}  // namespace

bool PrefersToJson(const HttpRequest& request, std::string_view type) {
  Weights weights{.type = type};
  for (const auto& [name, value] : request.headers)
    if (SameToken(name, "Accept")) weights.Add(value);
  return weights.of_type > 0 && weights.of_type >= weights.OfJson();
}

}  // namespace once
