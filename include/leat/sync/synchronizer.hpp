#pragma once

#include "leat/async/operation/forms.hpp"
#include "leat/sync/detail/sync_base.hpp"

namespace leat {

// For a primitive of your own.
using synchronizer = detail::sync_base;
using synchronizer_waiter = detail::sync_waiter;
template <class Object>
using synchronizer_operation = detail::sync_operation<Object>;

}  // namespace leat
