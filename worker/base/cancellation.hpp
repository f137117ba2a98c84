#pragma once

#include <exception>

#include <boost/asio/error.hpp>
#include <boost/asio/multiple_exceptions.hpp>
#include <boost/system/system_error.hpp>

namespace feedmill {

/// Whether `error` is the exception that unwinds a cancelled coroutine, the only one expected in normal operation.
inline bool is_cancellation(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const boost::system::system_error& system) {
    return system.code() == boost::asio::error::operation_aborted;
  } catch (const boost::asio::multiple_exceptions& several) {  // from operands joined by && or ||
    return is_cancellation(several.first_exception());
  } catch (...) {
    return false;
  }
}

}  // namespace feedmill
