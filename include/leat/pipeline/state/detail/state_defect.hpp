#pragma once

#include <string>

#include "leat/base/error.hpp"

namespace LEAT::detail {

/// Thrown for bytes from which a stage cannot resume, without the name of the stage, which the
/// caller adds: "stage 'shuffle': state WHY".
struct state_defect {
  std::string why;
  errc code = errc::invalid_argument;
};

inline constexpr const char* other_form_error =
    "cannot be restored: its bytes are not in the form that a pipeline writes";

}  // namespace LEAT::detail
