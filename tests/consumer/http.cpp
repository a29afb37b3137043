#include <penstock/penstock.hpp>
#include <penstock/storage/any.hpp>

// Compiles and links the stores over HTTP; runs without a network.
int main() {
  penstock::storage::any store;
  auto const objects = store.list(penstock::uri::parse("gopher://somewhere/model").value());
  return !objects && objects.error().kind() == penstock::error_kind::usage ? 0 : 1;
}
