#include "leat/io/reader/quarantine_log.hpp"

#include <sstream>
#include <utility>

#include "base/text/hex.hpp"
#include "base/text/json_writer.hpp"
#include "leat/base/bytes.hpp"

namespace LEAT {
namespace {

std::string line_of(const corruption_report& r) {
  std::ostringstream out;
  detail::json_writer json(out);
  json.begin_object()
      .member("path", r.path)
      .member("offset", r.offset)
      .member("record", r.index)
      .member("error", r.what);
  if (r.expected_crc) json.member("expected", detail::hex(*r.expected_crc));
  if (r.actual_crc) json.member("actual", detail::hex(*r.actual_crc));
  json.member("skipped", r.skipped).member("transient", r.transient).end_object();
  out << '\n';
  return std::move(out).str();
}

// Calls a function at the end of a scope.
template <class F>
class scope_end {
 public:
  explicit scope_end(F f) noexcept : f_(f) {}
  scope_end(const scope_end&) = delete;
  scope_end& operator=(const scope_end&) = delete;
  ~scope_end() { f_(); }

 private:
  F f_;
};

}  // namespace

task<std::shared_ptr<quarantine_log>> quarantine_log::open(std::string path) {
  file f = co_await file::open(std::move(path), open_mode::append);
  co_return std::make_shared<quarantine_log>(std::move(f));
}

quarantine_log::quarantine_log(file f) : file_(std::move(f)), end_(file_.status().size) {}

task<void> quarantine_log::add(const corruption_report& report) {
  unwritten_ += line_of(report);
  ++reports_;
  if (writing_) co_return;  // the next write takes it along
  writing_ = true;
  const scope_end not_any_more([this]() noexcept { writing_ = false; });
  while (!unwritten_.empty()) {
    // A copy, because other calls may add lines during the write. The lines are removed only after
    // it, so that none is lost by an error.
    const std::string lines = unwritten_;
    co_await file_.write_at(end_, as_bytes(lines));
    end_ += lines.size();
    unwritten_.erase(0, lines.size());
  }
}

}  // namespace LEAT
