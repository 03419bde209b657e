#pragma once

// Macros for clang's thread-safety analysis, which checks at compile time which lock guards which
// field.
#if defined(__clang__)
#define LEAT_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define LEAT_THREAD_ANNOTATION(x)
#endif

#define LEAT_CAPABILITY(name) LEAT_THREAD_ANNOTATION(capability(name))
#define LEAT_SCOPED_CAPABILITY LEAT_THREAD_ANNOTATION(scoped_lockable)
#define LEAT_GUARDED_BY(m) LEAT_THREAD_ANNOTATION(guarded_by(m))
#define LEAT_REQUIRES(...) LEAT_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define LEAT_ACQUIRE(...) LEAT_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define LEAT_TRY_ACQUIRE(...) LEAT_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define LEAT_RELEASE(...) LEAT_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define LEAT_EXCLUDES(...) LEAT_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
#define LEAT_NO_ANALYSIS LEAT_THREAD_ANNOTATION(no_thread_safety_analysis)
