#pragma once

#include <vector>

#include "leat/pipeline/source/detail/saved_file_versions.hpp"
#include "pipeline/state/state_fields.hpp"

namespace LEAT::detail {

/// Writes the versions of files as columns, in fields 7 to 9 of a message.
void write_versions(state_writer& to, const std::vector<saved_file_version>& all);
/// Reads one of these fields.
void read_versions(state_reader& from, std::vector<saved_file_version>& all);

}  // namespace LEAT::detail
