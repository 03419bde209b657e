#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "leat/codec/decode_error.hpp"
#include "leat/io/reader/record_batch.hpp"

namespace leat::detail {

/// Runs that tell where their elements stand in files.
template <class Run>
concept positioned = requires(const Run& run) {
  run.position(std::size_t{0});
  run.paths();
};

/// Where the elements of a stage's input stand, for rows that outlive its runs.
///
/// Runs of one file bring a path of their own each, and files may take turns: so of each path one
/// is kept here for all rows, and what keeps several once, however often it comes again.
/// Thread safety: distinct-safe; what it keeps is shared-safe.
template <class Run>
class row_positions {
 public:
  /// A run of the input is there. Errors: std::bad_alloc.
  void begin(const Run&) noexcept {}
  /// Keeps the paths of all positions so far.
  [[nodiscard]] std::shared_ptr<const void> paths() const noexcept { return nullptr; }
};

template <positioned Run>
class row_positions<Run> {
 public:
  void begin(const Run& run) {
    std::shared_ptr<const void> paths = run.paths();
    if (paths == present_) return;
    all_->insert(paths);
    present_ = std::move(paths);
  }
  [[nodiscard]] record_position of(const Run& run, std::size_t i) const noexcept {
    return run.position(i);
  }
  [[nodiscard]] std::shared_ptr<const void> paths() const noexcept { return all_; }

 private:
  using keepers = std::set<std::shared_ptr<const void>>;
  std::shared_ptr<keepers> all_ = std::make_shared<keepers>();
  std::shared_ptr<const void> present_;
};

template <class View>
class row_positions<basic_record_batch<View>> {
 public:
  using run_type = basic_record_batch<View>;

  void begin(const run_type& run) {
    const std::string_view path = run.path();
    if (path_ && *path_ == path) return;
    auto at = all_->find(path);
    if (at == all_->end()) at = all_->emplace(path).first;
    path_ = &*at;
  }
  [[nodiscard]] record_position of(const run_type& run, std::size_t i) const noexcept {
    record_position p = run.position(i);
    p.path = *path_;
    return p;
  }
  [[nodiscard]] std::shared_ptr<const void> paths() const noexcept { return all_; }

 private:
  using names = std::set<std::string, std::less<>>;  // which stay where they are
  std::shared_ptr<names> all_ = std::make_shared<names>();
  const std::string* path_ = nullptr;  // of the present run
};

/// Where the i-th element of a run stands in its file: "a.csv:7 at offset 120". Empty for one that
/// comes from none. Errors: std::bad_alloc.
template <positioned Run>
[[nodiscard]] std::string place_of_element(const Run& run, std::size_t i) {
  const record_position p = run.position(i);
  if (p.path.empty()) return {};
  constexpr bool is_line = std::is_same_v<typename Run::value_type, std::string_view>;
  return is_line ? format_line_position(p) : format_record_position(p);
}

/// Where the record stands of which an error tells that a function has thrown at the i-th element
/// of a run; of a batch that was not decoded as a whole, where that begins. Empty where nobody
/// knows. Errors: std::bad_alloc.
template <class In>
[[nodiscard]] std::string place_of(const decode_error& e, const In& in, std::size_t i) {
  const auto& element = *(in.begin() + static_cast<std::ptrdiff_t>(i));
  if constexpr (positioned<std::remove_cvref_t<decltype(element)>>) {
    if (element.empty()) return {};  // the function has taken it away
    if (e.records() == element.size() && e.record() < element.size()) {
      return place_of_element(element, e.record());
    }
    const std::string begin = place_of_element(element, 0);
    if (begin.empty()) return {};
    return "record " + std::to_string(e.record()) + " in the batch that begins with " + begin;
  } else if constexpr (positioned<In>) {
    if (e.records() == 1 && e.record() == 0) return place_of_element(in, i);
  }
  return {};
}

/// What a function has just thrown at the i-th element of a run: a decoder's error with the place
/// of its record, as far as the element or its run knows that, and nobody else has said it.
template <class In>
[[nodiscard]] std::exception_ptr with_place(const In& in, std::size_t i) {
  const std::exception_ptr error = std::current_exception();
  try {
    std::rethrow_exception(error);
  } catch (const decode_error& e) {
    if (e.has_position() || typeid(e) != typeid(decode_error)) return error;
    const std::string place = place_of(e, in, i);
    if (!place.empty()) return std::make_exception_ptr(e.at(place));
  } catch (...) {  // is as it is
  }
  return error;
}

}  // namespace leat::detail
