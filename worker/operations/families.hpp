// The families of operations, one file each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "storage/push_out/subscribers.hpp"
#include "worker/operations/operation.hpp"

namespace feedmill {

OperationFamily webhook_family();
OperationFamily topic_family();

/// Whether the text has the form of a webhook id.
bool is_webhook_id(std::string_view id);

/// Adds a note if no live worker pushes out.
void note_without_push_out(Store& store, std::vector<std::string>& notes);

}  // namespace feedmill
