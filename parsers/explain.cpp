#include "parsers/explain.hpp"

#include <algorithm>

#include "parsers/document_json.hpp"

namespace feedmill {
namespace {

std::string_view meaning(Flaw flaw) {
  switch (flaw) {
    case Flaw::encoding:
      return "bytes that did not decode, or characters that XML forbids; replaced or dropped";
    case Flaw::entity:
      return "entities that nothing defines; read as HTML's, or left as text";
    case Flaw::namespace_:
      return "prefixes without declaration; read as their usual namespaces";
    case Flaw::structure:
      return "not well-formed; elements were closed and stray text escaped (SECURITY L1)";
    case Flaw::date:
      return "dates that could not be read; kept as text only";
    case Flaw::url:
      return "URLs that are too long or unsafe; dropped";
    case Flaw::duplicate_guid:
      return "entries under the guid of another; told apart by their links";
    case Flaw::missing_guid:
      return "entries without guid; identified by link, else by a digest";
    case Flaw::truncated:
      return "values or lists longer than the caps; cut";
    case Flaw::other:
      break;
  }
  return "other faults";
}

std::string counted(std::size_t count, std::string_view what) {
  std::string line = std::to_string(count);
  line.append(" ").append(what);
  return line;
}

}  // namespace

std::string_view flaw_name(Flaw flaw) {
  switch (flaw) {
    case Flaw::encoding:
      return "encoding";
    case Flaw::entity:
      return "entity";
    case Flaw::namespace_:
      return "namespace";
    case Flaw::structure:
      return "structure";
    case Flaw::date:
      return "date";
    case Flaw::url:
      return "url";
    case Flaw::duplicate_guid:
      return "duplicate_guid";
    case Flaw::missing_guid:
      return "missing_guid";
    case Flaw::truncated:
      return "truncated";
    case Flaw::other:
      break;
  }
  return "other";
}

std::vector<std::string> explain(const Feed& feed) {
  std::vector<std::string> lines;
  lines.push_back("format " + std::string(format_name(feed.format)) +
                  ", recognised from the root element and its namespace");
  lines.push_back("encoding " + feed.encoding);
  if (feed.bozo == Bozo::none) {
    lines.emplace_back("nothing had to be repaired or guessed");
  } else {
    lines.push_back("bozo " + std::string(bozo_token(feed.bozo)) + ": " + feed.bozo_detail);
  }
  for (const auto& [flaw, count] : feed.flaws) {
    lines.push_back(std::string(flaw_name(flaw)) + ": " + counted(count, meaning(flaw)));
  }
  const auto by_link = std::count_if(feed.entries.begin(), feed.entries.end(),
                                     [](const Entry& entry) { return entry.id.empty() && !entry.link.empty(); });
  const auto by_digest = std::count_if(feed.entries.begin(), feed.entries.end(),
                                       [](const Entry& entry) { return entry.guid.starts_with("digest:"); });
  lines.push_back(counted(feed.entries.size(), "entries, ") +
                  counted(static_cast<std::size_t>(by_link), "identified by link, ") +
                  counted(static_cast<std::size_t>(by_digest), "by digest, the others by the guid they name"));
  return lines;
}

}  // namespace feedmill
