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

  /// Keeps an exception caught elsewhere, unless there already is one.
  void keep(const std::exception_ptr& error) noexcept {
    if (!error_) error_ = error;
  }

  explicit operator bool() const { return error_ != nullptr; }
  const std::exception_ptr& error() const { return error_; }

  /// worker.memory or worker.bug; detail() has its text. Only after an exception.
  Reason reason() const {
    return told([](const std::exception&) { return Reason::worker_bug; }, Reason::worker_memory, Reason::worker_bug);
  }
  std::string detail() const {
    return told([](const std::exception& error) { return std::string(error.what()); }, std::string("no memory for it"),
                std::string("unknown exception"));
  }

 private:
  template <class Result, class Tell>
  Result told(Tell tell, Result no_memory, Result unknown) const {
    try {
      std::rethrow_exception(error_);
    } catch (const std::bad_alloc&) {
      return no_memory;
    } catch (const std::exception& error) {
      return tell(error);
    } catch (...) {
      return unknown;
    }
  }

  std::exception_ptr error_;
};

}  // namespace feedmill
