#pragma once

/// The version of these headers. Within one major and minor number, programs need not be recompiled
/// for a newer library; while the major number is 0, a new minor number may change the API.
#define MUSTER_VERSION_MAJOR 0
#define MUSTER_VERSION_MINOR 1
#define MUSTER_VERSION_PATCH 0

/// Marks the exports of the shared library.
#define MUSTER_EXPORT __attribute__((visibility("default")))

#ifdef __cplusplus
/// Everything public is in the namespace `muster`. Symbols also carry the version of the API, so
/// that two versions can be loaded into one process. It is not called `v1`: that is the namespace
/// of the messages in muster/v1/*.proto. The library itself is compiled with MUSTER_INLINE empty.
#ifndef MUSTER_INLINE
#define MUSTER_INLINE inline
#endif
#define MUSTER_BEGIN_NAMESPACE \
  namespace muster {           \
  MUSTER_INLINE namespace api_v1 {
#define MUSTER_END_NAMESPACE \
  }                          \
  }

MUSTER_BEGIN_NAMESPACE

/// The version of the running library, such as "0.1.0"; may be newer than the headers. Any thread.
[[nodiscard]] MUSTER_EXPORT const char* version();

MUSTER_END_NAMESPACE
#endif
