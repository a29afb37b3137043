#pragma once
#include <string_view>

#include <penstock/core/config.hpp>
#include <penstock/core/separate.hpp>

PENSTOCK_BEGIN
namespace net {
/// Do these bytes make UTF-8 text of XML without a document type, with the five entities and numbers only?
bool is_plain_xml(std::string_view xml) noexcept;
}  // namespace net
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/net/plain_xml.ipp>
#endif
