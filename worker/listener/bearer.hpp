// Access checks of requests (SECURITY T33, K6).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/ip/address.hpp>
#include <boost/beast/http/fields.hpp>
#include <boost/beast/http/message.hpp>

namespace feedmill {

/// Whether an Authorization header has the token: "Bearer TOKEN", or "Basic …" with the token as password, as browsers
/// can send it. Compares in constant time.
bool shows_token(std::string_view authorization, std::string_view token);

/// Whether a Host field is an IP address, "localhost" or one of `names`, with or without a port. A page that uses DNS
/// rebinding has another name there.
bool is_called_by(std::string_view host, const std::vector<std::string>& names);

/// Whether a browser marks the request as sent by a page of another origin.
bool is_of_another_site(const boost::beast::http::request_header<>& head);

/// Whether the client is on this machine and not behind a proxy: a loopback address and no Forwarded, X-Forwarded-*,
/// X-Real-IP or Via field. With a local proxy that adds no such field, every client looks local.
bool is_near(const boost::asio::ip::address& client, const boost::beast::http::request_header<>& head);

}  // namespace feedmill
