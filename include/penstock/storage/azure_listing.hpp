#pragma once
#include <string_view>

#include <penstock/core/result.hpp>
#include <penstock/core/separate.hpp>
#include <penstock/storage/http_objects.hpp>

PENSTOCK_BEGIN
namespace storage {
/// Reads a page of `List Blobs` strictly: what is no plain listing (a document type, an unknown entity, bad UTF-8, a size that is no
/// number) is an error.
///
/// @errors io: the answer is no listing
/// @source Azure Storage, "List Blobs"
result<object_page> parse_azure_page(std::string_view xml);
}  // namespace storage
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/storage/azure_listing.ipp>
#endif
