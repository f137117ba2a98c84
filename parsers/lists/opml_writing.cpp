// Writes lists of subscriptions; opml.cpp reads them.
#include <map>
#include <memory>

#include "parsers/lists/opml.hpp"
#include "parsers/text/escape.hpp"

namespace feedmill {
namespace {

void append_attribute_value(std::string& out, std::string_view text) {
  for (const char c : text) {
    switch (c) {
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

/// A folder on its way out. Children keep the order in which they were named.
struct Folder {
  std::string name;
  std::vector<const OpmlOutline*> outlines;
  std::vector<std::unique_ptr<Folder>> folders;
  std::map<std::string, Folder*, std::less<>> by_name;

  Folder& child(const std::string& child_name) {
    Folder*& found = by_name[child_name];
    if (found == nullptr) {
      folders.push_back(std::make_unique<Folder>());
      found = folders.back().get();
      found->name = child_name;
    }
    return *found;
  }
};

/// Recursion is as deep as folders are, which is at most max_opml_depth.
void write_folder(std::string& out, const Folder& folder, std::size_t depth) {
  const std::string indent(2 * depth, ' ');
  for (const OpmlOutline* const outline : folder.outlines) {
    out += indent + "<outline";
    for (const auto& [name, value] : outline->attributes) {
      out += " " + name + "=\"";
      append_attribute_value(out, value);
      out += '"';
    }
    out += "/>\n";
  }
  for (const auto& inner : folder.folders) {
    out += indent + "<outline text=\"";
    append_attribute_value(out, inner->name);
    out += "\">\n";
    write_folder(out, *inner, depth + 1);
    out += indent + "</outline>\n";
  }
}

}  // namespace

std::string write_opml(std::string_view title, std::string_view date_created,
                       const std::vector<std::pair<std::string, std::string>>& namespaces,
                       const std::vector<OpmlOutline>& outlines) {
  Folder top;
  for (const OpmlOutline& outline : outlines) {
    if (outline.folders.empty()) top.outlines.push_back(&outline);
    for (const std::vector<std::string>& path : outline.folders) {
      Folder* folder = &top;
      for (std::size_t i = 0; i < path.size() && i < max_opml_depth; ++i) folder = &folder->child(path[i]);
      folder->outlines.push_back(&outline);
    }
  }
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<opml version=\"2.0\"";
  for (const auto& [prefix, uri] : namespaces) {
    out += " xmlns:" + prefix + "=\"";
    append_attribute_value(out, uri);
    out += '"';
  }
  out += ">\n  <head>\n    <title>";
  append_attribute_value(out, title);
  out += "</title>\n    <dateCreated>";
  append_attribute_value(out, date_created);
  out += "</dateCreated>\n  </head>\n  <body>\n";
  write_folder(out, top, 2);
  out += "  </body>\n</opml>\n";
  return out;
}

}  // namespace feedmill
