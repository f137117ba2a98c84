#include "storage/records/settled.hpp"

#include "parsers/text/strings.hpp"
#include "parsers/text/url.hpp"

namespace feedmill {
namespace {

/// The value of a quoted attribute, "" if the tag does not have it.
std::string_view attribute(std::string_view tag, std::string_view name) {
  for (std::size_t at = ifind(tag, name); at != std::string_view::npos; at = ifind(tag, name, at + 1)) {
    const std::size_t quote = at + name.size() + 1;
    if (!is_space(tag[at - 1]) || quote >= tag.size() || tag[quote - 1] != '=') continue;
    if (tag[quote] != '"' && tag[quote] != '\'') continue;
    const std::string_view value = tag.substr(quote + 1);
    return value.substr(0, value.find(tag[quote]));
  }
  return {};
}

bool is_dot(std::string_view length) {
  return length == "0" || length == "1" || length == "0px" || length == "1px";
}

void append_settled_tag(std::string& out, std::string_view tag, AppendUrl link, AppendUrl file) {
  while (!tag.empty()) {
    const std::size_t quote = tag.find('"');
    const std::string_view before = tag.substr(0, quote);
    out += before;
    if (quote == std::string_view::npos) return;
    tag.remove_prefix(quote + 1);
    std::string_view value = take_until(tag, '"');
    out += '"';
    if (before.ends_with("href=") && value.find('?') != std::string_view::npos) {
      link(out, value);
    } else if (before.ends_with("src=") || before.ends_with("srcset=") || before.ends_with("poster=")) {
      while (!value.empty()) {  // srcset: URLs and descriptors
        file(out, take_until(value, ' '));
        out += ' ';
      }
    } else {
      out += value;
    }
    out += '"';
  }
}

}  // namespace

bool is_pixel(std::string_view tag) {
  return istarts_with(tag, "<img") && is_dot(attribute(tag, "width")) && is_dot(attribute(tag, "height"));
}

std::string_view settled_markup(std::string_view html, std::string& buffer, AppendUrl link, AppendUrl file) {
  buffer.clear();
  std::size_t copied = 0;
  std::size_t end = 0;
  for (std::size_t at = html.find('<'); at != std::string_view::npos; at = html.find('<', end)) {
    end = html.find('>', at);
    if (end == std::string_view::npos) break;
    const std::string_view tag = html.substr(at, ++end - at);
    const bool pixel = is_pixel(tag);
    if (!pixel && tag.find('?') == std::string_view::npos) continue;
    buffer += html.substr(copied, at - copied);
    if (!pixel) append_settled_tag(buffer, tag, link, file);
    copied = end;
  }
  if (copied == 0) return html;
  buffer += html.substr(copied);
  return buffer;
}

std::string_view settled_json(std::string_view json, std::string& buffer, AppendUrl file) {
  constexpr std::string_view member = "\"url\":\"";
  buffer.clear();
  if (json.find('?') == std::string_view::npos) return json;
  for (;;) {
    const std::size_t at = json.find(member);
    if (at == std::string_view::npos) break;
    buffer += json.substr(0, at + member.size());
    json.remove_prefix(at + member.size());
    file(buffer, take_until(json, '"'));
    buffer += '"';
  }
  buffer += json;
  return buffer;
}

}  // namespace feedmill
