// The verbs of stored posts and of events: what each is called, takes and needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "storage/records/given_entry.hpp"
#include "storage/records/stored_entry.hpp"
#include "storage/redis/values.hpp"
#include "worker/base/units.hpp"
#include "worker/command_line/arguments.hpp"
#include "worker/command_line/verb_row.hpp"

namespace feedmill {

/// What a verb shows of many entries.
struct EntryPage {
  std::uint64_t limit = 20;
  std::optional<EntryCursor> before;

  void take_page(Arguments& line) {
    const auto read_limit = [this](const std::string& text) { limit = number("--limit", text, 1, 1'000'000); };
    line.value("--limit", "N", read_limit, "At most N (20)");
    const auto read_before = [this](const std::string& text) { before = cursor(text); };
    line.value("--before", "SCORE:ID", read_before,
               "Only entries after this one in the order: SCORE:ID as printed on the last line");
  }
};

struct EntriesVerb : EntryPage {
  static constexpr VerbRow row{"entries", "Entries of a feed, newest first",
                               "feedmill entries https://example.org/feed.xml --limit 5"};
  std::string url;

  void take(Arguments& line) {
    line.required("URL", url, "Address of a feed");
    take_page(line);
  }
  static constexpr StoreUse use() { return StoreUse::read; }
};
int run_verb(const EntriesVerb& verb, const VerbContext& context);

struct EntryVerb {
  static constexpr VerbRow row{"entry", "One entry", "feedmill entry Entry:17"};
  std::string id;          ///< or
  std::string feed, guid;  ///< both
  bool text = false;

  void take(Arguments& line) {
    line.optional("ID", id, "Such as Entry:17, or 17");
    line.value("--feed", "URL", feed, "Address of its feed");
    line.value("--guid", "GUID", guid, "Its identifier within its feed");
    line.flag("--text", text, "Also its whole text without markup, as content_text");
    line.check([this] {
      if (id.empty() && feed.empty() && guid.empty()) refuse("ID is missing (or --feed and --guid)");
      if (id.empty() && (feed.empty() || guid.empty())) refuse("--feed and --guid must be given together");
      if (!id.empty() && (!feed.empty() || !guid.empty())) refuse("ID and --guid exclude each other");
    });
  }
  static constexpr StoreUse use() { return StoreUse::read; }
};
int run_verb(const EntryVerb& verb, const VerbContext& context);

struct EntryPutVerb {
  static constexpr VerbRow row{
      "entry put", "Create an entry of a feed, or change its fields",
      "feedmill entry put --feed https://example.org/feed.xml --guid note-1 title=Note link=https://example.org/1"};
  std::string feed, guid;          ///< "" = as the JSON says
  std::vector<std::string> given;  ///< NAME=VALUE
  Fields fields;                   ///< what is given
  std::string file;                ///< JSON objects, one for each entry; "-" = stdin, "" = none
  bool replace = false;            ///< fields that are not given go

  void take(Arguments& line) {
    line.optional("NAME=VALUE", given, "Fields to set; NAME= removes a field");
    line.among(given_fields(), "=");
    line.value("--feed", "URL", feed, "Address of its feed");
    line.value("--guid", "GUID", guid, "What identifies it inside its feed");
    line.value(
        "--file", "FILE", file,
        "JSON objects with the fields, as printed by entry --json; they may include feed_url and guid; - for stdin");
    line.flag("--replace", replace, "Remove fields that are not given");
    line.check([this] {
      for (const std::string& text : given) fields.push_back(assignment(text));
      if (file.empty() && (feed.empty() || guid.empty())) {
        refuse(fmt::format("{} missing (or --file)", !feed.empty()   ? "--guid is"
                                                     : !guid.empty() ? "--feed is"
                                                                     : "--feed and --guid are"));
      }
      if (file.empty() && fields.empty()) refuse("nothing to store: give NAME=VALUE (or --file)");
      if (!file.empty() && !fields.empty()) refuse("NAME=VALUE and --file exclude each other");
    });
    line.notes("Fields", {fmt::format("{}", fmt::join(given_fields(), " ")),
                          "Dates as 2026-03-01T12:00:00Z; types text/plain (the default for titles) or text/html; "
                          "authors, categories and enclosures are JSON.",
                          "Values are sanitised and truncated like those of fetched documents."});
  }
};
int run_verb(const EntryPutVerb& verb, const VerbContext& context);

struct EntryRemoveVerb {
  static constexpr VerbRow row{"entry remove", "Delete entries; they do not come back while their feeds list them",
                               "feedmill entry remove Entry:17 --yes"};
  std::vector<std::string> ids;
  bool yes = false, dry_run = false;

  void take(Arguments& line) {
    line.required("ID", ids, "Such as Entry:17, or 17");
    line.flag("--yes", yes, "Do not ask");
    line.flag("--dry-run", dry_run, "Only show what would be removed");
  }
};
int run_verb(const EntryRemoveVerb& verb, const VerbContext& context);

struct ExpireVerb {
  static constexpr VerbRow row{"expire", "Trim a feed now: by number (default: 50), by age, by bytes",
                               "feedmill expire https://example.org/feed.xml --age 90d --yes"};
  std::string url;
  Expiry expiry;
  bool yes = false, dry_run = false;

  void take(Arguments& line) {
    line.required("URL", url, "Address of a feed");
    const auto read_limit = [this](const std::string& text) {
      expiry.limit = number("--limit", text, 0, 1'000'000'000);
    };
    line.value("--limit", "N", read_limit, "Keep the N newest");
    const auto read_age = [this](const std::string& text) {
      expiry.age = read_duration(text);
      if (!expiry.age) refuse("--age: write a duration with its unit: 24h 30d");
    };
    line.value("--age", "DURATION", read_age, "Delete older entries");
    const auto read_bytes = [this](const std::string& text) {
      expiry.bytes = read_size(text);
      if (!expiry.bytes) refuse("--bytes: write a size with its unit: 512KiB 16MiB");
    };
    line.value("--bytes", "SIZE", read_bytes, "Keep this many bytes; the newest entry stays whatever its size");
    line.flag("--yes", yes, "Do not ask");
    line.flag("--dry-run", dry_run, "Only show how many would be deleted");
    line.check([this] {
      if (!expiry.limit && !expiry.age && !expiry.bytes) expiry.limit = 50;
    });
  }
};
int run_verb(const ExpireVerb& verb, const VerbContext& context);

struct TailVerb {
  static constexpr VerbRow row{"tail", "Print events as they arrive", "feedmill tail --type post_created --json"};
  std::string from = "$";          ///< stream id; "$" = from now on
  std::vector<std::string> types;  ///< none = all

  void take(Arguments& line) {
    const auto read_id = [this](const std::string& text) {
      check_stream_id(text);
      from = text;
    };
    line.value("--from", "ID", read_id, "After this stream id; 0: from the beginning");
    const auto read_type = [this](const std::string& text) {
      one_of("--type", text, event_types());
      types.push_back(text);
    };
    line.values("--type", "TYPE", read_type, "Only this type; may be repeated");
    line.among(event_types());
  }
  static constexpr StoreUse use() { return StoreUse::read; }
  static constexpr bool is_of_all = true;
};
int run_verb(const TailVerb& verb, const Config& config, Terminal& terminal);

struct PostVerbs {
  static constexpr std::string_view group = "Posts";
  using List = std::tuple<EntriesVerb, EntryVerb, EntryPutVerb, EntryRemoveVerb, ExpireVerb, TailVerb>;
};

}  // namespace feedmill
