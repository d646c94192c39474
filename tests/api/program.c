/* The C functions, as a program in C uses them: program ARBITER_URL SERVERS */

#include <muster/c.h>

#include <stdio.h>
#include <string.h>

#define EXPECT(condition)                                       \
  do {                                                          \
    if (!(condition)) {                                         \
      printf("line %d: not so: %s\n", __LINE__, #condition);    \
      return 1;                                                 \
    }                                                           \
  } while (0)

static int leads(const char* url) {
  muster_error* error = NULL;
  EXPECT(muster_arbiter_open("gopher://x", NULL, &error) == NULL);
  EXPECT(muster_error_code(error) == MUSTER_INVALID);
  EXPECT(strstr(muster_error_message(error), "gopher") != NULL);
  muster_error_free(error);
  EXPECT(muster_leadership_stand(NULL, "n", NULL, &error) == NULL);
  EXPECT(muster_error_code(error) == MUSTER_INVALID);
  muster_error_free(error);
  EXPECT(muster_arbiter_open(NULL, NULL, NULL) == NULL);

  muster_arbiter* arbiter = muster_arbiter_open(url, NULL, &error);
  EXPECT(arbiter != NULL && error == NULL && muster_error_code(error) == MUSTER_OK);
  EXPECT(muster_arbiter_probe(arbiter, NULL));
  muster_leader_options options = {0};
  options.size = sizeof options;
  options.id = "c";
  options.value = "here";
  options.lease = 3000;
  muster_leadership* leadership = muster_leadership_stand(arbiter, "n", &options, &error);
  EXPECT(leadership != NULL);
  muster_arbiter_free(arbiter);
  muster_term* term = muster_leadership_wait(leadership, -1, &error);
  EXPECT(term != NULL && muster_term_valid(term));
  EXPECT(muster_term_token(term) == 1 && muster_term_left(term) > 0);
  EXPECT(!muster_term_wait_stop(term, 10));
  muster_leader leader;
  memset(&leader, 'x', sizeof leader);
  leader.size = sizeof leader;
  EXPECT(muster_leadership_leader(leadership, &leader));
  EXPECT(leader.token == 1 && !strcmp(leader.id, "c") && !strcmp(leader.value, "here"));
  EXPECT(muster_leadership_trouble(leadership) == NULL);
  EXPECT(muster_leadership_step_down(leadership, NULL, &error));
  EXPECT(muster_term_wait_stop(term, -1) && !muster_term_valid(term));
  muster_term_free(term);
  EXPECT(muster_leadership_wait(leadership, 10, &error) == NULL);
  EXPECT(muster_error_code(error) == MUSTER_TIMEOUT);
  muster_error_free(error);
  EXPECT(muster_leadership_stop(leadership, &error));
  EXPECT(muster_leadership_wait(leadership, -1, &error) == NULL);
  EXPECT(muster_error_code(error) == MUSTER_CANCELLED);
  muster_error_free(error);
  muster_leadership_free(leadership);
  return 0;
}

static int locks(const char* url) {
  muster_error* error = NULL;
  EXPECT(muster_lock_acquire(NULL, "m", NULL, &error) == NULL);
  EXPECT(muster_error_code(error) == MUSTER_INVALID);
  muster_error_free(error);
  muster_arbiter* arbiter = muster_arbiter_open(url, NULL, NULL);
  muster_term* lock = muster_lock_acquire(arbiter, "m", NULL, &error);
  EXPECT(lock != NULL && error == NULL);
  EXPECT(muster_lock_wait(lock, -1, &error) && muster_term_valid(lock));
  EXPECT(muster_term_token(lock) == 1 && muster_term_left(lock) > 0);
  EXPECT(!muster_term_wait_stop(lock, 10));

  muster_lock_options once = {0};
  once.size = sizeof once;
  once.once = true;
  muster_term* second = muster_lock_acquire(arbiter, "m", &once, &error);
  EXPECT(!muster_lock_wait(second, -1, &error) && !muster_term_valid(second));
  EXPECT(muster_error_code(error) == MUSTER_TIMEOUT && muster_term_token(second) == 0);
  muster_error_free(error);
  muster_term_free(second);

  second = muster_lock_acquire(arbiter, "m", NULL, &error);
  EXPECT(!muster_lock_wait(second, 10, &error) && muster_error_code(error) == MUSTER_TIMEOUT);
  muster_error_free(error);
  muster_term_free(lock);
  EXPECT(muster_lock_wait(second, -1, &error) && muster_term_token(second) == 2);
  muster_term_free(second);

  once.sharing = MUSTER_LOCK_SHARED;
  lock = muster_lock_acquire(arbiter, "rw", &once, &error);
  second = muster_lock_acquire(arbiter, "rw", &once, &error);
  EXPECT(muster_lock_wait(lock, -1, &error) && muster_lock_wait(second, -1, &error));
  once.sharing = MUSTER_LOCK_EXCLUSIVE;
  muster_term* writer = muster_lock_acquire(arbiter, "rw", &once, &error);
  muster_arbiter_free(arbiter);
  EXPECT(!muster_lock_wait(writer, -1, &error) && muster_error_code(error) == MUSTER_TIMEOUT);
  muster_error_free(error);
  muster_term_free(writer);
  muster_term_free(second);
  muster_term_free(lock);
  return 0;
}

static int joins(const char* servers) {
  muster_error* error = NULL;
  muster_cluster* cluster = muster_cluster_connect(servers, NULL, &error);
  EXPECT(cluster != NULL);
  muster_node node = {0};
  node.size = sizeof node;
  strcpy(node.id, "o1");
  strcpy(node.address, "10.0.0.7");
  node.port = 7000;
  muster_membership* membership = muster_membership_join(cluster, &node, &error);
  EXPECT(membership != NULL);
  muster_directory* directory = muster_directory_follow(cluster, &error);
  EXPECT(directory != NULL);
  muster_cluster_free(cluster);
  muster_node found[2];
  EXPECT(muster_directory_nodes(directory, found, sizeof found[0], 2) == 1);
  EXPECT(!strcmp(found[0].id, "o1") && found[0].port == 7000 && found[0].kind == 3);
  EXPECT(found[0].state == 1 && found[0].weight == 1 && found[0].size == sizeof found[0]);
  EXPECT(muster_directory_owners(directory, "some-key", found, sizeof found[0], 2) == 1);
  EXPECT(muster_directory_nodes(directory, NULL, 0, 0) == 1);
  muster_membership_free(membership);
  muster_directory_free(directory);
  return 0;
}

int main(int count, char** words) {
  EXPECT(count == 3 && muster_abi() == 2);
  printf("%s\n", muster_version());
  muster_error_free(NULL);
  muster_term_free(NULL);
  return leads(words[1]) || locks(words[1]) || joins(words[2]);
}
