// Who may ask (SECURITY T33, K6).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/ip/address.hpp>
#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>

namespace feedmill {

/// Whether an Authorization header shows the token: "Bearer TOKEN", or "Basic …" with the token as password, which is
/// what a browser can send. Compared in constant time.
bool shows_token(std::string_view authorization, std::string_view token);

/// Whether a Host field is an address, "localhost" or one of `names`, with or without a port. A page whose own name
/// leads to us (DNS rebinding) calls us by that name.
bool is_called_by(std::string_view host, const std::vector<std::string>& names);

/// Whether a browser says that a page of another origin has sent this.
bool is_of_another_site(const boost::beast::http::request_header<>& head);

/// From this machine, and handed on by nobody who says so: a proxy on it makes everybody near.
bool is_near(const boost::asio::ip::address& client, const boost::beast::http::request_header<>& head);

}  // namespace feedmill
