// Guards callbacks of C libraries (libcurl, c-ares, OpenSSL): no exception may pass through their frames.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "worker/base/report.hpp"

namespace feedmill {

/// Keeps a callback's exception until the library has returned and it can be reported.
class CGuard {
 public:
  /// Runs `work` in a callback. If it throws, keeps the exception and returns `otherwise`, which makes the library give
  /// up. Once an exception is kept, only returns `otherwise`.
  template <class Result, class Work>
  Result run(Result otherwise, Work&& work) noexcept {
    if (error_) return otherwise;
    try {
      return std::forward<Work>(work)();
    } catch (...) {
      error_ = std::current_exception();
      return otherwise;
    }
  }

  /// Runs `work`, which returns nothing, likewise.
  template <class Work>
  void run(Work&& work) noexcept {
    run(true, [&] {
      std::forward<Work>(work)();
      return true;
    });
  }

  /// Keeps an exception caught elsewhere, unless there already is one.
  void keep(const std::exception_ptr& error) noexcept {
    if (!error_) error_ = error;
  }

  explicit operator bool() const { return error_ != nullptr; }
  const std::exception_ptr& error() const { return error_; }

  /// worker.memory or worker.bug, and its text. Only after an exception.
  std::pair<Reason, std::string> told() const {
    try {
      std::rethrow_exception(error_);
    } catch (const std::bad_alloc&) {
      return {Reason::worker_memory, "no memory for it"};
    } catch (const std::exception& error) {
      return {Reason::worker_bug, error.what()};
    } catch (...) {
      return {Reason::worker_bug, "unknown exception"};
    }
  }

 private:
  std::exception_ptr error_;
};

}  // namespace feedmill
