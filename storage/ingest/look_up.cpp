// What is known of the posts of a document.
#include "parsers/markup/sanitise.hpp"
#include "storage/ingest/ingest.hpp"
#include "storage/records/find_field.hpp"
#include "storage/records/resanitise.hpp"
#include "storage/store/store_impl.hpp"

namespace feedmill {
namespace {

constexpr std::size_t max_compared = 5000;  // posts of a feed that are looked for under new guids

/// What is stored by older rules → as today's make it.
void mend(StoredSnapshot& known, const GivenMarkup& markup) {
  const std::string today = std::to_string(sanitiser_version);
  for (StoredSnapshot::Guid& guid : known.guids) {
    if (guid.fields.empty() || value_of(guid.fields, "san_ver") == today) continue;
    guid.mended = resanitised(guid.fields, markup);
    std::erase_if(guid.mended, [](const auto& field) { return field.first == "bytes" || field.first == "digest"; });
    guid.fields = with_changes(std::move(guid.fields), guid.mended);
  }
  if (value_of(known.feed, "san_ver") != today) known.feed_mended = resanitised_feed(known.feed, markup);
}

StoreResult<StoredSnapshot> read_known(const StoreResult<Reply>& reply, std::size_t asked) {
  if (!reply) return reply.error();
  const std::string_view marks = (*reply)[0].text();
  if (marks.size() != asked) return StoreError{StoreError::Code::bug, "look_up answered for another number of guids"};
  StoredSnapshot known;
  known.feed = (*reply)[1].pairs();
  known.left = (*reply)[2].texts();
  known.back = (*reply)[3].texts();
  known.stored = static_cast<std::uint64_t>((*reply)[5].integer());
  known.newest = (*reply)[6].integer();
  known.trimmed = (*reply)[7].integer() == 1;
  known.deletable = (*reply)[8].texts();
  const ReplyView different = (*reply)[4];
  std::size_t next = 0;
  for (const char mark : marks) {
    StoredSnapshot::Guid& guid = known.guids.emplace_back();
    switch (mark) {
      case '=':
        guid.is = StoredSnapshot::Is::same;
        break;
      case 'x':
        guid.is = StoredSnapshot::Is::tombstoned;
        break;
      case 'o':
      case '~':
        guid.is = mark == '~' ? StoredSnapshot::Is::different : StoredSnapshot::Is::same;
        guid.id = different[next][0].text();
        guid.fields = different[next][1].pairs();
        ++next;
        break;
      default:
        guid.is = StoredSnapshot::Is::unknown;
        break;
    }
  }
  return known;
}

}  // namespace

std::vector<StoreResult<StoredSnapshot>> Ingest::look_up(std::span<const LookUp> wanted) {
  std::vector<Args> calls(wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const bool sanitised = wanted[i].markup && wanted[i].markup->policy != HtmlPolicy::raw;
    calls[i].add(std::string_view(wanted[i].feed_url));
    calls[i].own(sanitised ? std::to_string(sanitiser_version) : std::string());
    calls[i].add(wanted[i].entries.size());
    for (const EntryRecord& entry : wanted[i].entries) {
      calls[i].add(std::string_view(entry.former_guid.empty() ? entry.guid : entry.former_guid));
    }
    for (const EntryRecord& entry : wanted[i].entries) calls[i].add(std::string_view(entry.digest));
    for (const Deletion& deletion : wanted[i].deleted) calls[i].add(std::string_view(deletion.guid));
  }
  const auto replies = impl_.run_all(Script::look_up, calls);
  std::vector<StoreResult<StoredSnapshot>> known;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    known.push_back(read_known(replies[i], wanted[i].entries.size()));
    if (known.back() && wanted[i].markup) mend(*known.back(), *wanted[i].markup);
  }
  return known;
}

StoreResult<std::vector<StoredPost>> Ingest::stored_posts(const std::string& feed_url) {
  Args args;
  args.add(std::string_view(feed_url));
  args.add(max_compared);
  const auto reply = impl_.run(Script::posts, args);
  if (!reply) return reply.error();
  std::vector<StoredPost> posts;
  posts.reserve(reply->size());
  for (std::size_t i = 0; i < reply->size(); ++i) {
    const ReplyView row = (*reply)[i];
    StoredPost& post = posts.emplace_back();
    post.id = row[0].text();
    post.timestamp = row[1].integer();
    post.guid = row[2].text();
    post.digest = row[3].text();
    std::size_t column = 4;
    for (const char* name : {"date_published", "link", "summary_text", "title"}) {
      const std::string_view value = row[column++].text();
      if (!value.empty()) post.fields.emplace_back(name, value);
    }
  }
  return posts;
}

}  // namespace feedmill
