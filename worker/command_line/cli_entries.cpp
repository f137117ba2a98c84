// The verbs of stored posts in the tree of the command line.
#include <algorithm>

#include "storage/records/given_entry.hpp"
#include "worker/base/units.hpp"
#include "worker/command_line/cli_values.hpp"
#include "worker/command_line/cli_verb.hpp"

namespace feedmill {
namespace {

void add_entries(CLI::App& root, std::optional<Verb>& chosen) {
  auto [list, listed] = add_verb<EntriesVerb>(root, chosen, "Entries of a feed, newest first",
                                              "feedmill entries https://example.org/feed.xml --limit 5",
                                              [](const EntriesVerb& arguments) {
                                                if (arguments.url.empty()) refuse("URL is missing");
                                              });
  list->add_option("URL", listed->url, "Address of a feed");
  add_page(*list, listed);
}

void check(const EntryVerb& entry) {
  if (entry.id.empty() && entry.feed.empty() && entry.guid.empty()) refuse("ID is missing (or --feed and --guid)");
  if (entry.id.empty() && (entry.feed.empty() || entry.guid.empty())) refuse("--feed and --guid need each other");
  if (!entry.id.empty() && (!entry.feed.empty() || !entry.guid.empty())) refuse("ID and --guid exclude each other");
}

void check(const EntryPutVerb& put) {
  if (put.file.empty() && (put.feed.empty() || put.guid.empty())) refuse("--feed and --guid are missing (or --file)");
  if (put.file.empty() && put.fields.empty()) refuse("what to store is missing: NAME=VALUE (or --file)");
  if (!put.file.empty() && !put.fields.empty()) refuse("NAME=VALUE and --file exclude each other");
}

/// "title=First": what must be a field is looked at here, so that nothing is stored of a list with a mistake in it.
std::pair<std::string, std::string> assignment(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) refuse("write NAME=VALUE, or NAME= to take a field away");
  const std::string name = text.substr(0, equals);
  const auto known = given_fields();
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    refuse(fmt::format("unknown field \"{}\"{}", visible(name), did_you_mean(name, known)));
  }
  return {name, text.substr(equals + 1)};
}

std::string about_fields() {
  std::string text = "Fields:\n ";
  for (const std::string_view name : given_fields()) text.append(" ").append(name);
  return text +
         "\n  Dates as 2026-03-01T12:00:00Z; types text/plain (a title when nothing is said) or text/html; authors, "
         "categories and enclosures are "
         "JSON.\n  Values are cleaned and cut as those of documents are.\n\n";
}

void add_put(CLI::App& entry, std::optional<Verb>& chosen) {
  auto [put, given] = add_verb<EntryPutVerb>(
      entry, chosen, "Create an entry of a feed, or change fields of it",
      "feedmill entry put --feed https://example.org/feed.xml --guid note-1 title=Note link=https://example.org/1",
      [](const EntryPutVerb& arguments) { check(arguments); });
  put->add_option_function<std::vector<std::string>>(
         "FIELD",
         [to = given](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) to->fields.push_back(assignment(text));
         },
         "What it is to hold; NAME= takes a field away")
      ->type_name("NAME=VALUE");
  put->add_option("--feed", given->feed, "Address of its feed")->type_name("URL");
  put->add_option("--guid", given->guid, "What identifies it inside its feed")->type_name("GUID");
  put->add_option(
         "--file", given->file,
         "JSON objects with the fields, as entry --json prints them; feed_url and guid may stand inside; - for "
         "stdin")
      ->type_name("FILE");
  put->add_flag("--replace", given->replace, "Fields that are not given go");
  put->footer(about_fields() + put->get_footer());
}

void add_remove(CLI::App& entry, std::optional<Verb>& chosen) {
  auto [remove, removed] =
      add_verb<EntryRemoveVerb>(entry, chosen, "Delete entries; they do not come back while their feeds list them",
                                "feedmill entry remove Entry:17 --yes", [](const EntryRemoveVerb& arguments) {
                                  if (arguments.ids.empty()) refuse("ID is missing");
                                });
  remove->add_option("ID", removed->ids, "Such as Entry:17");
  remove->add_flag("--yes", removed->yes, "Do not ask");
  remove->add_flag("--dry-run", removed->dry_run, "Only say what would be removed");
}

void add_entry(CLI::App& root, std::optional<Verb>& chosen) {
  auto [entry, arguments] = add_verb<EntryVerb>(root, chosen, "One entry", "feedmill entry Entry:17");
  entry->callback([&chosen, entry = entry, arguments = arguments] {
    if (!entry->get_subcommands().empty()) return;  // put and remove have their own
    check(*arguments);
    chosen = *arguments;
  });
  entry->require_subcommand(0, 1);
  entry->get_formatter()->label("SUBCOMMAND", "VERB");
  entry->add_option("ID", arguments->id, "Such as Entry:17");
  entry->add_option("--feed", arguments->feed, "Address of its feed")->type_name("URL");
  entry->add_option("--guid", arguments->guid, "What identifies it inside its feed")->type_name("GUID");
  add_put(*entry, chosen);
  add_remove(*entry, chosen);
}

void add_expire(CLI::App& root, std::optional<Verb>& chosen) {
  auto [expire, expired] =
      add_verb<ExpireVerb>(root, chosen, "Trim a feed now: by number (50 when nothing is said), by age, by bytes",
                           "feedmill expire https://example.org/feed.xml --age 90d --yes", [](ExpireVerb& arguments) {
                             if (arguments.url.empty()) refuse("URL is missing");
                             Expiry& expiry = arguments.expiry;
                             if (!expiry.limit && !expiry.age && !expiry.bytes) expiry.limit = 50;
                           });
  expire->add_option("URL", expired->url, "Address of a feed");
  expire
      ->add_option_function<std::string>(
          "--limit",
          [to = expired](const std::string& text) { to->expiry.limit = number("--limit", text, 0, 1'000'000'000); },
          "So many of the newest stay")
      ->type_name("N");
  expire
      ->add_option_function<std::string>(
          "--age",
          [to = expired](const std::string& text) {
            const auto age = read_duration(text);
            if (!age) refuse("--age: write a duration with its unit: 24h 30d");
            to->expiry.age = *age;
          },
          "Older ones go")
      ->type_name("DURATION");
  expire
      ->add_option_function<std::string>(
          "--bytes",
          [to = expired](const std::string& text) {
            const auto size = read_size(text);
            if (!size) refuse("--bytes: write a size with its unit: 512KiB 16MiB");
            to->expiry.bytes = *size;
          },
          "So many bytes stay, the newest entry whatever its size")
      ->type_name("SIZE");
  expire->add_flag("--yes", expired->yes, "Do not ask");
  expire->add_flag("--dry-run", expired->dry_run, "Only say how many would go");
}

}  // namespace

void add_entry_verbs(CLI::App& root, std::optional<Verb>& chosen) {
  add_entries(root, chosen);
  add_entry(root, chosen);
  add_expire(root, chosen);
}

}  // namespace feedmill
