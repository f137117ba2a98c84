// Reads the configuration file and files that hold one value, usually a secret (SECURITY K3).
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>

#include <boost/system/result.hpp>

namespace feedmill {

/// All bytes of a file, or of a pipe such as `<(command)`; at most `max_bytes`. Waits up to `patience` for a pipe's
/// writers to close it, or until a SIGTERM or SIGINT is pending. Error for people: "the file cannot be read: " and the
/// reason.
boost::system::result<std::string, std::string> read_small_file(
    const std::filesystem::path& file, std::size_t max_bytes,
    std::chrono::milliseconds patience = std::chrono::seconds(10));

/// All bytes of a regular file; at most `max_bytes`. Never waits: anything else (directory, pipe, device, socket,
/// terminal) is rejected, without opening it except in a race. Errors are those of read_small_file().
boost::system::result<std::string, std::string> read_regular_file(const std::filesystem::path& file,
                                                                  std::size_t max_bytes);

/// The value in a file of at most 1 MiB, without the newline at its end. Error for people also if the file is empty,
/// begins with a byte order mark or has several lines; it never repeats the content.
boost::system::result<std::string, std::string> read_secret(const std::filesystem::path& file);

/// Whether `file` is a pipe, which can be read only once.
bool is_read_once(const std::filesystem::path& file);

/// Whether users other than its owner and its group may read it.
bool readable_by_all(const std::filesystem::path& file);

/// Warning for the operator about a file that is readable_by_all().
std::string readable_warning(const std::filesystem::path& file);

}  // namespace feedmill
