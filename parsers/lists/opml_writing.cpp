// Writes subscription lists as OPML; opml.cpp reads them.
#include <algorithm>
#include <set>
#include <utility>

#include "parsers/lists/opml.hpp"
#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

void append_attribute_value(std::string& out, std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (const std::size_t forbidden = forbidden_in_xml(text, i); forbidden > 0) {
      i += forbidden - 1;
      continue;
    }
    switch (const char c = text[i]; c) {
      case '&':
      case '<':
      case '>':
      case '"':
        out += html_reference(c);
        break;
      case '\n':
        out += "&#10;";
        break;
      case '\t':
        out += "&#9;";
        break;
      default:
        out += c;
    }
  }
}

bool is_name(std::string_view text) {
  const auto is_in_name = [](char c) { return is_alnum(c) || c == '_' || c == '-' || c == '.'; };
  return !text.empty() && (is_alpha(text.front()) || text.front() == '_') && std::ranges::all_of(text, is_in_name);
}

std::string indent_of(std::size_t folders) {
  return std::string(2 * (2 + folders), ' ');
}

}  // namespace

bool is_opml_attribute(std::string_view name) {
  const std::size_t colon = name.find(':');
  if (colon == std::string_view::npos) return is_name(name);
  return is_name(name.substr(0, colon)) && is_name(name.substr(colon + 1));
}

OpmlWriter::OpmlWriter(std::string_view title, std::string_view date_created) {
  out_ = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<opml version=\"2.0\">\n  <head>\n    <title>";
  append_attribute_value(out_, title);
  out_ += "</title>\n    <dateCreated>";
  append_attribute_value(out_, date_created);
  out_ += "</dateCreated>\n  </head>\n  <body>\n";
}

void OpmlWriter::row(std::span<const std::string> folders, const OpmlAttributes& attributes) {
  folders = folders.first(std::min(folders.size(), max_opml_depth));
  std::size_t common = 0;
  while (common < std::min(open_.size(), folders.size()) && open_[common] == folders[common]) ++common;
  leave(common);
  for (const std::string& name : folders.subspan(common)) {
    out_ += indent_of(open_.size()) + "<outline text=\"";
    append_attribute_value(out_, name);
    out_ += "\">\n";
    open_.push_back(name);
  }
  out_ += indent_of(open_.size()) + "<outline";
  std::set<std::string_view> written;
  for (const auto& [name, value] : attributes) {
    if (!is_opml_attribute(name) || !written.insert(name).second) continue;
    out_ += " " + name + "=\"";
    append_attribute_value(out_, value);
    out_ += '"';
  }
  out_ += "/>\n";
}

void OpmlWriter::leave(std::size_t depth) {
  while (open_.size() > depth) {
    open_.pop_back();
    out_ += indent_of(open_.size()) + "</outline>\n";
  }
}

void OpmlWriter::end() {
  leave(0);
  out_ += "  </body>\n</opml>\n";
}

std::string OpmlWriter::take() {
  return std::exchange(out_, {});
}

}  // namespace feedmill
