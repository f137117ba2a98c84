#include "parsers/markup/xml.hpp"

#include <algorithm>
#include <cstring>

#include "parsers/text/charset.hpp"
#include "parsers/text/entities.hpp"
#include "parsers/text/limits.hpp"
#include "parsers/text/strings.hpp"

namespace feedmill {
namespace {

// We decode references ourselves; charset decoding has already made line ends LF.
constexpr unsigned parse_options = pugi::parse_minimal | pugi::parse_cdata;

// Position of the ">" that ends the tag at `at`, respecting quotes; npos if there is none.
std::size_t tag_end(std::string_view text, std::size_t at) {
  char quote = '\0';
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '>') {
      return at;
    }
  }
  return std::string_view::npos;
}

}  // namespace

XmlDocument::XmlDocument(std::string_view text, std::string buffer, std::vector<DeclaredEntity> entities, bool mojibake,
                         Allowance& allowance)
    : text_(text),
      allowance_(allowance),
      entities_(std::move(entities)),
      expansion_left_(text.size() + 65536),
      buffer_(std::move(buffer)),
      mojibake_(mojibake) {
  // Of equal names the first is used.
  std::ranges::stable_sort(entities_, {}, &DeclaredEntity::name);
  if (!tree_.load_buffer_inplace(buffer_.data(), buffer_.size(), parse_options, pugi::encoding_utf8) &&
      !tree_.first_child()) {
    return;
  }
  for (pugi::xml_node node = tree_.first_child(); node && !root_; node = node.next_sibling()) {
    if (node.type() == pugi::node_element) root_ = node;
  }
}

void XmlDocument::set_core(Ns vocabulary) {
  core_ = vocabulary;
  const XmlName root = name(root_);
  root_has_uri_ = !root.uri.empty();
  root_uri_ = root.uri;
}

XmlName XmlDocument::resolve(std::string_view qualified, bool element) const {
  XmlName result;
  const std::size_t colon = qualified.find(':');
  result.local = qualified;
  if (colon != std::string_view::npos) {
    result.prefix = qualified.substr(0, colon);
    result.local = qualified.substr(colon + 1);
  } else if (!element) {
    return result;
  }
  if (const Binding* binding = find_binding(result.prefix)) {
    result.uri = binding->uri;
    result.known = binding->known;
    result.ns = binding->uri.empty() ? Ns::core : binding->known != nullptr ? binding->known->ns : Ns::unknown;
  }
  if (result.uri.empty() && !result.prefix.empty()) {
    result.known = find_usual_prefix(result.prefix);  // not declared: bozo, but read anyway
    result.ns = result.known != nullptr ? result.known->ns : Ns::unknown;
    if (result.known != nullptr) result.uri = result.known->uri;
  }
  if (element && (result.ns == core_ || (root_has_uri_ && result.uri == root_uri_))) result.ns = Ns::core;
  return result;
}

void XmlDocument::bind(std::string_view prefix, std::string_view uri) {
  std::size_t& innermost = innermost_[prefix];
  bindings_.push_back({prefix, uri, find_namespace(uri, prefix), innermost});
  innermost = bindings_.size();
}

void XmlDocument::unbind(std::size_t left) {
  for (; bindings_.size() > left; bindings_.pop_back()) {
    const Binding& gone = bindings_.back();
    if (gone.outer == 0) {
      innermost_.erase(gone.prefix);
    } else {
      innermost_[gone.prefix] = gone.outer;
    }
  }
}

const XmlDocument::Binding* XmlDocument::find_binding(std::string_view prefix) const {
  if (bindings_.size() > 8) {
    const auto found = innermost_.find(prefix);
    return found == innermost_.end() ? nullptr : &bindings_[found->second - 1];
  }
  for (std::size_t i = bindings_.size(); i > 0; --i) {  // faster than the map for a few bindings
    if (bindings_[i - 1].prefix == prefix) return &bindings_[i - 1];
  }
  return nullptr;
}

const DeclaredEntity* XmlDocument::find_entity(std::string_view name) const {
  const auto found = std::ranges::lower_bound(entities_, name, {}, &DeclaredEntity::name);
  return found == entities_.end() || found->name != name ? nullptr : &*found;
}

bool XmlDocument::append_text(std::string& out, std::string_view raw) const {
  if (!allowance_.affords(2 * (out.size() + raw.size()))) return false;
  std::size_t at = raw.find('&');
  if (at == std::string_view::npos) {
    out.append(raw);
    return false;
  }
  // Writes through a pointer, because escaped markup has a reference every few bytes. Only named references grow when
  // decoded, to at most 6/5 of their length; declared entities reserve their own room.
  bool latin = false;
  std::size_t used = out.size();
  out.resize(used + raw.size() + raw.size() / 4 + 16);
  std::string decoded;
  for (at = 0; at < raw.size();) {
    const std::size_t copied = copy_until(out.data() + used, raw.substr(at), '&');
    used += copied;
    at += copied;
    if (at == raw.size()) break;
    const std::string_view rest = raw.substr(at);
    if (const char c = predefined_entity(rest); c != '\0') {  // nearly all references are predefined
      out[used++] = c;
      at += predefined_length(c);
      continue;
    }
    decoded.clear();
    std::size_t length = decode_other(decoded, rest, latin);
    if (length == 0) {
      decoded = '&';
      length = 1;
    }
    at += length;
    const std::size_t left = raw.size() - at;
    const std::size_t wanted = used + decoded.size() + left + left / 4 + 16;
    if (wanted > out.size()) out.resize(wanted + decoded.size());
    std::memcpy(out.data() + used, decoded.data(), decoded.size());
    used += decoded.size();
  }
  out.resize(used);
  return latin;
}

void XmlDocument::append_verbatim(std::string& out, std::string_view raw) const {
  if (allowance_.affords(2 * (out.size() + raw.size()))) out += raw;
}

std::size_t XmlDocument::decode_other(std::string& out, std::string_view text, bool& latin) const {
  const Reference reference = read_reference(text);
  if (!reference.closed) return 0;
  if (reference.numeric) {
    // The number may be a byte of UTF-8, for repair_mojibake() to decide; otherwise it is windows-1252.
    const bool is_latin = reference.written >= 0x80 && reference.written < 0x100;
    const std::uint32_t code = is_latin ? reference.written : reference.code;
    if (code != 0) append_utf8(out, code);
    latin = latin || is_latin;
  } else if (const DeclaredEntity* declared = entities_.empty() ? nullptr : find_entity(reference.name)) {
    if (declared->value.size() > expansion_left_) return 0;  // an entity bomb: the rest stays as written (SECURITY T13)
    expansion_left_ -= declared->value.size();
    append_decoded(out, declared->value);
  } else if (!reference.value.empty()) {
    out = reference.value;
  } else {
    return 0;
  }
  return reference.length;
}

void XmlDocument::charge(const std::string& value, std::size_t steps) const {
  allowance_.step(steps + value.size() / 8);
  allowance_.take(value);
}

void XmlDocument::repair(std::string& value) const {
  if (mojibake_) repair_mojibake(value);
}

std::string XmlDocument::text(pugi::xml_node element) const {
  for (pugi::xml_node child = element.first_child(); child; child = child.next_sibling()) {
    if (child.type() == pugi::node_element) return deep_text(element);
  }
  return own_text(element);
}

std::string XmlDocument::own_text(pugi::xml_node element) const {
  std::string out;
  if (allowance_.spent()) return out;
  std::size_t steps = 1;
  bool latin = mojibake_;
  for (pugi::xml_node child = element.first_child(); child; child = child.next_sibling()) {
    ++steps;
    // Leading space is skipped here, to avoid moving the text later.
    const char* raw = child.value();
    while (out.empty() && is_space(*raw)) ++raw;
    if (child.type() == pugi::node_pcdata) {
      latin |= append_text(out, raw);
    } else if (child.type() == pugi::node_cdata) {
      append_verbatim(out, raw);
    }
  }
  trim_in_place(out);
  if (latin) repair_mojibake(out);
  charge(out, steps);
  return out;
}

std::string XmlDocument::deep_text(pugi::xml_node element) const {
  std::string out;
  if (allowance_.spent()) return out;
  std::size_t steps = 1;
  bool latin = mojibake_;
  pugi::xml_node node = element;
  do {
    ++steps;
    if (node.type() == pugi::node_pcdata) {
      latin |= append_text(out, node.value());
    } else if (node.type() == pugi::node_cdata) {
      append_verbatim(out, node.value());
    }
    if (node.first_child()) {
      node = node.first_child();
    } else {
      while (node != element && !node.next_sibling()) node = node.parent();
      if (node != element) node = node.next_sibling();
    }
  } while (node != element);
  trim_in_place(out);
  if (latin) repair_mojibake(out);
  charge(out, steps);
  return out;
}

std::string_view XmlDocument::source(pugi::xml_node element) const {
  const std::ptrdiff_t start = element.offset_debug();
  if (start < 0) return {};
  pugi::xml_node last = element;  // the outermost element that ends with this one
  while (last && !last.next_sibling()) last = last.parent();
  const std::ptrdiff_t next = last ? last.next_sibling().offset_debug() : static_cast<std::ptrdiff_t>(text_.size());
  if (next < start) return {};
  const auto from = static_cast<std::size_t>(start);
  const std::string_view whole = text_.substr(from, static_cast<std::size_t>(next) - from);
  return whole.substr(0, whole.rfind("</" + std::string(element.name())));
}

std::string_view XmlDocument::start_tag(pugi::xml_node element) const {
  const std::ptrdiff_t start = element.offset_debug(), inside = element.first_child().offset_debug();
  if (start < 0 || inside < start) return {};
  return text_.substr(static_cast<std::size_t>(start), static_cast<std::size_t>(inside - start));
}

std::string_view XmlDocument::inner(pugi::xml_node element) const {
  const std::ptrdiff_t offset = element.offset_debug();
  if (offset < 0) return {};
  const std::size_t open = tag_end(text_, static_cast<std::size_t>(offset));
  if (open == std::string_view::npos || text_[open - 1] == '/') return {};
  const std::size_t start = open + 1;
  std::size_t depth = 1;
  std::size_t at = start;
  while ((at = text_.find('<', at)) != std::string_view::npos) {
    const std::string_view rest = text_.substr(at);
    std::size_t next = std::string_view::npos;
    if (rest.starts_with("</")) {
      if (--depth == 0) return text_.substr(start, at - start);
      next = text_.find('>', at);
    } else if (rest.starts_with("<!--")) {
      next = text_.find("-->", at + 4);
    } else if (rest.starts_with("<![CDATA[")) {
      next = text_.find("]]>", at + 9);
    } else if (rest.starts_with("<?")) {
      next = text_.find("?>", at + 2);
    } else {
      next = tag_end(text_, at);
      if (next != std::string_view::npos && text_[next - 1] != '/') ++depth;
    }
    if (next == std::string_view::npos) break;
    at = next + 1;
  }
  return text_.substr(start);
}

std::string XmlDocument::value(pugi::xml_attribute attribute) const {
  std::string out;
  if (allowance_.spent()) return out;
  const bool latin = append_text(out, attribute.value()) || mojibake_;
  for (char& c : out) {
    if (c == '\n' || c == '\t') c = ' ';  // XML §3.3.3
  }
  trim_in_place(out);
  if (latin) repair_mojibake(out);
  charge(out, 1);
  return out;
}

std::string XmlDocument::attribute(pugi::xml_node element, std::string_view local) const {
  for (pugi::xml_attribute a = element.first_attribute(); a; a = a.next_attribute()) {
    allowance_.step(1);
    if (iequals(a.name(), local)) return value(a);
  }
  return {};
}

bool XmlDocument::has_attribute(pugi::xml_node element, std::string_view local) const {
  for (pugi::xml_attribute a = element.first_attribute(); a; a = a.next_attribute()) {
    if (iequals(a.name(), local)) return true;
  }
  return false;
}

std::string XmlDocument::attribute(pugi::xml_node element, Ns ns, std::string_view local) const {
  for (pugi::xml_attribute a = element.first_attribute(); a; a = a.next_attribute()) {
    const std::string_view qualified = a.name();
    if (qualified.size() <= local.size() || !iequals(qualified.substr(qualified.size() - local.size()), local))
      continue;
    const XmlName resolved = name(a);
    if (resolved.ns == ns && iequals(resolved.local, local)) return value(a);
  }
  return {};
}

std::string XmlDocument::url(std::string_view reference) const {
  reference = trim(reference);
  if (reference.empty() || allowance_.spent()) return {};
  const bool path = reference[0] == '/' || reference[0] == '.' || reference[0] == '?';
  const UrlBase& base = effective_base().empty() && path ? site_ : effective_base();
  std::string url = base.resolve_safe(reference);
  charge(url, 4 + reference.size() / 8);
  return url;
}

std::string XmlDocument::url_beside_document(std::string_view reference) const {
  if (!base_.empty() || address_.empty() || allowance_.spent()) return url(reference);
  std::string url = trim(reference).empty() ? *address_.url() : address_.resolve_safe(trim(reference));
  charge(url, 4 + reference.size() / 8);
  return url;
}

void XmlDocument::set_address(std::string address) {
  if (address.size() <= limits::url) address_ = UrlBase(std::move(address));
}

void XmlDocument::set_document_base(std::string base) {
  if (base.size() <= limits::url) document_base_ = UrlBase(std::move(base));
}

void XmlDocument::set_site(std::string site) {
  if (site.size() <= limits::url) site_ = UrlBase(std::move(site));
}

void XmlDocument::set_declarations(const std::vector<NamespaceDeclaration>& found) {
  for (const NamespaceDeclaration& declaration : found) {
    const bool known = std::any_of(declarations_.begin(), declarations_.end(),
                                   [&](const auto& held) { return held.first == declaration.prefix; });
    const bool fits = declaration.prefix.size() <= limits::word && declaration.uri.size() <= limits::url;
    if (!known && fits) declarations_.emplace_back(declaration.prefix, trim(declaration.uri));
  }
}

XmlDocument::Scope::Scope(XmlDocument& document, pugi::xml_node element)
    : document_(document), bindings_(document.bindings_.size()) {
  for (pugi::xml_attribute a = element.first_attribute(); a; a = a.next_attribute()) {
    const char* qualified = a.name();
    if (qualified[0] != 'x' && qualified[0] != 'X') continue;
    const std::string_view key = qualified;
    if (key == "xmlns" || key.starts_with("xmlns:")) {
      document.bind(key.size() > 6 ? key.substr(6) : std::string_view{}, trim(a.value()));
    } else if (iequals(key, "xml:base")) {
      std::string base = document.effective_base().resolve(document.value(a));
      // A base such as "mailto:a" or "http:a" cannot resolve anything.
      if (base.size() > limits::url || !is_safe_url(base) || !split_url(base).has_authority || base_changed_) continue;
      document.allowance_.take(2 * base.size() + sizeof(UrlBase));
      document.allowance_.step(base.size() / 4);
      base_changed_ = true;
      outer_base_ = std::exchange(document.base_, UrlBase(std::move(base)));
    } else if (iequals(key, "xml:lang")) {
      std::string language = document.value(a);
      language.resize(utf8_prefix(language, limits::word).size());
      language.shrink_to_fit();
      std::replace(language.begin(), language.end(), '_', '-');
      if (language_changed_) continue;
      language_changed_ = true;
      outer_language_ = std::exchange(document.language_, SharedText(std::move(language)));
    }
  }
}

XmlDocument::Scope::~Scope() {
  document_.unbind(bindings_);
  if (base_changed_) document_.base_ = std::move(outer_base_);
  if (language_changed_) document_.language_ = std::move(outer_language_);
}

}  // namespace feedmill
