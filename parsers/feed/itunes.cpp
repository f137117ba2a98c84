// Apple's podcast namespace.
#include "parsers/feed/fields.hpp"
#include "parsers/text/date.hpp"
#include "parsers/text/strings.hpp"
#include "parsers/text/url.hpp"

namespace feedmill {
namespace {

constexpr std::string_view itunes_scheme = "http://www.itunes.com/";

Itunes& itunes_of(const Reading& in) {
  return place_of(in, in.target.common.itunes);
}

template <std::string Itunes::*field>
bool read_string(const Reading& in) {
  std::string& value = itunes_of(in).*field;
  if (value.empty()) value = in.text();
  return true;
}

template <std::optional<std::int64_t> Itunes::*field>
bool read_number(const Reading& in) {
  auto& value = itunes_of(in).*field;
  if (!value) value = parse_integer(in.text());
  return value.has_value();
}

// Apple: any value other than the word itself has no effect. Written small or with a capital, nothing around it.
bool says(const Reading& in, std::string_view word) {
  const std::string_view value = in.node.child_value();
  return value.size() == word.size() && to_lower(value[0]) == word[0] && value.substr(1) == word.substr(1);
}

template <std::optional<bool> Itunes::*field>
bool read_yes(const Reading& in) {
  itunes_of(in).*field = says(in, "yes");
  return true;
}

bool read_itunes_title(const Reading& in) {
  read_string<&Itunes::title>(in);
  read_title(in);
  return true;
}

// Another word goes to the extensions.
bool read_itunes_type(const Reading& in) {
  const std::string type = lower(in.text());
  if (type != "episodic" && type != "serial") return false;
  if (std::string& held = itunes_of(in).type; held.empty()) held = type;
  return true;
}

bool read_itunes_author(const Reading& in) {
  read_string<&Itunes::author>(in);
  add_author(in, parse_person(in.text()), AuthorIs::stand_in);
  return true;
}

bool read_itunes_summary(const Reading& in) {
  read_string<&Itunes::summary>(in);
  if (in.target.entry != nullptr) {
    read_summary(in);
  } else {
    read_subtitle(in);
  }
  return true;
}

bool read_itunes_subtitle(const Reading& in) {
  read_string<&Itunes::subtitle>(in);
  if (in.target.entry == nullptr) read_subtitle(in);
  return true;
}

bool read_explicit(const Reading& in) {
  const bool yes = says(in, "yes") || says(in, "true") || says(in, "explicit");
  const bool no = says(in, "no") || says(in, "false") || says(in, "clean");
  itunes_of(in).explicit_ = yes ? Itunes::Explicit::yes : no ? Itunes::Explicit::no : Itunes::Explicit::other;
  return true;
}

bool read_itunes_duration(const Reading& in) {
  Itunes& itunes = itunes_of(in);
  itunes.duration_raw = in.text();
  itunes.duration = parse_duration(itunes.duration_raw);
  return true;
}

bool read_itunes_image(const Reading& in) {
  std::string url = in.url("href");
  if (url.empty()) url = in.url("url");
  if (url.empty()) url = in.url();
  if (url.empty()) {
    for (const pugi::xml_node child : ChildElements(in.node)) {
      if (url.empty()) url = in.xml.url(in.xml.text(child));
    }
  }
  if (url.empty()) return true;
  Itunes& itunes = itunes_of(in);
  if (itunes.image.empty()) {
    itunes.image = url;
    in.xml.allowance().take(url);
  }
  if (in.target.take(Slot::image, in.rank)) {
    Image image;
    image.url = std::move(url);
    place_of(in, in.target.common.image) = std::move(image);
  }
  return true;
}

bool read_keywords(const Reading& in) {
  std::string text = in.text();
  if (text.empty()) text = in.attribute("text");
  const char separator = text.find(',') != std::string::npos ? ',' : ' ';
  std::string_view rest = text;
  Itunes& itunes = itunes_of(in);
  while (!rest.empty() && itunes.keywords.size() < 256) {
    const std::string_view word = trim(take_until(rest, separator));
    if (word.empty()) continue;
    append(in, itunes.keywords, std::string(word));
    in.xml.allowance().take(itunes.keywords.back());
    add_category(in.xml.allowance(), in.target.common.categories, std::string(word), std::string(itunes_scheme), {});
  }
  return true;
}

// The element after `node` inside of `top`, in document order; none at the end.
pugi::xml_node next_inside(pugi::xml_node top, pugi::xml_node node) {
  pugi::xml_node next = node.first_child();
  while (true) {
    while (next && next.type() != pugi::node_element) next = next.next_sibling();
    if (next || node == top) return next;
    next = node.next_sibling();
    node = node.parent();
  }
}

std::string category_text(XmlDocument& xml, pugi::xml_node node) {
  std::string text = xml.attribute(node, "text");
  return text.empty() ? xml.text(node) : text;
}

// Two levels are all that Apple knows; deeper ones count as the second.
bool read_itunes_category(const Reading& in) {
  ItunesCategory category;
  category.text = category_text(in.xml, in.node);
  add_category(in.xml.allowance(), in.target.common.categories, category.text, std::string(itunes_scheme), {});
  for (pugi::xml_node child = next_inside(in.node, in.node); child; child = next_inside(in.node, child)) {
    if (category.categories.size() >= 64) break;
    ItunesCategory inner;
    inner.text = category_text(in.xml, child);
    if (inner.text.empty()) continue;
    add_category(in.xml.allowance(), in.target.common.categories, inner.text, std::string(itunes_scheme), {});
    append(in, category.categories, std::move(inner));
  }
  if (!category.text.empty() && itunes_of(in).categories.size() < 64) {
    append(in, itunes_of(in).categories, std::move(category));
  }
  return true;
}

bool read_owner(const Reading& in) {
  Person person = read_person(in);
  if (person == Person{}) return true;
  itunes_of(in).owner = person;
  if (in.target.take(Slot::publisher, in.rank)) place_of(in, in.target.common.publisher) = std::move(person);
  return true;
}

constexpr ElementRow itunes_elements[] = {
    {Ns::itunes, "author", read_itunes_author, 4},
    {Ns::itunes, "title", read_itunes_title, 3},
    {Ns::itunes, "subtitle", read_itunes_subtitle, 5},
    {Ns::itunes, "summary", read_itunes_summary, 4},
    {Ns::itunes, "block", read_yes<&Itunes::block>},
    {Ns::itunes, "complete", read_yes<&Itunes::complete>},
    {Ns::itunes, "explicit", read_explicit},
    {Ns::itunes, "duration", read_itunes_duration},
    {Ns::itunes, "image", read_itunes_image, 5},
    {Ns::itunes, "link", read_itunes_image, 6},
    {Ns::itunes, "keywords", read_keywords},
    {Ns::itunes, "category", read_itunes_category},
    {Ns::itunes, "owner", read_owner, 2},
    {Ns::itunes, "episode", read_number<&Itunes::episode>},
    {Ns::itunes, "season", read_number<&Itunes::season>},
    {Ns::itunes, "order", read_number<&Itunes::order>},
    {Ns::itunes, "episodetype", read_string<&Itunes::episode_type>},
    {Ns::itunes, "type", read_itunes_type},
    {Ns::itunes, "new-feed-url", read_string<&Itunes::new_feed_url>},
};

}  // namespace

std::span<const ElementRow> itunes_rows() {
  return itunes_elements;
}

}  // namespace feedmill
