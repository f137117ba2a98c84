// Requests that store and remove posts (docs/REQUESTS.md).
#include "storage/entries/entries.hpp"

#include <array>
#include <span>
#include <string>

#include <fmt/format.h>

#include "storage/feeds/feeds.hpp"
#include "storage/records/given_entry.hpp"
#include "worker/config/feed_settings.hpp"
#include "worker/operations/families.hpp"
#include "worker/operations/request.hpp"

namespace feedmill {
namespace entry_operations {
namespace {

using Kind = OperationField::Kind;

constexpr std::size_t longest_shown = 100;  // bytes of an error, which may quote the post

constexpr std::array of_put{
    in_body(feed_field, "Feed URL"),
    OperationField{.name = "entry",
                   .kind = Kind::object,
                   .unit = "OBJECT",
                   .about = "Fields as of feedmill entry put",
                   .required = true},
    OperationField{.name = "guid",
                   .kind = Kind::opaque,
                   .unit = "GUID",
                   .about = "The post's guid, unless it is a field of the entry",
                   .most = longest_request},
    OperationField{
        .name = "replace", .kind = Kind::truth, .about = "Also remove the fields of a stored post that are not given"}};
constexpr std::array of_remove{OperationField{.name = "id",
                                              .kind = Kind::entry,
                                              .unit = "ID",
                                              .about = "Id or number of a post",
                                              .required = true,
                                              .told = true}};

GivenEntry entry_of(const OperationValues& given) {
  auto entry = read_given_entry(given.object("entry"), given.text("url"), given.text("guid"));
  if (!entry) throw OperationRefused{"bad_value", "entry: " + entry.error().substr(0, longest_shown)};
  return std::move(*entry);
}

void check_put(const OperationValues& given) {
  entry_of(given);
}

void put(const RequestCall& call) {
  const GivenEntry entry = entry_of(call.given());
  const auto record = answered(Feeds(call.store).records(std::span(&entry.feed_url, 1))).front();
  if (!record) throw OperationRefused{"no_such_feed", ""};
  const auto policy = read_settings(record->state.settings).html_policy;
  const auto& html = call.rules.config.html;
  const GivenMarkup markup{policy.value_or(html.policy), html.keep_class};
  Entries entries(call.store);
  Saved saved;
  {
    const auto step = call.step();
    saved =
        answered(call.given().truth("replace") ? entries.save(entry, markup) : entries.update_or_create(entry, markup));
  }
  if (saved.result == Saved::Result::unchanged)
    answered(call.requests.done(call.request.asked, "unchanged", fmt::format("\"id\":\"{}\",", saved.id)));
  if (saved.result == Saved::Result::unfit) throw OperationRefused{"bad_value", saved.detail};
}

void remove(const RequestCall& call) {
  Entries entries(call.store);
  const std::string id = entries.id_of(call.given().text("id"));
  if (!entries.is_id(id)) throw OperationRefused{"no_such_entry", "no such entry"};
  const auto step = call.step();
  answered(entries.remove(id));
}

constexpr std::array operations = {
    request(RequestOp::entry_put, "POST", "/entries", "Store a post, or change a stored one", of_put, put, check_put),
    request(RequestOp::entry_remove, "DELETE", "/entries/{id}", "Remove a post", of_remove, remove),
};

}  // namespace
}  // namespace entry_operations

OperationFamily entry_family() {
  return {.operations = entry_operations::operations};
}

}  // namespace feedmill
