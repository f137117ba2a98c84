#include "worker/requests/request_order.hpp"

#include <algorithm>
#include <utility>

namespace feedmill {
namespace {

std::uint64_t hash_of(char kind, const std::string& name) {
  if (name.empty()) return 0;
  return std::max<std::uint64_t>(1, std::hash<std::string>()(kind + name));
}

}  // namespace

RequestNames names_of(const Request& request, const std::string& entry_feed) {
  const std::string ref = request.asked.ref.empty() ? std::string() : request.asked.app + ":" + request.asked.ref;
  RequestNames names{hash_of('r', ref), hash_of('f', entry_feed)};
  if (request.problem) return names;
  std::size_t count = entry_feed.empty() ? 1 : 2;
  for (const OperationField& field : request.operation->fields) {
    using Kind = OperationField::Kind;
    const bool is_channel = field.kind == Kind::channel || field.kind == Kind::new_channel;
    const bool is_feed = field.kind == Kind::feed || field.kind == Kind::url;
    if ((!is_channel && !is_feed) || field.repeats || !request.given.has(field.name)) continue;
    names.at(count++) = hash_of(is_channel ? 'c' : 'f', request.given.text(field.name));
  }
  return names;
}

bool RequestOrder::comes_before(const RequestNames& names) const {
  return std::ranges::any_of(names, [&](std::uint64_t name) { return name != 0 && names_.contains(name); });
}

void RequestOrder::put(Waiting request) {
  for (const std::uint64_t name : request.names) {
    if (name != 0) ++names_[name];
  }
  waiting_.push_back(std::move(request));
}

void RequestOrder::clear() {
  waiting_.clear();
  at_ = waiting_.end();
  in_round_ = false;
  names_.clear();
}

const RequestOrder::Waiting* RequestOrder::next(const std::function<bool(const Waiting&)>& can_go) {
  if (!std::exchange(in_round_, true)) {
    at_ = waiting_.begin();
    passed_.clear();
  }
  for (; at_ != waiting_.end(); pass()) {
    const bool waits = std::ranges::any_of(at_->names, [&](std::uint64_t name) { return passed_.contains(name); });
    if (!waits && can_go(*at_)) return &*at_;
  }
  in_round_ = false;
  return nullptr;
}

void RequestOrder::ended() {
  for (const std::uint64_t name : at_->names) {
    const auto found = names_.find(name);
    if (found != names_.end() && --found->second == 0) names_.erase(found);
  }
  at_ = waiting_.erase(at_);
}

void RequestOrder::stays() {
  pass();
}

void RequestOrder::pass() {
  for (const std::uint64_t name : at_->names) {
    if (name != 0) passed_.insert(name);
  }
  ++at_;
}

}  // namespace feedmill
