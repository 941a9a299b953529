#include "simulator/report_markup.h"

#include <cmath>
#include <cstdio>

#include "simulator/report_words.h"

namespace once {
namespace {

void AppendEscaped(std::string& out, std::string_view text) {
  for (const char c : Utf8(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '\n':
        out += "&#10;";
        break;
      default:
        // HTML has no way to write the other control characters.
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          out += "\xef\xbf\xbd";
        } else {
          out += c;
        }
    }
  }
}

}  // namespace

std::string Coordinate(double value) {
  const double tenths = std::round(value * 10);
  char text[48];
  std::snprintf(text, sizeof text, std::fmod(tenths, 10) == 0 ? "%.0f" : "%.1f", tenths / 10);
  return text;
}

Markup::Attribute::Attribute(std::string_view name, double value)
    : name(name), value(Coordinate(value)) {}

Markup& Markup::Open(std::string_view tag, Attributes attributes) {
  text_.append("<").append(tag);
  for (const Attribute& attribute : attributes) {
    text_.append(" ").append(attribute.name).append("=\"");
    AppendEscaped(text_, attribute.value);
    text_ += '"';
  }
  text_ += '>';
  return *this;
}

Markup& Markup::Close(std::string_view tag) {
  text_.append("</").append(tag).append(">\n");
  return *this;
}

Markup& Markup::Leaf(std::string_view tag, Attributes attributes, std::string_view text) {
  return Open(tag, attributes).Text(text).Close(tag);
}

Markup& Markup::Text(std::string_view text) {
  AppendEscaped(text_, text);
  return *this;
}

Markup& Markup::Raw(std::string_view markup) {
  text_ += markup;
  return *this;
}

}  // namespace once
