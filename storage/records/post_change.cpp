#include "storage/records/post_change.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "parsers/text/entities.hpp"
#include "parsers/text/strings.hpp"
#include "parsers/text/url.hpp"
#include "storage/records/feed_fields.hpp"
#include "storage/records/folded.hpp"
#include "storage/records/json_members.hpp"

namespace feedmill {
namespace {

using namespace std::string_view_literals;

constexpr std::size_t most_parts = 32, longest_part = 64;  // per post; bytes. A change with more is news

/// A value without its URLs and numbers, which are listed in order.
struct Skeleton {
  std::string text;
  std::vector<std::string_view> urls;
  std::vector<std::pair<std::string_view, std::string_view>> numbers;  ///< name and value
};

/// Vocabularies with elements that are all about the post's content …
constexpr std::array content_vocabularies{"ev"sv, "geo"sv, "georss"sv, "gml"sv, "psc"sv, "xcal"sv};
/// … and names of such elements in any vocabulary.
constexpr std::array content_names{"alertlevel"sv,   "alternateEnclosure"sv,
                                   "area"sv,         "areaDesc"sv,
                                   "availability"sv, "category"sv,
                                   "certainty"sv,    "chapters"sv,
                                   "description"sv,  "duration"sv,
                                   "effective"sv,    "enddate"sv,
                                   "episode"sv,      "episode_type"sv,
                                   "event"sv,        "expiration_date"sv,
                                   "expires"sv,      "explicit"sv,
                                   "geocode"sv,      "headline"sv,
                                   "instruction"sv,  "location"sv,
                                   "msgType"sv,      "onset"sv,
                                   "parameter"sv,    "person"sv,
                                   "polygon"sv,      "price"sv,
                                   "responseType"sv, "salary"sv,
                                   "sale_price"sv,   "season"sv,
                                   "severity"sv,     "soundbite"sv,
                                   "startdate"sv,    "status"sv,
                                   "subTitle"sv,     "subtitle"sv,
                                   "summary"sv,      "title"sv,
                                   "transcript"sv,   "urgency"sv};

bool carries_content(std::string_view vocabulary, std::string_view name) {
  if (vocabulary == "media" && name == "text") return true;  // its transcript
  return std::ranges::find(content_vocabularies, vocabulary) != content_vocabularies.end() ||
         std::ranges::find(content_names, name) != content_names.end();
}

/// The raw text of all content elements nested in an element, at any depth.
std::string content_within(std::string_view json) {
  std::string content;
  for (std::size_t at = json.find('"'); at < json.size();) {
    const std::size_t end = end_of_string(json, at);
    const bool is_name = end < json.size() && json[end] == ':';
    const std::string_view name = is_name ? json.substr(at + 1, end - at - 2) : std::string_view();
    if (is_name && carries_content({}, name)) {
      const std::size_t close = std::min(end_of_value(json, end + 1), json.size());
      content += json.substr(at, close - at);
      at = json.find('"', close);
    } else {
      at = end < json.size() ? json.find('"', end) : npos;
    }
  }
  return content;
}

/// Moves the URLs in a tag's attributes to `urls`; `srcset` has several.
void take_tag_apart(std::string_view tag, Skeleton& skeleton) {
  while (!tag.empty()) {
    const std::size_t quote = tag.find('"');
    const std::string_view before = tag.substr(0, quote);
    skeleton.text += before;
    if (quote == npos) return;
    tag.remove_prefix(quote + 1);
    std::string_view value = take_until(tag, '"');
    const bool one = before.ends_with("href=") || before.ends_with("src=") || before.ends_with("poster=");
    if (one)
      skeleton.urls.push_back(value);
    else if (before.ends_with("srcset="))
      while (!value.empty()) skeleton.urls.push_back(take_word(value));
    else
      skeleton.text += value;
    skeleton.text += '"';
  }
}

Skeleton skeleton_of_markup(std::string_view html) {
  Skeleton skeleton;
  skeleton.text.reserve(html.size());
  std::size_t at = 0;
  while (at < html.size()) {
    const std::size_t open = std::min(html.find('<', at), html.size());
    append_folded(skeleton.text, html.substr(at, open - at));  // white space next to a tag is ignored too
    const std::size_t close = html.find('>', open);
    at = close == npos ? html.size() : close + 1;
    const std::string_view tag = html.substr(open, at - open);
    if (!is_pixel(tag)) take_tag_apart(tag, skeleton);
  }
  return skeleton;
}

/// The text of markup without tags, white space and the links that the sanitiser puts in place of embeds. Sanitiser
/// versions decode references differently: `&amp;copy` is `&copy` is ©.
std::string words_of_markup(std::string_view html) {
  std::string words;
  for (std::size_t at = 0; at < html.size();) {
    const std::size_t open = std::min(html.find('<', at), html.size());
    words += html.substr(at, open - at);
    const std::size_t close = std::min(html.find('>', open), html.size() - 1);
    at = close + 1;
    std::string_view tag = html.substr(open, at - open);
    constexpr std::string_view link = "<a href=\"";
    if (!tag.starts_with(link)) continue;
    tag.remove_prefix(link.size());
    const std::string_view url = take_until(tag, '"');
    if (tag == ">" && html.substr(at).starts_with(url) && html.substr(at + url.size()).starts_with("</a>"))
      at += url.size();
  }
  words = decode_references(decode_references(words));
  std::erase_if(words, is_space);
  return words;
}

/// Collects strings that are web addresses, and bare numbers with the name before them.
Skeleton skeleton_of_json(std::string_view json) {
  Skeleton skeleton;
  std::string_view name;
  for (std::size_t at = 0; at < json.size();) {
    const char c = json[at];
    if (c == '"') {
      std::size_t end = at + 1;
      while (end < json.size() && json[end] != '"') end += json[end] == '\\' ? 2 : 1;
      end = std::min(end, json.size());
      const std::string_view text = json.substr(at + 1, end - at - 1);
      if (istarts_with(text, "http://") || istarts_with(text, "https://"))
        skeleton.urls.push_back(text);
      else
        skeleton.text += text;
      name = text;
      at = end + 1;
    } else if (is_digit(c)) {
      std::size_t end = at;
      while (end < json.size() && json[end] != ',' && json[end] != '}' && json[end] != ']') ++end;
      skeleton.numbers.emplace_back(name, json.substr(at, end - at));
      at = end;
    } else {
      skeleton.text += c;
      ++at;
    }
  }
  return skeleton;
}

class Comparison {
 public:
  explicit Comparison(bool other_rules = false) : other_rules_(other_rules) {}

  PostChange take() { return std::move(change_); }

  void compare(std::string_view name, std::string_view before, std::string_view now) {
    if (before == now || change_.noticed) return;
    if (other_rules_ && (name == "title" || name == "summary" || name == "content")) {
      change_.noticed = words_of_markup(before) != words_of_markup(now);
    } else if (name == "title" || name == "author" || name == "categories") {
      std::string a, b;
      append_folded(a, before);
      append_folded(b, now);
      change_.noticed = a != b;
    } else if (name == "summary" || name == "content") {
      compare_skeletons(skeleton_of_markup(before), skeleton_of_markup(now), true);
    } else if (name == "link" || name == "comments") {
      const std::string page = link_key(now);
      if (page.empty() || page != link_key(before)) compare_urls(before, now, false);
    } else if (name == "image") {
      compare_urls(before, now, false);
    } else if (name == "enclosures") {
      compare_skeletons(skeleton_of_json(with_media_types(before)), skeleton_of_json(with_media_types(now)), false);
    } else if (name == "authors") {
      change_.noticed = names_in(before) != names_in(now);
    } else if (name == "media") {
      compare_media(before, now);
    } else if (name == "extensions") {
      compare_extensions(before, now);
    }
  }

 private:
  using Members = std::map<std::string_view, std::string_view>;

  static Members members_of(std::string_view object) {
    Members members;
    for_each_member(object, [&](std::string_view name, std::string_view value) { members.emplace(name, value); });
    return members;
  }

  /// Visits each name in either object with both values, "" = absent.
  template <class Visit>
  static void for_each_pair(std::string_view before, std::string_view now, Visit visit) {
    const Members old = members_of(before);
    Members all = members_of(now);
    for (const auto& [name, value] : old) all.emplace(name, std::string_view());
    for (const auto& [name, value] : all) {
      const auto found = old.find(name);
      visit(name, found == old.end() ? std::string_view() : found->second, value);
    }
  }

  /// Normalises media types, which earlier builds stored as written.
  static std::string with_media_types(std::string_view files) {
    constexpr std::string_view member = "\"type\":\"";
    std::string out;
    for (std::size_t at = files.find(member); at != npos; at = files.find(member)) {
      const std::size_t begin = at + member.size();
      std::size_t end = files.find('"', begin);
      while (end != npos && files[end - 1] == '\\') end = files.find('"', end + 1);
      if (end == npos) break;
      const std::string type = media_type(files.substr(begin, end - begin));
      out.append(files.substr(0, at));
      files.remove_prefix(end + 1);
      if (!type.empty())
        out.append(member).append(type).push_back('"');
      else if (out.ends_with(','))
        out.pop_back();
      else if (files.starts_with(','))
        files.remove_prefix(1);
    }
    return out.append(files);
  }

  static std::string names_in(std::string_view people) {
    constexpr std::string_view member = "\"name\":\"";
    std::string names;
    for (std::size_t at = people.find(member); at != npos; at = people.find(member, at)) {
      at += member.size();
      names.append(people.substr(at, people.substr(at).find('"'))).push_back('\n');
    }
    return names;
  }

  void add_part(std::string part) {
    if (part.size() > longest_part || (change_.parts.size() == most_parts && !change_.parts.contains(part)))
      change_.noticed = true;
    else
      change_.parts.insert(std::move(part));
  }

  /// `in_text`: path segments may be volatile, too.
  void compare_skeletons(const Skeleton& before, const Skeleton& now, bool in_text) {
    if (before.text != now.text || before.urls.size() != now.urls.size() ||
        before.numbers.size() != now.numbers.size()) {
      change_.noticed = true;
      return;
    }
    for (std::size_t i = 0; i < now.urls.size() && !change_.noticed; ++i) {
      compare_urls(before.urls[i], now.urls[i], in_text);
    }
    for (std::size_t i = 0; i < now.numbers.size(); ++i) {
      if (before.numbers[i] == now.numbers[i]) continue;
      add_part("#" + std::string(now.numbers[i].first));
    }
  }

  void compare_urls(std::string_view was, std::string_view is, bool in_text) {
    if (was == is) return;
    const std::string before = uri_of(std::string(was)), now = uri_of(std::string(is));  // earlier builds stored IRIs
    if (before == now) return;
    const UrlParts a = split_url(before), b = split_url(now);
    const bool are_web = is_http_url(before) && is_http_url(now);
    const bool is_fragment = a.fragment != b.fragment && b.fragment.find('=') == npos;
    if (!are_web || is_fragment) {
      change_.noticed = true;
      return;
    }
    const std::string host = host_of(b);
    const bool same_path = trimmed(a.path) == trimmed(b.path);
    if (host_of(a) != host) {
      if (!same_path) change_.noticed = true;
      add_part("@host");
    }
    if (!same_path) compare_paths(a.path, b.path, host, in_text);
    compare_queries(a.query, b.query);
  }

  static std::string host_of(const UrlParts& parts) { return link_key("http://" + std::string(parts.authority) + "/"); }

  static std::string_view trimmed(std::string_view path) {
    while (path.ends_with('/')) path.remove_suffix(1);
    return path;
  }

  void compare_paths(std::string_view before, std::string_view now, const std::string& host, bool in_text) {
    const auto slashes = [](std::string_view path) { return std::ranges::count(path, '/'); };
    if (!in_text || slashes(before) != slashes(now)) {
      change_.noticed = true;
      return;
    }
    for (std::size_t place = 0; !now.empty() || !before.empty(); ++place) {
      if (take_until(before, '/') == take_until(now, '/')) continue;
      add_part("/" + host + "/" + std::to_string(place));
    }
  }

  void compare_queries(std::string_view before, std::string_view now) {
    std::map<std::string_view, std::pair<std::string, std::string>> values;
    for (const bool is_now : {false, true}) {
      for (std::string_view rest = is_now ? now : before; !rest.empty();) {
        std::string_view parameter = take_until(rest, '&');
        if (istarts_with(parameter, "amp;")) parameter.remove_prefix(4);  // escaped in markup
        if (parameter.empty() || is_transient_parameter(parameter)) continue;
        auto& pair = values[parameter.substr(0, parameter.find('='))];
        (is_now ? pair.second : pair.first).append(parameter).push_back('&');
      }
    }
    for (const auto& [name, pair] : values) {
      if (pair.first != pair.second) add_part("?" + std::string(name));
    }
  }

  void compare_media(std::string_view before, std::string_view now) {
    for_each_pair(before, now, [&](std::string_view name, std::string_view old, std::string_view value) {
      if (name == "community" || old == value) return;  // readers' reactions
      const bool has_words = name == "restriction";
      const std::string was = has_words ? std::string(old) : with_media_types(old);
      const std::string is = has_words ? std::string(value) : with_media_types(value);
      compare_skeletons(skeleton_of_json(was), skeleton_of_json(is), false);
    });
  }

  /// In elements about the content, only signatures may be volatile.
  void compare_extensions(std::string_view before, std::string_view now) {
    for_each_pair(before, now, [&](std::string_view vocabulary, std::string_view old, std::string_view value) {
      if (old == value) return;
      for_each_pair(old, value, [&](std::string_view name, std::string_view was, std::string_view is) {
        if (was == is || change_.noticed) return;
        Comparison own;
        if (carries_content(vocabulary, name)) {
          own.compare_skeletons(skeleton_of_json(was), skeleton_of_json(is), false);
        } else {
          const std::string before_within = content_within(was), now_within = content_within(is);
          own.compare_skeletons(skeleton_of_json(before_within), skeleton_of_json(now_within), false);
        }
        change_.noticed = own.change_.noticed || !own.change_.parts.empty();
      });
    });
  }

  const bool other_rules_;
  PostChange change_;
};

}  // namespace

PostChange change_between(const Fields& stored, const Fields& read, bool other_rules) {
  Comparison comparison(other_rules);
  for (const auto& [name, value] : read) comparison.compare(name, value_of(stored, name), value);
  for (const auto& [name, before] : stored) {
    if (find_field(read, name) == nullptr) comparison.compare(name, before, {});
  }
  return comparison.take();
}

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

namespace {

constexpr std::size_t row_overhead = 4;  // two digits, a space, a line end

}  // namespace

VolatileParts::VolatileParts(std::string_view text) {
  while (!text.empty() && rows_.size() < most_bytes / row_overhead) {
    const std::string_view line = take_until(text, '\n');
    if (line.size() < row_overhead || !is_digit(line[0]) || !is_digit(line[1]) || line[2] != ' ') continue;
    rows_.push_back(
        {std::string(line.substr(3)), static_cast<unsigned>(line[0] - '0'), static_cast<unsigned>(line[1] - '0')});
  }
}

bool VolatileParts::contains(const std::string& part) const {
  const auto row = std::ranges::find(rows_, part, &Row::part);
  return row != rows_.end() && row->changed >= documents_to_learn;
}

bool VolatileParts::contains_all(const std::set<std::string>& parts) const {
  return std::ranges::all_of(parts, [this](const std::string& part) { return contains(part); });
}

std::vector<std::string> VolatileParts::parts() const {
  std::vector<std::string> learned;
  for (const Row& row : rows_) {
    if (row.changed >= documents_to_learn) learned.push_back(row.part);
  }
  return learned;
}

void VolatileParts::count(const std::set<std::string>& on_most, const std::set<std::string>& on_any) {
  for (Row& row : rows_) row.still = on_any.contains(row.part) ? 0 : row.still + 1;
  std::erase_if(rows_, [](const Row& row) { return row.still >= documents_to_forget; });
  for (const std::string& part : on_most) {
    const auto row = std::ranges::find(rows_, part, &Row::part);
    if (row != rows_.end())
      row->changed = std::min(row->changed + 1, documents_to_learn);
    else if (text().size() + part.size() + row_overhead <= most_bytes && part.find('\n') == npos)
      rows_.push_back({part, 1, 0});
  }
}

std::string VolatileParts::text() const {
  std::string text;
  for (const Row& row : rows_) {
    text.append(std::to_string(row.changed)).append(std::to_string(row.still)).append(" ");
    text.append(row.part).append("\n");
  }
  return text;
}

}  // namespace feedmill
