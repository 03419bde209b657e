#pragma once

#include <vector>

#include "leat/pipeline/detail/stage_state.hpp"

namespace leat::detail {

/// Adds the options of a reader on which it depends which records a file has, and where.
template <class Options>
void add_reader_settings(const Options& o, std::vector<setting>& all) {
  if constexpr (requires { o.compression_type; }) {
    all.push_back({"compression", o.compression_type ? 1 + std::uint64_t(*o.compression_type) : 0});
  }
  if constexpr (requires { o.skip_header_lines; }) {
    all.push_back({"skip_header_lines", o.skip_header_lines});
  }
  if constexpr (requires { o.record_size; }) {
    all.push_back({"record_size", o.record_size});
    all.push_back({"header_size", o.header_size});
    all.push_back({"footer_size", o.footer_size});
    all.push_back({"hop_size", o.hop_size});
  }
}

}  // namespace leat::detail
