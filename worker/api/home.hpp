// Which partition a call is for, where a process serves all of a deployment (RELIABILITY L29).
#pragma once

#include <optional>

#include "worker/api/routes.hpp"

namespace feedmill {

/// Whether a call names an entry and does not say what partition it is in: where numbers were given out before there
/// were as many, that is to be asked.
bool names_entry_by_number(const ApiRoute& route, const ApiCall& call, unsigned count);

/// The partition named in the query, else that of the feed or entry in the call; `count` if there is no such partition,
/// absent if the call names none. `given`: values of the route's operation.
std::optional<unsigned> partition_of_call(const ApiRoute& route, const ApiCall& call, const OperationValues& given,
                                          unsigned count);

}  // namespace feedmill
