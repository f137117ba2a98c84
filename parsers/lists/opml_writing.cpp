// Writes lists of subscriptions; opml.cpp reads them.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>

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
void write_folder(OpmlWriter& writer, const Folder& folder, std::vector<std::string>& path) {
  for (const OpmlOutline* const outline : folder.outlines) writer.row(path, outline->attributes);
  for (const auto& inner : folder.folders) {
    path.push_back(inner->name);
    write_folder(writer, *inner, path);
    path.pop_back();
  }
}

std::string indent_of(std::size_t folders) {
  return std::string(2 * (2 + folders), ' ');
}

}  // namespace

OpmlWriter::OpmlWriter(std::string_view title, std::string_view date_created,
                       const std::vector<std::pair<std::string, std::string>>& namespaces) {
  out_ = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<opml version=\"2.0\"";
  for (const auto& [prefix, uri] : namespaces) {
    out_ += " xmlns:" + prefix + "=\"";
    append_attribute_value(out_, uri);
    out_ += '"';
  }
  out_ += ">\n  <head>\n    <title>";
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
  for (const auto& [name, value] : attributes) {
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
  OpmlWriter writer(title, date_created, namespaces);
  std::vector<std::string> path;
  write_folder(writer, top, path);
  writer.end();
  return writer.take();
}

}  // namespace feedmill
