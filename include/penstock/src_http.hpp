#pragma once

// As <penstock/src.hpp>, for the HTTP engine and the stores over it. Needs libcurl, OpenSSL and pugixml.
#ifndef PENSTOCK_SEPARATE_COMPILATION
#  error \
      "penstock: <penstock/src_http.hpp> is for engines that define PENSTOCK_SEPARATE_COMPILATION; without it the bodies are in the headers"
#endif

#include <penstock/net/aws_credentials.ipp>
#include <penstock/net/aws_profile.ipp>
#include <penstock/net/fetch.ipp>
#include <penstock/net/http_failure.ipp>
#include <penstock/net/http_lane.ipp>
#include <penstock/net/http_response.ipp>
#include <penstock/net/plain_xml.ipp>
#include <penstock/net/resolve.ipp>
#include <penstock/net/retry.ipp>
#include <penstock/net/secret.ipp>
#include <penstock/net/sign_aws.ipp>
#include <penstock/net/sign_azure.ipp>
#include <penstock/net/url.ipp>
#include <penstock/storage/azure_access.ipp>
#include <penstock/storage/azure_blob.ipp>
#include <penstock/storage/azure_listing.ipp>
#include <penstock/storage/azure_location.ipp>
#include <penstock/storage/http.ipp>
#include <penstock/storage/http_objects.ipp>
#include <penstock/storage/s3.ipp>
#include <penstock/storage/s3_access.ipp>
#include <penstock/storage/s3_listing.ipp>
#include <penstock/storage/s3_location.ipp>
