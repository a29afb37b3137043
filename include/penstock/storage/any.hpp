#pragma once
#include <penstock/storage/any_of.hpp>
#include <penstock/storage/azure_blob.hpp>
#include <penstock/storage/http.hpp>
#include <penstock/storage/local.hpp>
#include <penstock/storage/s3.hpp>

PENSTOCK_BEGIN
namespace storage {
/// Every store of this build, chosen by the URI. It needs libcurl; without, write `any_of<local, memory>`.
struct any : any_of<local, azure_blob, s3, http> {
  using any_of::any_of;
};
}  // namespace storage
PENSTOCK_END
