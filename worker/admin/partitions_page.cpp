// The overview of all partitions that a process serves (RELIABILITY L29).
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "worker/admin/status.hpp"
#include "worker/base/units.hpp"

namespace feedmill {
namespace {

constexpr std::size_t most_concerns = 20, most_links = 8;

/// A problem and the partitions that have it.
struct SharedConcern {
  Concern concern;
  std::vector<std::uint32_t> partitions;
};

/// The problems of all partitions, worst first; equal ones are merged.
std::vector<SharedConcern> concerns_of_all(std::span<const PartitionStatus> partitions) {
  std::vector<SharedConcern> all;
  for (const PartitionStatus& one : partitions) {
    for (Concern& concern : concerns(one.status)) {
      const auto same = std::ranges::find_if(all, [&](const SharedConcern& known) {
        return known.concern.weight == concern.weight && known.concern.text == concern.text;
      });
      if (same != all.end())
        same->partitions.push_back(one.partition);
      else
        all.push_back({std::move(concern), {one.partition}});
    }
  }
  std::ranges::stable_sort(all, {}, [](const SharedConcern& one) { return one.concern.weight; });
  return all;
}

Html partition_link(std::uint32_t partition) {
  const std::string number = std::to_string(partition);
  return Html("<a href=\"/p{}/status\">{}</a>", number, number);
}

Html partition_list(const std::vector<std::uint32_t>& some, std::size_t count) {
  if (some.size() == count) return Html("All partitions.");
  Html html("{} ", some.size() == 1 ? "Partition" : "Partitions");
  for (std::size_t i = 0; i < some.size() && i < most_links; ++i)
    html.add("{}{}", i == 0 ? "" : ", ", partition_link(some[i]));
  if (some.size() > most_links) html.add(" and {} more", some.size() - most_links);
  return std::move(html.add("."));
}

Html concerns_list(const std::vector<SharedConcern>& found, std::size_t count) {
  if (found.empty()) return {};
  Html html("<ol class=\"concerns\">\n");
  for (std::size_t i = 0; i < found.size() && i < most_concerns; ++i) {
    add_concern(html, found[i].concern, partition_list(found[i].partitions, count));
  }
  html.add("</ol>\n");
  if (found.size() > most_concerns)
    html.add("<p class=\"sub\">{} more: see the pages of the partitions.</p>\n", found.size() - most_concerns);
  return html;
}

std::uint64_t troubled(const FleetFigures& fleet) {
  std::uint64_t count = 0;
  for (const auto& [state, feeds] : fleet.states) {
    if (state != "healthy" && state != "new" && state != "paused") count += feeds;
  }
  return count;
}

Html partitions_table(std::span<const PartitionStatus> partitions) {
  Table table({{"Partition"}, {"State"}, {"Feeds", "number"}, {"Due", "number"}, {"In trouble", "number"}},
              "Feeds as counted in the last minutes.");
  for (const PartitionStatus& one : partitions) {
    const std::string state = verdict(concerns(one.status));
    if (one.status.store) {
      const FleetFigures& fleet = one.status.store->fleet;
      table.row(partition_link(one.partition), state, fleet.feeds, fleet.due, troubled(fleet));
    } else {
      table.row(partition_link(one.partition), state, "–", "–", "–");
    }
  }
  return section("partitions", "Partitions", table.html());
}

}  // namespace

std::string verdict_of_all(std::span<const PartitionStatus> partitions) {
  std::vector<Concern> all;
  for (SharedConcern& one : concerns_of_all(partitions)) all.push_back(std::move(one.concern));
  return verdict(all);
}

Html partitions_page(std::span<const PartitionStatus> partitions) {
  const std::vector<SharedConcern> found = concerns_of_all(partitions);
  const ProcessStatus& process = partitions.front().status.process;
  std::uint64_t feeds = 0, due = 0, refreshes = 0, created = 0, served = 0;
  for (const PartitionStatus& one : partitions) {
    if (one.status.store) {
      feeds += one.status.store->fleet.feeds;
      due += one.status.store->fleet.due;
      ++served;
    }
    refreshes += one.status.process.ten_minutes.refreshes();
    created += one.status.process.hour.created;
  }
  Html html(
      "<section class=\"verdict {}\" aria-labelledby=\"verdict\">\n<h1 id=\"verdict\">{}</h1>\n"
      "<p class=\"soft\">This worker serves {} partitions and is up for {}.</p>\n{}</section>\n",
      found.empty() ? std::string_view("well") : weight_name(found.front().concern.weight), verdict_of_all(partitions),
      partitions.size(), span_text(process.uptime), concerns_list(found, partitions.size()));
  html.add("<section aria-label=\"At a glance\"><dl class=\"tiles\">\n");
  add_tile(html, "Partitions", served,
           served == partitions.size() ? "all served" : "served; the others are unavailable");
  add_tile(html, "Feeds", feeds, "in these partitions");
  add_tile(html, "Due now", due, "of all feeds");
  add_tile(html, "Refreshes", refreshes, "by this worker in the last 10 minutes");
  add_tile(html, "New posts", created, "by this worker in the last hour");
  html.add("</dl></section>\n{}", partitions_table(partitions));
  return html;
}

}  // namespace feedmill
