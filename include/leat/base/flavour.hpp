#pragma once

// The flavour of leat is the Asio with which it is compiled: standalone Asio, or Boost's. It is a
// property of the build. The flags of leat.pc and leat-boost.pc define which flavour it is.

#if defined(LEAT_ASIO_BOOST) && defined(LEAT_ASIO_STANDALONE)
#error "leat: one file has one flavour: use the flags of leat.pc or leat-boost.pc"
#endif

/// The namespace of leat, for declarations: `namespace LEAT {`, `namespace LEAT::detail {`. With
/// Boost.Asio it is an inline namespace in `leat`: the symbols of the two flavours differ, and a
/// program can link both libraries.
#if defined(LEAT_ASIO_BOOST)
#define LEAT leat::inline boost_asio
#else
#define LEAT leat
#endif

namespace LEAT::detail {

/// Defined by the library of this flavour: the name appears in the message of the linker if a
/// program is linked with a library of the other flavour only.
#if defined(LEAT_ASIO_BOOST)
extern const char flavour_boost_asio;
[[gnu::used]] inline const char* const flavour = &flavour_boost_asio;
#else
extern const char flavour_standalone_asio;
[[gnu::used]] inline const char* const flavour = &flavour_standalone_asio;
#endif

}  // namespace LEAT::detail
