#pragma once

#include "leat/base/flavour.hpp"

namespace LEAT {

/// Identifies a kind of service of a scheduler by its address: see scheduler::find_service().
///
/// A class that is a service has a member `static const service_key key;`, defined in a source.
struct service_key {
  service_key() = default;
  service_key(const service_key&) = delete;
  service_key& operator=(const service_key&) = delete;
};

}  // namespace LEAT
