#pragma once

// Encloses coroutine templates whose parameters or variables may have a local type, such as a
// lambda. g++ warns about a coroutine frame with such a member if the program instantiates the
// template in an included file, as in a unity build. The frame is as local as the type, but g++ 12
// gives it the linkage of the header.

#if defined(__GNUC__) && !defined(__clang__)
#define LEAT_LOCAL_TYPES_BEGIN \
  _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wsubobject-linkage\"")
#define LEAT_LOCAL_TYPES_END _Pragma("GCC diagnostic pop")
#else
#define LEAT_LOCAL_TYPES_BEGIN
#define LEAT_LOCAL_TYPES_END
#endif
