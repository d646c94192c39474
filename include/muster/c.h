#pragma once

#include <muster/version.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The library for programs in C, and in every language that can call C.
///
/// - Objects are opaque. Free each with the function named for it, in any order; NULL is
/// allowed. An object may outlive the one that it was made from. - `error` receives a failure,
/// which you free with muster_error_free(); NULL: not reported. It is set to NULL on success.
/// On failure, functions that return an object return NULL, others false. - Times are in
/// milliseconds; a negative time means for ever. - Strings are UTF-8 and end with 0. The
/// library copies those it gets; NULL means an empty string. - No function calls back: programs
/// wait or ask. - Structures begin with their size, so that they may grow: set `size` to
/// sizeof.
///
/// Threads: any, and several at once; but free an object only when no other thread uses it.
#ifdef __cplusplus
extern "C" {
#endif

typedef struct muster_error muster_error;
typedef struct muster_arbiter muster_arbiter;
typedef struct muster_leadership muster_leadership;
typedef struct muster_term muster_term;
typedef struct muster_cluster muster_cluster;
typedef struct muster_membership muster_membership;
typedef struct muster_directory muster_directory;

/// The numbers of muster::Code (status.h).
enum {
  MUSTER_OK = 0,
  MUSTER_NOT_FOUND = 1,
  MUSTER_UNCHANGED = 2,
  MUSTER_CONFLICT = 3,
  MUSTER_AMBIGUOUS = 4,
  MUSTER_THROTTLED = 5,
  MUSTER_UNAVAILABLE = 6,
  MUSTER_DENIED = 7,
  MUSTER_UNSUPPORTED = 8,
  MUSTER_INVALID = 9,
  MUSTER_CORRUPT = 10,
  MUSTER_CANCELLED = 11,
  MUSTER_TIMEOUT = 12
};

/// PEM files, as in muster::Tls.
typedef struct muster_tls {
  size_t size;
  const char* ca_file;
  const char* cert_file;
  const char* key_file;
} muster_tls;

/// As in muster::LeaderOptions; all zero means its defaults.
typedef struct muster_leader_options {
  size_t size;
  const char* id;
  const char* value;
  int64_t lease;          ///< 0: 6000.
  bool only_watches;      ///< Never campaigns.
  bool exits_on_overrun;  ///< Overrun::kExit.
} muster_leader_options;

/// The values of muster_lock_options::sharing.
enum {
  MUSTER_LOCK_PLAIN = 0,      ///< A mutex or a semaphore.
  MUSTER_LOCK_SHARED = 1,     ///< A read/write lock, for reading.
  MUSTER_LOCK_EXCLUSIVE = 2,  ///< A read/write lock, for writing.
};

/// As in muster::LockOptions; all zero means its defaults.
typedef struct muster_lock_options {
  size_t size;
  int64_t ttl;       ///< 0: 6000.
  uint32_t permits;  ///< 0: 1, or 8 of a read/write lock.
  int sharing;
  bool once;  ///< Does not wait for a lock that is held by others.
} muster_lock_options;

/// A leader as last seen. The arrays fit the longest id and value.
typedef struct muster_leader {
  size_t size;
  uint64_t token;
  char id[129];
  char value[1025];
} muster_leader;

/// As in muster::Node; kinds and states have the numbers of muster::NodeKind and muster::NodeState.
typedef struct muster_node {
  size_t size;
  char id[129];
  char address[256];
  uint16_t port;
  int kind;
  uint32_t weight;
  int state;
} muster_node;

/// The version of the running library, such as "0.1.0".
MUSTER_EXPORT const char* muster_version(void);
/// Rises when a function is added; none is ever removed or changed. 2 for this header.
MUSTER_EXPORT int muster_abi(void);

/// MUSTER_OK for NULL.
MUSTER_EXPORT int muster_error_code(const muster_error* error);
/// Valid as long as the error.
MUSTER_EXPORT const char* muster_error_message(const muster_error* error);
MUSTER_EXPORT void muster_error_free(muster_error* error);

/// Arbiter::open(); `tls` may be NULL.
MUSTER_EXPORT muster_arbiter* muster_arbiter_open(const char* url, const muster_tls* tls,
                                                  muster_error** error);
MUSTER_EXPORT bool muster_arbiter_probe(const muster_arbiter* arbiter, muster_error** error);
MUSTER_EXPORT void muster_arbiter_free(muster_arbiter* arbiter);

/// Leadership::stand(); `options` may be NULL.
MUSTER_EXPORT muster_leadership* muster_leadership_stand(const muster_arbiter* arbiter,
                                                         const char* name,
                                                         const muster_leader_options* options,
                                                         muster_error** error);
/// Waits until this process leads. MUSTER_TIMEOUT; MUSTER_CANCELLED once it was stopped.
MUSTER_EXPORT muster_term* muster_leadership_wait(muster_leadership* leadership, int64_t at_most,
                                                  muster_error** error);
/// False if no leader is known. The caller sets `leader->size`.
MUSTER_EXPORT bool muster_leadership_leader(const muster_leadership* leadership,
                                            muster_leader* leader);
/// The oldest trouble that was not reported yet, to be freed; NULL: none. At most 64 are kept;
/// older ones are dropped.
MUSTER_EXPORT muster_error* muster_leadership_trouble(muster_leadership* leadership);
/// Hands over, to the candidate `prefer` if it is not NULL and is alive.
MUSTER_EXPORT bool muster_leadership_step_down(muster_leadership* leadership, const char* prefer,
                                               muster_error** error);
/// Leadership::stop(). Ends a wait in another thread.
MUSTER_EXPORT bool muster_leadership_stop(muster_leadership* leadership, muster_error** error);
/// Stops it first.
MUSTER_EXPORT void muster_leadership_free(muster_leadership* leadership);

MUSTER_EXPORT bool muster_term_valid(const muster_term* term);
MUSTER_EXPORT uint64_t muster_term_token(const muster_term* term);
MUSTER_EXPORT int64_t muster_term_left(const muster_term* term);
/// Waits until the work should stop; false if it need not stop after `at_most`.
MUSTER_EXPORT bool muster_term_wait_stop(const muster_term* term, int64_t at_most);
/// The work is done: the lease may be released. Unlocks a lock.
MUSTER_EXPORT void muster_term_free(muster_term* term);

/// Lock::acquire(), in the background; `options` may be NULL. The result is used like a term: it is
/// valid while the lock is held, muster_term_wait_stop() waits until it is lost, and
/// muster_term_free() unlocks it, or ends the attempt.
MUSTER_EXPORT muster_term* muster_lock_acquire(const muster_arbiter* arbiter, const char* name,
                                               const muster_lock_options* options,
                                               muster_error** error);
/// Waits until the lock is held. MUSTER_TIMEOUT after `at_most`: the attempt goes on, unless it was
/// to be made once. Other errors end it, MUSTER_INVALID for wrong options among them.
MUSTER_EXPORT bool muster_lock_wait(muster_term* lock, int64_t at_most, muster_error** error);

/// Cluster::connect(); `tls` may be NULL.
MUSTER_EXPORT muster_cluster* muster_cluster_connect(const char* servers, const muster_tls* tls,
                                                     muster_error** error);
MUSTER_EXPORT void muster_cluster_free(muster_cluster* cluster);
/// Membership::join(), which waits at most 10 s. Kind 0 means a node that holds keys, weight 0
/// means 1.
MUSTER_EXPORT muster_membership* muster_membership_join(const muster_cluster* cluster,
                                                        const muster_node* node,
                                                        muster_error** error);
/// Deregisters the node first.
MUSTER_EXPORT void muster_membership_free(muster_membership* membership);

/// Directory::follow(), which waits at most 10 s.
MUSTER_EXPORT muster_directory* muster_directory_follow(const muster_cluster* cluster,
                                                        muster_error** error);
/// Fills in up to `most` nodes in the order of their ids, each of `size` bytes. Returns the number
/// of nodes.
MUSTER_EXPORT size_t muster_directory_nodes(const muster_directory* directory, muster_node* nodes,
                                            size_t size, size_t most);
/// Likewise for the nodes that hold `key`, the primary first.
MUSTER_EXPORT size_t muster_directory_owners(const muster_directory* directory, const char* key,
                                             muster_node* nodes, size_t size, size_t most);
MUSTER_EXPORT void muster_directory_free(muster_directory* directory);

#ifdef __cplusplus
}
#endif
