#include "leat/input/reader_state.hpp"

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "leat/base/error.hpp"

namespace LEAT {
namespace {

enum field : protozero::pbf_tag_type {
  started = 1,
  finished = 2,
  produced = 3,
  current = 4,
  offset = 5,
  index_in_file = 6,
  file_size = 7,
  modified = 8,
  reported = 9,
  left = 10,
};

// Returns the reason why a state is invalid, or null.
const char* find_fault(const reader_state& s) noexcept {
  if (s.work_started < s.work_finished) return "more files were finished than started";
  const std::uint64_t open = s.work_started - s.work_finished;
  if (open > 1) return "more than one file is open";
  if (open == 1 && !s.at) return "open file has no position";
  if (open == 0 && s.at) return "position without an open file";
  if (open == 1 && s.current_work.empty()) return "open file has no name";
  return nullptr;
}

void read_field(protozero::pbf_reader& message, reader_state& s) {
  const auto number = message.tag();
  const auto position = [&]() -> reader_position& { return s.at ? *s.at : s.at.emplace(); };
  if (number == current && message.wire_type() == protozero::pbf_wire_type::length_delimited) {
    s.current_work = message.get_string();
    return;
  }
  if (message.wire_type() != protozero::pbf_wire_type::varint) {
    throw protozero::unknown_pbf_wire_type_exception();
  }
  const std::uint64_t value = message.get_uint64();
  // No counter reaches this value; the time may be before 1970.
  if (value > INT64_MAX && number != modified) throw protozero::invalid_tag_exception();
  switch (number) {
    case started: s.work_started = value; break;
    case finished: s.work_finished = value; break;
    case produced: s.num_records_produced = value; break;
    case offset: position().offset = value; break;
    case index_in_file: position().index = value; break;
    case file_size: position().file_size = value; break;
    case modified: position().modified_ns = static_cast<std::int64_t>(value); break;
    case reported: s.reports = value; break;
    case left: s.left_over = value; break;
    default: throw protozero::invalid_tag_exception();
  }
}

}  // namespace

std::string reader_state::to_bytes() const {
  std::string bytes;
  protozero::pbf_writer message(bytes);
  const auto add = [&](field f, std::uint64_t value) {
    if (value != 0) message.add_uint64(f, value);
  };
  add(started, work_started);
  add(finished, work_finished);
  add(produced, num_records_produced);
  if (!current_work.empty()) message.add_string(current, current_work);
  if (at) {
    message.add_uint64(offset, at->offset);  // also 0: the field marks that there is a position
    add(index_in_file, at->index);
    add(file_size, at->file_size);
    add(modified, static_cast<std::uint64_t>(at->modified_ns));
  }
  add(reported, reports);
  add(left, left_over);
  return bytes;
}

reader_state reader_state::from_bytes(std::string_view bytes, std::string_view reader) {
  reader_state s;
  const char* fault = nullptr;
  try {
    protozero::pbf_reader message(bytes.data(), bytes.size());
    while (message.next()) read_field(message, s);
    fault = find_fault(s);
  } catch (const protozero::exception&) {
    fault = "bytes are not the state of a reader";
  }
  if (!fault && s.to_bytes() != bytes) fault = "bytes differ from those that a reader writes";
  if (!fault) return s;
  throw failure(errc::invalid_argument,
                std::string(reader) + ": state cannot be restored: " + fault);
}

std::string detail::resume_error(const reader_position& position, const file_status& now) {
  if (now.is_stream && position.offset > 0) {
    return "the data before offset " + std::to_string(position.offset) +
           " was read from a stream, which cannot be read again";
  }
  const bool was_open = position.file_size != 0 || position.modified_ns != 0;
  const bool same = now.size == position.file_size && now.modified_ns == position.modified_ns;
  if (!was_open || same) return {};
  return "file has changed since the state was saved: it had " +
         std::to_string(position.file_size) + " bytes and has " + std::to_string(now.size) +
         (now.size == position.file_size ? ", and another time" : "");
}

}  // namespace LEAT
