// The files that a configuration is read from: itself, and those that hold one value, most often a secret (SECURITY
// K3).
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>

#include <boost/system/result.hpp>

namespace feedmill {

/// All bytes of a file, or a pipe such as `<(command)`, of at most `max_bytes`. A pipe is waited for no longer than
/// `patience`, until its writers have closed it, or SIGTERM or SIGINT waits. The error is for people: "the file cannot
/// be read: " and why.
boost::system::result<std::string, std::string> read_small_file(
    const std::filesystem::path& file, std::size_t max_bytes,
    std::chrono::milliseconds patience = std::chrono::seconds(10));

/// All bytes of a regular file of at most `max_bytes`. Never waits for a writer or a device: whatever else stands under
/// that name (directory, pipe, device, socket, terminal) is refused, and is not opened but in a race. Errors as those
/// of read_small_file().
boost::system::result<std::string, std::string> read_regular_file(const std::filesystem::path& file,
                                                                  std::size_t max_bytes);

/// The value in a file of at most 1 MiB, without the newline at its end.
boost::system::result<std::string, std::string> read_secret(const std::filesystem::path& file);

/// True of a pipe: what it said once it does not say again.
bool is_read_once(const std::filesystem::path& file);

/// True when users who are neither its owner nor of its group may read it.
bool readable_by_all(const std::filesystem::path& file);

/// What to tell the operator about such a file.
std::string readable_warning(const std::filesystem::path& file);

}  // namespace feedmill
