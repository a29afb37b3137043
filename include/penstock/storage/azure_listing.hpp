#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <penstock/core/result.hpp>
#include <penstock/core/separate.hpp>
#include <penstock/storage/backend.hpp>

PENSTOCK_BEGIN
namespace storage {
/// One page of `List Blobs`.
struct azure_page {
  std::vector<stored_object> files;  ///< names as stored, directory marks left out
  std::string next;                  ///< marker of the next page; empty: this was the last
};

/// Reads a page strictly: what is no plain listing (a document type, an unknown entity, bad UTF-8, a size that is no
/// number) is an error.
///
/// @errors io: the answer is no listing
/// @source Azure Storage, "List Blobs"
result<azure_page> parse_azure_page(std::string_view xml);

/// Do these bytes make UTF-8 text of XML without a document type, with the five entities and numbers only?
bool is_plain_xml(std::string_view xml) noexcept;
}  // namespace storage
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/storage/azure_listing.ipp>
#endif
