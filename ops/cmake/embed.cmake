# Turns INPUT into a C++ file OUTPUT that defines once::SYMBOL as its text.
file(READ ${INPUT} text)
string(LENGTH "${text}" length)
set(body "")
set(at 0)
# A string literal may not exceed 64 KiB portably: cut into adjacent literals.
while(at LESS length)
  string(SUBSTRING "${text}" ${at} 8000 part)
  string(APPEND body "R\"once~(${part})once~\"\n")
  math(EXPR at "${at} + 8000")
endwhile()
file(WRITE ${OUTPUT} "#include <string_view>\nnamespace once {\nextern const std::string_view ${SYMBOL};\nconst std::string_view ${SYMBOL} =\n${body};\n}\n")
