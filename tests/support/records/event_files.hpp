#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include "leat/codec/event/event.hpp"
#include "leat/codec/tfrecord/tfrecord.hpp"
#include "leat/sim/world/world.hpp"

namespace leat_test {

/// Returns the complete events at the beginning of a file.
inline std::vector<leat::event_record> events_in(std::string_view bytes) {
  std::vector<leat::byte_view> records;
  leat::scan_tfrecords(leat::as_bytes(bytes), records, SIZE_MAX, UINT64_MAX);
  std::vector<leat::event_record> events;
  for (const leat::byte_view r : records) {
    events.push_back(leat::event_record::from_bytes(leat::as_text(r)));
  }
  return events;
}

/// Returns the events of all files of a world, in the order of the file names. Each file must be an
/// event file.
inline std::vector<leat::event_record> events_of(leat::sim::world& w) {
  std::vector<leat::event_record> all;
  for (const std::string& path : w.files().files()) {
    for (leat::event_record& e : events_in(w.files().read_file(path).value()))
      all.push_back(std::move(e));
  }
  return all;
}

/// Describes an event in words, such as "version", "START 3", "STOP" or "loss 7". A summary is
/// described by its tags.
inline std::string words_of(const leat::event_record& e) {
  const std::string step = e.step == 0 ? "" : " " + std::to_string(e.step);
  if (std::holds_alternative<leat::file_version>(e.what)) return "version" + step;
  if (std::holds_alternative<leat::serialized_graph>(e.what)) return "graph" + step;
  if (std::holds_alternative<leat::serialized_meta_graph>(e.what)) return "meta graph" + step;
  if (const auto* const s = std::get_if<leat::summary>(&e.what)) {
    std::string tags;
    for (const leat::summary_value& v : s->values) tags += (tags.empty() ? "" : ",") + v.tag;
    return tags + step;
  }
  if (const auto* const l = std::get_if<leat::session_log>(&e.what)) {
    const char* const names[] = {"LOG", "START", "STOP", "CHECKPOINT"};
    return names[l->status] + step;
  }
  return "?" + step;
}

inline std::vector<std::string> words_of(const std::vector<leat::event_record>& events) {
  std::vector<std::string> words;
  for (const leat::event_record& e : events) words.push_back(words_of(e));
  return words;
}

}  // namespace leat_test
