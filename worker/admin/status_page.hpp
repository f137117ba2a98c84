// The overview page: problems first, then figures (OPERATIONS §6).
#pragma once

#include "worker/admin/html.hpp"
#include "worker/admin/status.hpp"

namespace feedmill {

/// The main part of /status.
Html status_page(const Status& status);

/// "All is well", "2 things need attention": for heading and window title.
std::string verdict(const std::vector<Concern>& concerns);

}  // namespace feedmill
