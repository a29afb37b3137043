#pragma once
#include <penstock/core/bytes.hpp>

PENSTOCK_BEGIN
// Indices into the tables of a plan. Each has a type of its own: a group's number is no parameter's number.
enum class param_id : u32 {};   ///< into plan.parameters
enum class object_id : u32 {};  ///< into plan.objects (the shards)
enum class group_id : u32 {};   ///< into plan.groups (retained groups)
enum class layer_id : u32 {};   ///< a layer of the model; the last one holds what belongs to no layer

inline constexpr param_id no_param{~u32{}};
inline constexpr object_id no_object{~u32{}};
inline constexpr group_id no_group{~u32{}};

template <class Id>
constexpr u32 index_of(Id id) noexcept {
  return static_cast<u32>(id);
}
PENSTOCK_END
