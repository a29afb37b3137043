#pragma once
#include <string_view>

#include <penstock/core/result.hpp>
#include <penstock/core/separate.hpp>
#include <penstock/storage/http_objects.hpp>

PENSTOCK_BEGIN
namespace storage {
/// Reads a page of `ListObjectsV2` strictly: what is no plain listing is an error, with status 200 as well.
///
/// Keys are decoded where the answer says that it encoded them. `next` is the continuation token.
/// @errors io: the answer is no listing
/// @source Amazon S3, "ListObjectsV2"
result<object_page> parse_s3_page(std::string_view xml);
}  // namespace storage
PENSTOCK_END

#ifndef PENSTOCK_SEPARATE_COMPILATION
#  include <penstock/storage/s3_listing.ipp>
#endif
