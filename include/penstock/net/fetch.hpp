#pragma once
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include <penstock/core/result.hpp>
#include <penstock/core/separate.hpp>
#include <penstock/net/http_options.hpp>
#include <penstock/net/http_request.hpp>

PENSTOCK_BEGIN
namespace net {
/// A small request whose answer is wanted whole: HEAD of an object, a page of a listing, an exchange of tokens.
struct small_request {
  std::string method = "GET";
  std::string url{};
  std::string shown{};                   ///< for messages
  std::shared_ptr<authorizer> signer{};  ///< may be null
  bytes most = mebibytes(16);            ///< a larger body is an error
  std::vector<header> headers{};
  std::string body{};
  bool head_alone = false;  ///< the body is not wanted, though the method brings one
  bool any_status = false;  ///< an answer is an answer, unless it is worth another attempt
  bool metadata = false;    ///< of a cloud's metadata service: link-local addresses are allowed, and no proxy is asked
};

/// An answer with status 2xx; or any, where that was allowed.
struct small_answer {
  response_head head;
  std::string body;
};

/// Sends requests, `at_once` of them at a time through one queue, with the retry policy of the lanes.
///
/// @returns one result for each request, in that order
/// @param stop  a request ends all of them within 100 ms
/// @errors  as a lane's completion; io: the body is larger than allowed; cancelled: of all, also of those that had ended
/// @blocks  until the last answer
std::vector<result<small_answer>> fetch(std::span<small_request const> requests, http_options const& options,
                                        unsigned at_once, std::stop_token const& stop = {});
/// One request.
result<small_answer> fetch(small_request const& request, http_options const& options, std::stop_token const& stop = {});
}  // namespace net
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/net/fetch.ipp>
#endif
