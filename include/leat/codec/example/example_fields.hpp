#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "leat/base/bytes.hpp"
#include "leat/codec/decode_error.hpp"
#include "leat/codec/example/example_options.hpp"
#include "leat/tensor/dtype.hpp"
#include "leat/tensor/shape.hpp"

namespace LEAT {
namespace detail {

template <class V>
concept example_number = std::same_as<V, float> || std::same_as<V, std::int64_t>;
template <class V>
concept example_value = example_number<V> || std::same_as<V, std::string>;
template <example_value V>
inline constexpr dtype type_of = std::same_as<V, float>          ? dtype::float32
                                 : std::same_as<V, std::int64_t> ? dtype::int64
                                                                 : dtype::string;
template <class V>
concept raw_byte =
    std::same_as<V, std::byte> || std::same_as<V, char> || std::same_as<V, unsigned char>;

/// Stands for any number of values or any size of a string.
inline constexpr std::size_t any_count = SIZE_MAX;

/// Describes how a member of a type holds the values of a feature. Only the types below have a
/// specialization.
///     count, size          number of values, and size of each string; any_count if not fixed
///     is_list              true for a container of values, even if it holds one
///     resize(member, count)  resizes the member to `count` values; returns a pointer to the first
///     assign(member, i, text)  sets string i; i is at most the number of strings in the member
template <class Member>
struct member_values;

template <example_value V>
struct member_values<V> {
  using value = V;
  static constexpr bool may_be_none = false;
  static constexpr bool is_list = false;
  static constexpr std::size_t count = 1;
  static constexpr std::size_t size = any_count;
  static V* resize(V& member, std::size_t) noexcept { return &member; }
  static void assign(V& member, std::size_t, std::string_view text) { member.assign(text); }
};

template <example_value V>
struct member_values<std::optional<V>> {
  using value = V;
  static constexpr bool may_be_none = true;
  static constexpr bool is_list = false;
  static constexpr std::size_t count = 1;
  static constexpr std::size_t size = any_count;
  static V* resize(std::optional<V>& member, std::size_t) {
    return member ? &*member : &member.emplace();
  }
  static void assign(std::optional<V>& member, std::size_t, std::string_view text) {
    resize(member, 1)->assign(text);
  }
};

template <example_value V, std::size_t N>
struct member_values<std::array<V, N>> {
  using value = V;
  static constexpr bool may_be_none = false;
  static constexpr bool is_list = true;
  static constexpr std::size_t count = N;
  static constexpr std::size_t size = any_count;
  static V* resize(std::array<V, N>& member, std::size_t) noexcept { return member.data(); }
  static void assign(std::array<V, N>& member, std::size_t i, std::string_view text) {
    member[i].assign(text);
  }
};

template <example_value V>
struct member_values<std::vector<V>> {
  using value = V;
  static constexpr bool may_be_none = true;
  static constexpr bool is_list = true;
  static constexpr std::size_t count = any_count;
  static constexpr std::size_t size = any_count;
  static V* resize(std::vector<V>& member, std::size_t count_of_all) {
    member.resize(count_of_all);
    return member.data();
  }
  static void assign(std::vector<V>& member, std::size_t i, std::string_view text) {
    if (i < member.size()) {
      member[i].assign(text);
    } else {
      member.emplace_back(text);
    }
  }
};

// The bytes of one string.
template <raw_byte Byte, std::size_t N>
struct member_values<std::array<Byte, N>> {
  using value = std::string;
  static constexpr bool may_be_none = false;
  static constexpr bool is_list = false;
  static constexpr std::size_t count = 1;
  static constexpr std::size_t size = N;
  static std::byte* resize(std::array<Byte, N>&, std::size_t) noexcept { return nullptr; }
  static void assign(std::array<Byte, N>& member, std::size_t, std::string_view text) noexcept {
    if constexpr (N > 0) std::memcpy(member.data(), text.data(), N);
  }
};

template <class Member>
concept example_member = requires { typename member_values<Member>::value; };
/// A member that can be without a value.
template <class Member>
concept example_member_or_none = example_member<Member> && member_values<Member>::may_be_none;

/// A feature, and the place in an object for its values, without the type of either.
struct example_target {
  std::string key;
  dtype type;
  partial_shape shape;  // for messages
  std::size_t count;
  std::size_t size;
  void* (*resize)(void* object, std::size_t count);
  void (*assign)(void* object, std::size_t index, std::string_view text);
  std::function<void(void* object)> otherwise = {};  // for a missing feature; if not set, an error
};

template <auto Member>
struct member_access;
template <class T, class M, M T::* Member>
struct member_access<Member> {
  using object_type = T;
  using type = M;
  using values = member_values<M>;
  using value = typename values::value;

  static M& in(void* object) noexcept { return static_cast<T*>(object)->*Member; }
  static void* resize(void* object, std::size_t count) { return values::resize(in(object), count); }
  static void assign(void* object, std::size_t index, std::string_view text) {
    if constexpr (std::same_as<value, std::string>) values::assign(in(object), index, text);
  }
  static example_target target(std::string key, std::size_t count) {
    partial_shape shape;
    if (values::is_list && count != any_count) shape = {static_cast<std::int64_t>(count)};
    return {std::move(key), type_of<value>, std::move(shape), count,
            values::size,   &resize,        &assign};
  }
};

/// Reads the requested features of an Example into an object.
class example_reader {
 public:
  example_reader(std::vector<example_target> targets, example_options options);
  void read(byte_view record, void* object) const;

 private:
  [[nodiscard]] std::size_t find_slot(std::string_view key) const;

  std::vector<example_target> targets_;  // by key
  example_options options_;
};

}  // namespace detail

/// A feature of an Example, and the member of T for its values. required_field() and
/// optional_field() create it.
template <class T>
struct example_field {
  /// The key of the feature and the access to its member, for use by the library.
  detail::example_target target;
};

/// Returns a field for a feature that every record must have.
///
/// The type of Member, which is a pointer to a member, determines the values of the feature:
///
///     V                        one value; V is float, std::int64_t or std::string
///     std::array<V, N>         N values
///     std::vector<V>           the number of values passed after the key
///     std::array<Byte, N>      one string of N bytes; Byte is std::byte, char or unsigned char
template <auto Member>
  requires detail::example_member<typename detail::member_access<Member>::type>
[[nodiscard]] auto required_field(std::string key) {
  using member = detail::member_access<Member>;
  static_assert(!member::values::may_be_none,
                "required_field() of a vector: pass the number of values, or use optional_field()");
  return example_field<typename member::object_type>{
      member::target(std::move(key), member::values::count)};
}
template <auto Member>
  requires detail::example_member<typename detail::member_access<Member>::type>
[[nodiscard]] auto required_field(std::string key, std::size_t count) {
  using member = detail::member_access<Member>;
  static_assert(member::values::count == detail::any_count,
                "required_field(): the type of the member determines the number of values");
  return example_field<typename member::object_type>{member::target(std::move(key), count)};
}

/// Returns a field for a feature that may be missing. The member is a std::optional<V> or a
/// std::vector<V>; it is empty if the feature is missing. A vector accepts any number of values.
template <auto Member>
  requires detail::example_member_or_none<typename detail::member_access<Member>::type>
[[nodiscard]] auto optional_field(std::string key) {
  using member = detail::member_access<Member>;
  example_field<typename member::object_type> field{
      member::target(std::move(key), member::values::count)};
  field.target.otherwise = [](void* object) {
    if constexpr (member::values::count == detail::any_count) {
      member::in(object).clear();
    } else {
      member::in(object).reset();
    }
  };
  return field;
}
/// Overload for any member: if the feature is missing, the member is set to `otherwise`. A vector
/// accepts only as many values as `otherwise` has.
template <auto Member>
  requires detail::example_member<typename detail::member_access<Member>::type>
[[nodiscard]] auto optional_field(std::string key,
                                  typename detail::member_access<Member>::type otherwise) {
  using member = detail::member_access<Member>;
  std::size_t count = member::values::count;
  if constexpr (member::values::count == detail::any_count) count = otherwise.size();
  example_field<typename member::object_type> field{member::target(std::move(key), count)};
  field.target.otherwise = [value = std::move(otherwise)](void* object) {
    member::in(object) = value;
  };
  return field;
}

/// Reads serialized tf.train.Example messages one by one, as values of a type of the program.
///
///     struct drawing {
///       std::int64_t label = 0;
///       std::vector<float> strokes;
///       std::string author;
///     };
///     const leat::example_fields<drawing> fields(
///         {leat::required_field<&drawing::label>("label"),
///          leat::optional_field<&drawing::strokes>("strokes"),
///          leat::optional_field<&drawing::author>("author", "unknown")});
///     const drawing d = fields.parse(record);
///
/// Use it for single elements, for example to shuffle or filter them. For batches, use an
/// example_parser, which builds columns from many records at once. Both accept and reject the same
/// bytes.
///
/// Thread safety: thread-safe.
template <class T>
class example_fields {
 public:
  /// Creates a reader of `fields`.
  ///
  /// Errors: invalid_argument, if there are no fields, if two fields have the same key, or if a key
  ///         is not UTF-8 although `options.check_utf8` is true.
  explicit example_fields(const std::vector<example_field<T>>& fields, example_options options = {})
      : reader_(make_targets(fields), options) {}
  explicit example_fields(std::initializer_list<example_field<T>> fields,
                          example_options options = {})
      : reader_(make_targets(fields), options) {}

  /// Parses one record. Returns a T; members without a field have the values of T{}.
  ///
  /// Errors: decode_error, with the feature: not an Example; a value that is missing, of another
  ///         kind, number or size. std::bad_alloc.
  [[nodiscard]] T parse(byte_view record) const {
    T object{};
    parse_into(record, object);
    return object;
  }

  /// Parses one record into an existing object and reuses its memory. Members without a field do
  /// not change. After an error, some members may already have new values.
  ///
  /// Cost: O(bytes); no allocation if the object has enough memory for its values.
  void parse_into(byte_view record, T& object) const { reader_.read(record, &object); }

 private:
  template <class Fields>
  static std::vector<detail::example_target> make_targets(const Fields& fields) {
    std::vector<detail::example_target> targets;
    for (const example_field<T>& field : fields) targets.push_back(field.target);
    return targets;
  }

  detail::example_reader reader_;
};

}  // namespace LEAT
