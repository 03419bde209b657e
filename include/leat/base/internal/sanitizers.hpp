#pragma once

// The sanitizers of this build; each macro is 1 or 0.
#if defined(__SANITIZE_ADDRESS__)
#define LEAT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LEAT_ASAN 1
#endif
#endif
#ifndef LEAT_ASAN
#define LEAT_ASAN 0
#endif

#if defined(__SANITIZE_THREAD__)
#define LEAT_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LEAT_TSAN 1
#endif
#endif
#ifndef LEAT_TSAN
#define LEAT_TSAN 0
#endif
