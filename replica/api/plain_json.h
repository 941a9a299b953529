// Documents that are their own canonical text, recognized without being parsed.
#pragma once

#include <string_view>

namespace once {

/// True if Canonicalize would give back `document` as it is; false if it would not, or if that is
/// not plain to see. Plain is what most encoders write: no white space, members in order, text of
/// printable ASCII without escapes, whole numbers of up to 15 digits, not more than eight levels.
bool IsPlainCanonical(std::string_view document);

}  // namespace once
