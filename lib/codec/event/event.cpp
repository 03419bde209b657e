#include "leat/codec/event/event.hpp"

#include <bit>
#include <limits>
#include <set>
#include <utility>

#include <protozero/pbf_writer.hpp>

#include "base/text/protobuf_reader.hpp"
#include "base/text/utf8.hpp"
#include "leat/base/error.hpp"

namespace LEAT {
namespace {

using detail::make_tag;
using detail::malformed_message;
using detail::protobuf_reader;
using detail::wire_type;
using protozero::pbf_writer;

// The fields of the messages, in the order of their declarations.
enum event_field : std::uint32_t {
  wall_time_field = 1,
  step_field = 2,
  version_field = 3,
  graph_field = 4,
  summary_field = 5,
  log_field = 6,
  session_field = 7,
  run_metadata_field = 8,
  meta_graph_field = 9
};
enum value_field : std::uint32_t {
  tag_field = 1,
  scalar_field = 2,
  old_histogram_field = 3,
  image_field = 4,
  histogram_field = 5,
  audio_field = 6,
  node_name_field = 7,  // formerly the tag
  tensor_field = 8,
  metadata_field = 9
};
enum histogram_part : std::uint32_t {
  min_field = 1,
  max_field = 2,
  num_field = 3,
  sum_field = 4,
  sum_squares_field = 5,
  limits_field = 6,
  counts_field = 7
};
// The sizes of messages with up to three fields.
enum : std::uint32_t { first = 1, second = 2, third = 3 };

// -------------------------------------------------------------------------------------- writing

const std::string& checked(const std::string& text) {
  if (detail::is_utf8(text)) return text;
  throw failure(errc::invalid_argument, "event: text is not UTF-8: '" + text + "'");
}

// protobuf omits numbers whose bits are all zero, so -0 is written.
void add_unless_zero(pbf_writer& out, std::uint32_t field, double value) {
  if (std::bit_cast<std::uint64_t>(value) != 0) out.add_double(field, value);
}
void add_unless_zero(pbf_writer& out, std::uint32_t field, std::int32_t value) {
  if (value != 0) out.add_enum(field, value);
}
void add_unless_empty(pbf_writer& out, std::uint32_t field, const std::string& text) {
  if (!text.empty()) out.add_string(field, checked(text));
}

std::string make_message(const histogram_data& h) {
  std::string bytes;
  pbf_writer out(bytes);
  add_unless_zero(out, min_field, h.min);
  add_unless_zero(out, max_field, h.max);
  add_unless_zero(out, num_field, h.num);
  add_unless_zero(out, sum_field, h.sum);
  add_unless_zero(out, sum_squares_field, h.sum_squares);
  out.add_packed_double(limits_field, h.bucket_limit.begin(), h.bucket_limit.end());
  out.add_packed_double(counts_field, h.bucket.begin(), h.bucket.end());
  return bytes;
}

bool is_unparsed(std::uint32_t field) noexcept {
  return field == old_histogram_field || field == image_field || field == audio_field ||
         field == tensor_field;
}

struct value_writer {
  pbf_writer& out;

  void operator()(std::monostate) const {}
  void operator()(float scalar) const { out.add_float(scalar_field, scalar); }
  void operator()(const histogram_data& h) const {
    out.add_message(histogram_field, make_message(h));
  }
  void operator()(const unparsed_value& v) const {
    if (!is_unparsed(v.field)) {
      throw failure(errc::invalid_argument, "unparsed_value::field is " + std::to_string(v.field) +
                                                ", must be 3, 4, 6 or 8");
    }
    out.add_bytes(v.field, v.bytes);
  }
};

std::string make_message(const summary_value& v) {
  std::string bytes;
  pbf_writer out(bytes);
  add_unless_empty(out, tag_field, v.tag);
  std::visit(value_writer{out}, v.value);
  if (!v.metadata.empty()) out.add_message(metadata_field, v.metadata);
  return bytes;
}

std::string make_message(const log_message& m) {
  std::string bytes;
  pbf_writer out(bytes);
  add_unless_zero(out, first, m.level);
  add_unless_empty(out, second, m.message);
  return bytes;
}

std::string make_message(const session_log& l) {
  std::string bytes;
  pbf_writer out(bytes);
  add_unless_zero(out, first, l.status);
  add_unless_empty(out, second, l.checkpoint_path);
  add_unless_empty(out, third, l.message);
  return bytes;
}

std::string make_message(const tagged_run_metadata& m) {
  std::string bytes;
  pbf_writer out(bytes);
  add_unless_empty(out, first, m.tag);
  if (!m.bytes.empty()) out.add_bytes(second, m.bytes);
  return bytes;
}

struct content_writer {
  pbf_writer& out;

  void operator()(std::monostate) const {}
  void operator()(const file_version& v) const { out.add_string(version_field, checked(v.text)); }
  void operator()(const serialized_graph& g) const { out.add_bytes(graph_field, g.bytes); }
  void operator()(const summary& s) const { out.add_message(summary_field, s.to_bytes()); }
  void operator()(const log_message& m) const { out.add_message(log_field, make_message(m)); }
  void operator()(const session_log& l) const { out.add_message(session_field, make_message(l)); }
  void operator()(const tagged_run_metadata& m) const {
    out.add_message(run_metadata_field, make_message(m));
  }
  void operator()(const serialized_meta_graph& g) const {
    out.add_bytes(meta_graph_field, g.bytes);
  }
};

// -------------------------------------------------------------------------------------- reading

// Reads a nested message. A repeated message is merged into the first one, as in protobuf, and
// replaces another member of its oneof.
template <class T, class Variant>
T& member(Variant& v) {
  if (auto* const there = std::get_if<T>(&v)) return *there;
  return v.template emplace<T>();
}

std::string read_text(protobuf_reader& in) {
  const std::string_view text = in.bytes();
  if (!detail::is_utf8(text)) throw malformed_message{"text that is not UTF-8"};
  return std::string(text);
}

double read_double(protobuf_reader& in) { return std::bit_cast<double>(in.fixed64()); }

// An enumerator has 32 bits, and ten bytes if it is negative.
template <class Enum>
Enum read_enum(protobuf_reader& in) {
  return static_cast<Enum>(static_cast<std::int32_t>(static_cast<std::uint32_t>(in.varint())));
}

void read_packed(protobuf_reader& in, std::vector<double>& to) {
  const std::string_view bytes = in.bytes();
  if (bytes.size() % sizeof(double) != 0)
    throw malformed_message{"list whose last number is truncated"};
  protobuf_reader list(bytes);
  to.reserve(to.size() + bytes.size() / sizeof(double));
  while (!list.done()) to.push_back(read_double(list));
}

// Calls read(tag, in) for each field; read() returns false for a field that it does not know.
template <class Read>
void for_each_field(std::string_view bytes, Read&& read) {
  protobuf_reader in(bytes);
  while (!in.done()) {
    const std::uint32_t tag = in.tag();
    if (!read(tag, in)) in.skip(tag);
  }
}

void read_into(histogram_data& h, std::string_view bytes) {
  for_each_field(bytes, [&](std::uint32_t tag, protobuf_reader& in) {
    switch (tag) {
      case make_tag(min_field, wire_type::fixed64): h.min = read_double(in); return true;
      case make_tag(max_field, wire_type::fixed64): h.max = read_double(in); return true;
      case make_tag(num_field, wire_type::fixed64): h.num = read_double(in); return true;
      case make_tag(sum_field, wire_type::fixed64): h.sum = read_double(in); return true;
      case make_tag(sum_squares_field, wire_type::fixed64):
        h.sum_squares = read_double(in);
        return true;
      case make_tag(limits_field, wire_type::fixed64):
        h.bucket_limit.push_back(read_double(in));
        return true;
      case make_tag(counts_field, wire_type::fixed64):
        h.bucket.push_back(read_double(in));
        return true;
      case make_tag(limits_field, wire_type::bytes): read_packed(in, h.bucket_limit); return true;
      case make_tag(counts_field, wire_type::bytes): read_packed(in, h.bucket); return true;
      default: return false;
    }
  });
}

// Two consecutive messages are merged into one, by appending their bytes: protobuf merges the
// fields of concatenated messages. The old histogram is not a message but bytes, so the last one
// counts.
void read_unparsed(summary_value& v, std::uint32_t field, std::string_view bytes) {
  auto& there = member<unparsed_value>(v.value);
  const bool merges = there.field == field && field != old_histogram_field;
  if (!merges) there = {field, {}};
  there.bytes.append(bytes);
}

void read_into(summary_value& v, std::string_view bytes) {
  for_each_field(bytes, [&](std::uint32_t tag, protobuf_reader& in) {
    switch (tag) {
      case make_tag(tag_field, wire_type::bytes): v.tag = read_text(in); return true;
      case make_tag(scalar_field, wire_type::fixed32):
        v.value = std::bit_cast<float>(in.fixed32());
        return true;
      case make_tag(histogram_field, wire_type::bytes):
        read_into(member<histogram_data>(v.value), in.bytes());
        return true;
      case make_tag(old_histogram_field, wire_type::bytes):
      case make_tag(image_field, wire_type::bytes):
      case make_tag(audio_field, wire_type::bytes):
      case make_tag(tensor_field, wire_type::bytes):
        read_unparsed(v, tag >> 3, in.bytes());
        return true;
      case make_tag(node_name_field, wire_type::bytes):
        static_cast<void>(read_text(in));
        return true;
      case make_tag(metadata_field, wire_type::bytes): v.metadata.append(in.bytes()); return true;
      default: return false;
    }
  });
}

void read_into(summary& s, std::string_view bytes, const event_limits& limits) {
  for_each_field(bytes, [&](std::uint32_t tag, protobuf_reader& in) {
    if (tag != make_tag(first, wire_type::bytes)) return false;
    const std::string_view value = in.bytes();
    if (s.values.size() >= limits.max_values) {
      throw failure(errc::resource_exhausted,
                    "summary has more than " + std::to_string(limits.max_values) +
                        " values: raise event_limits::max_values to read it");
    }
    read_into(s.values.emplace_back(), value);
    return true;
  });
}

void read_into(log_message& m, std::string_view bytes) {
  for_each_field(bytes, [&](std::uint32_t tag, protobuf_reader& in) {
    switch (tag) {
      case make_tag(first, wire_type::varint):
        m.level = read_enum<log_message::level_type>(in);
        return true;
      case make_tag(second, wire_type::bytes): m.message = read_text(in); return true;
      default: return false;
    }
  });
}

void read_into(session_log& l, std::string_view bytes) {
  for_each_field(bytes, [&](std::uint32_t tag, protobuf_reader& in) {
    switch (tag) {
      case make_tag(first, wire_type::varint):
        l.status = read_enum<session_log::status_type>(in);
        return true;
      case make_tag(second, wire_type::bytes): l.checkpoint_path = read_text(in); return true;
      case make_tag(third, wire_type::bytes): l.message = read_text(in); return true;
      default: return false;
    }
  });
}

void read_into(tagged_run_metadata& m, std::string_view bytes) {
  for_each_field(bytes, [&](std::uint32_t tag, protobuf_reader& in) {
    switch (tag) {
      case make_tag(first, wire_type::bytes): m.tag = read_text(in); return true;
      case make_tag(second, wire_type::bytes): m.bytes = std::string(in.bytes()); return true;
      default: return false;
    }
  });
}

void read_field(protobuf_reader& in, event_record& e, const event_limits& limits) {
  const std::uint32_t tag = in.tag();
  switch (tag) {
    case make_tag(wall_time_field, wire_type::fixed64): e.wall_time = read_double(in); return;
    case make_tag(step_field, wire_type::varint):
      e.step = static_cast<std::int64_t>(in.varint());
      return;
    case make_tag(version_field, wire_type::bytes): e.what = file_version{read_text(in)}; return;
    case make_tag(graph_field, wire_type::bytes):
      e.what = serialized_graph{std::string(in.bytes())};
      return;
    case make_tag(meta_graph_field, wire_type::bytes):
      e.what = serialized_meta_graph{std::string(in.bytes())};
      return;
    case make_tag(summary_field, wire_type::bytes):
      read_into(member<summary>(e.what), in.bytes(), limits);
      return;
    case make_tag(log_field, wire_type::bytes):
      read_into(member<log_message>(e.what), in.bytes());
      return;
    case make_tag(session_field, wire_type::bytes):
      read_into(member<session_log>(e.what), in.bytes());
      return;
    case make_tag(run_metadata_field, wire_type::bytes):
      read_into(member<tagged_run_metadata>(e.what), in.bytes());
      return;
    default: in.skip(tag);
  }
}

// Reads the fields in order. An error for corrupt data names the offset of the field.
template <class Read>
void read_all(std::string_view bytes, const char* what, Read&& read) {
  protobuf_reader in(bytes);
  while (!in.done()) {
    const auto offset = static_cast<std::size_t>(in.at() - bytes.data());
    try {
      read(in);
    } catch (const malformed_message& d) {
      throw failure(errc::data_loss, std::string(what) + " of " + std::to_string(bytes.size()) +
                                         " bytes is corrupt in the field at offset " +
                                         std::to_string(offset) + ": " + d.what);
    }
  }
}

// Rounded to the nearest; a number that is too large for a float is infinite, as in numpy.
float to_float(double value) noexcept {
  static_assert(std::numeric_limits<float>::is_iec559);
  return static_cast<float>(value);
}

template <class Number>
summary& add_values(summary& s, std::string tag, std::span<const Number> values) {
  histogram h;
  h.add(values, tag);
  return s.add_histogram(std::move(tag), h);
}

}  // namespace

// ------------------------------------------------------------------------------------- summaries

summary& summary::add_scalar(std::string tag, double value) {
  values.push_back({std::move(tag), to_float(value), {}});
  return *this;
}

summary& summary::add_histogram(std::string tag, const histogram& h) {
  values.push_back({std::move(tag), h.encode(), {}});
  return *this;
}

summary& summary::add_histogram(std::string tag, std::span<const double> v) {
  return add_values(*this, std::move(tag), v);
}

summary& summary::add_histogram(std::string tag, std::span<const float> v) {
  return add_values(*this, std::move(tag), v);
}

std::string summary::to_bytes() const {
  std::string bytes;
  pbf_writer out(bytes);
  for (const summary_value& v : values) out.add_message(first, make_message(v));
  return bytes;
}

summary summary::from_bytes(std::string_view bytes, const event_limits& limits) {
  summary s;
  read_all(bytes, "summary", [&](protobuf_reader& in) {
    const char* const begin = in.at();
    in.skip(in.tag());
    read_into(s, {begin, static_cast<std::size_t>(in.at() - begin)}, limits);
  });
  return s;
}

summary merge_summaries(std::span<const summary> parts) {
  summary all;
  std::set<std::string_view> tags;
  for (const summary& part : parts) {
    for (const summary_value& v : part.values) {
      if (!v.tag.empty() && !tags.insert(v.tag).second) {
        throw failure(errc::invalid_argument,
                      "tag '" + v.tag + "' occurs twice in the summaries to merge");
      }
      all.values.push_back(v);
    }
  }
  return all;
}

// ---------------------------------------------------------------------------------------- events

std::string event_record::to_bytes() const {
  std::string bytes;
  pbf_writer out(bytes);
  add_unless_zero(out, wall_time_field, wall_time);
  if (step != 0) out.add_int64(step_field, step);
  std::visit(content_writer{out}, what);
  return bytes;
}

event_record event_record::from_bytes(std::string_view bytes, const event_limits& limits) {
  event_record e;
  read_all(bytes, "event", [&](protobuf_reader& in) { read_field(in, e, limits); });
  return e;
}

}  // namespace LEAT
