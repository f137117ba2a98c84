// An XML document as the format readers see it: pugixml's tree with names resolved by namespace, text decoded,
// xml:base and xml:lang in force, and the source text of what is inside an element.
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

/// An element's or attribute's name. Views live as long as the document.
struct XmlName {
  Ns ns = Ns::core;
  std::string_view local;
  std::string_view prefix;              ///< as written, "" if none
  std::string_view uri;                 ///< "" for no namespace
  const NamespaceRow* known = nullptr;  ///< set when the namespace is one that we know
};

class XmlDocument {
 public:
  /// Builds the tree from `buffer`, a copy of `text`, which is nested properly (well_formed.hpp, salvage.hpp) and must
  /// outlive this. `entities`: replacement texts of declared entities.
  /// `mojibake`: values may hold text that was encoded twice, and are repaired (charset.hpp).
  /// `allowance` must outlive this. All that is read here takes from it; once it is spent texts and URLs are "".
  XmlDocument(std::string_view text, std::string buffer, std::vector<DeclaredEntity> entities, bool mojibake,
              Allowance& allowance);

  bool loaded() const { return static_cast<bool>(root_); }
  Allowance& allowance() const { return allowance_; }
  pugi::xml_node root() const { return root_; }

  /// Makes the namespaces of a vocabulary (Ns::rss or Ns::atom), the root's own one and none count as Ns::core.
  void set_core(Ns vocabulary);

  XmlName name(pugi::xml_node element) const { return resolve(element.name(), true); }
  XmlName name(pugi::xml_attribute attribute) const { return resolve(attribute.name(), false); }

  /// The text directly inside an element, references decoded, trimmed.
  std::string own_text(pugi::xml_node element) const;
  /// The same for an element that should hold text only; with elements inside, deep_text.
  std::string text(pugi::xml_node element) const;
  /// The text of the element and of all inside it, trimmed.
  std::string deep_text(pugi::xml_node element) const;
  /// An element with all that is in it as source text, from its name on: its end tag may be missing, and comments that
  /// stand behind it may be there. Of all elements of a document together, linear. "" when it cannot be told.
  std::string_view source(pugi::xml_node element) const;
  /// The start tag of an element that has something in it, from its name on, up to what it has first.
  std::string_view start_tag(pugi::xml_node element) const;
  /// What stands between the element's tags, as source text.
  std::string_view inner(pugi::xml_node element) const;

  /// The value of an attribute without prefix, references decoded, trimmed; "" if absent. Names ignore case.
  std::string attribute(pugi::xml_node element, std::string_view local) const;
  std::string attribute(pugi::xml_node element, Ns ns, std::string_view local) const;
  bool has_attribute(pugi::xml_node element, std::string_view local) const;
  std::string value(pugi::xml_attribute attribute) const;

  /// Undoes double encoding in a value taken from inner().
  void repair(std::string& value) const;

  /// xml:base in force, absolute, safe and at most limits::url long; "" if none. xml:lang in force with "-" for "_", at
  /// most limits::word long; "" if none. Many texts inherit them: caps are where they enter (SECURITY L5).
  const SharedText& base() const { return base_.url(); }
  const SharedText& language() const { return language_; }
  /// Where the document came from. Not one longer than limits::url.
  void set_address(std::string address);
  /// What xml:base is resolved against where no outer one is: the document's own address, or its page's. Not one longer
  /// than limits::url.
  void set_document_base(std::string base);
  const std::string& document_base() const { return document_base_.url(); }
  const std::string& site() const { return site_.url(); }
  /// Whether the document declares entities of its own: what an element says is not all in its source then.
  bool has_entities() const { return !entities_.empty(); }
  /// `base()`, or the document's own when there is none.
  const UrlBase& effective_base() const { return base_.empty() ? document_base_ : base_; }
  /// The site's own page: what paths ("/a", "../a") resolve against when neither of the two is known.
  void set_site(std::string site);
  /// `reference` as an absolute, safe URL as far as the bases above allow; "" when it is none.
  std::string url(std::string_view reference) const;
  /// The same of links between documents (self, hub, next), which the page of the feed is no base of (RFC 3986 §5.1).
  std::string url_beside_document(std::string_view reference) const;

  /// Items that were met inside of foreign elements: noted while these are kept as extensions, read at the end.
  void note_stray_item(pugi::xml_node item) const {
    if (stray_items_.size() < 1024) stray_items_.push_back(item);
  }
  std::vector<pugi::xml_node> take_stray_items() { return std::exchange(stray_items_, {}); }

  /// Every namespace declaration of the document, in order, the first of equal prefixes only.
  const std::vector<std::pair<std::string, std::string>>& declarations() const { return declarations_; }
  void set_declarations(const std::vector<NamespaceDeclaration>& found);

  /// While it lives, the element's xmlns, xml:base and xml:lang are in force. Scopes nest like elements.
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
    std::size_t outer;  // the binding of the same prefix outside, from 1; 0: none
  };

  void bind(std::string_view prefix, std::string_view uri);
  void unbind(std::size_t left);
  const Binding* find_binding(std::string_view prefix) const;

  XmlName resolve(std::string_view qualified, bool element) const;
  const DeclaredEntity* find_entity(std::string_view name) const;
  // True when a reference brought in a character between U+0080 and U+00FF.
  bool append_text(std::string& out, std::string_view raw) const;
  void append_verbatim(std::string& out, std::string_view raw) const;
  void charge(const std::string& value, std::size_t steps) const;
  // Decodes a reference that is none of XML's own five; 0 when it stays as it is.
  std::size_t decode_other(std::string& out, std::string_view text, bool& latin) const;

  std::string_view text_;
  Allowance& allowance_;
  std::vector<DeclaredEntity> entities_;  // sorted by name
  mutable std::size_t expansion_left_;    // how much text declared entities may still bring in
  std::string buffer_;
  bool mojibake_;
  pugi::xml_document tree_;
  pugi::xml_node root_;
  Ns core_ = Ns::core;
  std::string_view root_uri_;
  bool root_has_uri_ = false;
  std::vector<Binding> bindings_;
  std::unordered_map<std::string_view, std::size_t> innermost_;  // of each prefix the binding in force, from 1
  UrlBase base_, address_, document_base_, site_;
  SharedText language_;
  std::vector<std::pair<std::string, std::string>> declarations_;
  mutable std::vector<pugi::xml_node> stray_items_;
};

/// The elements directly inside another, for range-for.
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
