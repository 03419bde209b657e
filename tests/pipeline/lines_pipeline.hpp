#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leat/async/loop/block_on.hpp"
#include "leat/io/reader/line_reader.hpp"
#include "leat/pipeline/pipeline.hpp"

namespace leat_test {

using texts = std::vector<std::string>;

inline texts sorted(texts all) {
  std::sort(all.begin(), all.end());
  return all;
}

inline std::string text_of(std::string_view line) { return std::string(line); }

/// A pipeline of lines that own their text.
inline auto lines_of(leat::file_source<leat::line_reader> source,
                     leat::pipeline_options options = {}) {
  return leat::read_files<leat::line_reader>(std::move(source), std::move(options))
      .map("text", text_of);
}

/// Returns all elements of a pipeline.
template <class Pipeline>
leat::task<texts> read_all(Pipeline& p) {
  texts all;
  while (auto next = co_await p.next()) all.push_back(std::move(*next));
  co_return all;
}

/// Returns all elements of a pipeline that nothing else uses.
template <class Pipeline>
texts elements_of(Pipeline p) {
  return leat::block_on(read_all(p));
}

}  // namespace leat_test
