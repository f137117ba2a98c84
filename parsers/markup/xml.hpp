// The XML document that the format readers work on: pugixml's tree with resolved namespaces, decoded text, the xml:base
// and xml:lang in force, and the source text of elements.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <pugixml.hpp>

#include "parsers/markup/namespaces.hpp"
#include "parsers/markup/well_formed.hpp"
#include "parsers/text/allowance.hpp"
#include "parsers/text/url.hpp"

namespace feedmill {

/// Name of an element or attribute. The views are valid until the document is destroyed.
struct XmlName {
  Ns ns = Ns::core;
  std::string_view local;
  std::string_view prefix;              ///< as written, "" if there is none
  std::string_view uri;                 ///< "" for no namespace
  const NamespaceRow* known = nullptr;  ///< set if the namespace is known
};

/// A parsed document, and the namespaces, base and language in force at the element being read.
class XmlDocument {
 public:
  /// Builds the tree from `buffer`, a copy of `text`. `text` is properly nested (well_formed.hpp, salvage.hpp) and must
  /// outlive this object. `entities`: replacement texts of declared entities. `mojibake`: values may have been encoded
  /// twice and are repaired (charset.hpp). `allowance` must outlive this object. All reads are charged to it; once it
  /// is spent, texts and URLs are "".
  XmlDocument(std::string_view text, std::string buffer, std::vector<DeclaredEntity> entities, bool mojibake,
              Allowance& allowance);

  bool loaded() const { return static_cast<bool>(root_); }
  Allowance& allowance() const { return allowance_; }
  pugi::xml_node root() const { return root_; }

  /// Treats names in a namespace of `vocabulary` (Ns::rss or Ns::atom), in the root's namespace or in none as Ns::core.
  void set_core(Ns vocabulary);

  XmlName name(pugi::xml_node element) const { return resolve(element.name(), true); }
  XmlName name(pugi::xml_attribute attribute) const { return resolve(attribute.name(), false); }

  /// The text directly inside an element, decoded and trimmed.
  std::string own_text(pugi::xml_node element) const;
  /// own_text(), or deep_text() if there are child elements; for elements that should hold only text.
  std::string text(pugi::xml_node element) const;
  /// The decoded text of an element and all its descendants, trimmed.
  std::string deep_text(pugi::xml_node element) const;
  /// Source text of an element with its content, starting at its name; the end tag may be missing, and comments after
  /// it may be included. "" if it cannot be determined. Linear for all elements of a document together.
  std::string_view source(pugi::xml_node element) const;
  /// Source text of a non-empty element's start tag, from its name up to its first child.
  std::string_view start_tag(pugi::xml_node element) const;
  /// Source text between the element's tags.
  std::string_view inner(pugi::xml_node element) const;

  /// The decoded, trimmed value of an attribute without prefix, or in a namespace; "" if absent. Ignores the case of
  /// names.
  std::string attribute(pugi::xml_node element, std::string_view local) const;
  std::string attribute(pugi::xml_node element, Ns ns, std::string_view local) const;
  bool has_attribute(pugi::xml_node element, std::string_view local) const;
  /// The decoded, trimmed value of `attribute`.
  std::string value(pugi::xml_attribute attribute) const;

  /// Undoes double encoding in a value taken from inner().
  void repair(std::string& value) const;

  /// base(): the xml:base in force, absolute, safe and at most limits::url long; "" if there is none. language(): the
  /// xml:lang in force with "-" for "_", at most limits::word long; "" if there is none. Capped because many texts
  /// inherit them (SECURITY L5).
  const SharedText& base() const { return base_.url(); }
  const SharedText& language() const { return language_; }
  /// Sets the URL that the document was fetched from. Ignored if longer than limits::url.
  void set_address(std::string address);
  /// Sets the base of relative URLs where no xml:base is in force: the document's own URL, or its page's. Ignored if
  /// longer than limits::url.
  void set_document_base(std::string base);
  const std::string& document_base() const { return document_base_.url(); }
  const std::string& site() const { return site_.url(); }
  /// Whether the document declares entities; an element's source alone then does not determine its content.
  bool has_entities() const { return !entities_.empty(); }
  /// `base()`, or the document base if there is none.
  const UrlBase& effective_base() const { return base_.empty() ? document_base_ : base_; }
  /// Sets the site's page: the base of paths ("/a", "../a") if neither xml:base nor the document base is known.
  void set_site(std::string site);
  /// `reference` resolved as far as the bases allow; "" if the result is not safe.
  std::string url(std::string_view reference) const;
  /// url() for links between documents (self, hub, next): relative to the document's URL rather than the feed's page
  /// (RFC 3986 §5.1).
  std::string url_beside_document(std::string_view reference) const;

  /// Records an item found inside a foreign element that is being kept as an extension; such items are read last.
  void note_stray_item(pugi::xml_node item) const {
    if (stray_items_.size() < 1024) stray_items_.push_back(item);
  }
  std::vector<pugi::xml_node> take_stray_items() { return std::exchange(stray_items_, {}); }

  /// All namespace declarations of the document in order; of equal prefixes only the first.
  const std::vector<std::pair<std::string, std::string>>& declarations() const { return declarations_; }
  void set_declarations(const std::vector<NamespaceDeclaration>& found);

  /// Puts the element's xmlns, xml:base and xml:lang in force while it lives. Scopes nest like elements.
  class Scope {
   public:
    Scope(XmlDocument& document, pugi::xml_node element);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    XmlDocument& document_;
    std::size_t bindings_;
    bool base_changed_ = false, language_changed_ = false;
    UrlBase outer_base_;
    SharedText outer_language_;
  };

 private:
  struct Binding {
    std::string_view prefix, uri;
    const NamespaceRow* known;
    std::size_t outer;  // outer binding of this prefix, from 1; 0: none
  };

  void bind(std::string_view prefix, std::string_view uri);
  void unbind(std::size_t left);
  const Binding* find_binding(std::string_view prefix) const;

  XmlName resolve(std::string_view qualified, bool element) const;
  const DeclaredEntity* find_entity(std::string_view name) const;
  // Appends decoded text; true if a numeric reference stands for a character between U+0080 and U+00FF.
  bool append_text(std::string& out, std::string_view raw) const;
  void append_verbatim(std::string& out, std::string_view raw) const;
  void charge(const std::string& value, std::size_t steps) const;
  // Decodes a reference other than XML's five and returns its length; 0 if it stays as written.
  std::size_t decode_other(std::string& out, std::string_view text, bool& latin) const;

  std::string_view text_;
  Allowance& allowance_;
  std::vector<DeclaredEntity> entities_;  // sorted by name
  mutable std::size_t expansion_left_;    // bytes that declared entities may still add
  std::string buffer_;
  bool mojibake_;
  pugi::xml_document tree_;
  pugi::xml_node root_;
  Ns core_ = Ns::core;
  std::string_view root_uri_;
  bool root_has_uri_ = false;
  std::vector<Binding> bindings_;
  std::unordered_map<std::string_view, std::size_t> innermost_;  // prefix → its binding in force, from 1
  UrlBase base_, address_, document_base_, site_;
  SharedText language_;
  std::vector<std::pair<std::string, std::string>> declarations_;
  mutable std::vector<pugi::xml_node> stray_items_;
};

/// The child elements of an element, for range-for.
class ChildElements {
 public:
  explicit ChildElements(pugi::xml_node parent) : first_(skip(parent.first_child())) {}
  class Iterator {
   public:
    explicit Iterator(pugi::xml_node at) : at_(at) {}
    pugi::xml_node operator*() const { return at_; }
    Iterator& operator++() {
      at_ = skip(at_.next_sibling());
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    pugi::xml_node at_;
  };
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(pugi::xml_node{}); }
  bool empty() const { return !first_; }

 private:
  static pugi::xml_node skip(pugi::xml_node node) {
    while (node && node.type() != pugi::node_element) node = node.next_sibling();
    return node;
  }
  pugi::xml_node first_;
};

}  // namespace feedmill
