# Turns INPUT into a C++ file OUTPUT that defines once::SYMBOL as its bytes.
#
# Read as hexadecimal digits: text would pass through CMake's lists and escapes, where a semicolon,
# a bracket or a backslash may change on the way.
file(READ ${INPUT} digits HEX)
string(LENGTH "${digits}" length)
set(body "")
set(at 0)
# One literal per 64 bytes: compilers bound the length of a line and of a single literal.
while(at LESS length)
  string(SUBSTRING "${digits}" ${at} 128 part)
  string(REGEX REPLACE "(..)" "\\\\x\\1" part "${part}")
  string(APPEND body "    \"${part}\"\n")
  math(EXPR at "${at} + 128")
endwhile()
file(WRITE ${OUTPUT} "#include <string_view>
namespace once {
extern const std::string_view ${SYMBOL};
static constexpr char kBytes[] =
${body}    \"\";
const std::string_view ${SYMBOL}(kBytes, sizeof kBytes - 1);
}  // namespace once
")
