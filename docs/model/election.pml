/* The election of one namespace by rules E1-E6 of ../architecture.md. README.md says what is
 * modelled, what is not, and how to run it.
 *
 * A write is a slot: the worker awaits its outcome while the message travels, whichever ends first.
 * Revisions are numbers. A message that travels is always meant for the newest one: the moment
 * another write lands, it can only fail. A pause, a slow network and a slow store need no words of
 * their own: nobody here has to take a step before the clock does.
 */

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef REVISIONS
#define REVISIONS 4             /* So many writes land; then the store takes no more. */
#endif
#ifndef RESTARTS
#define RESTARTS 1              /* So many processes end and start again, all in all. */
#endif
#ifndef SLOTS
#define SLOTS 1                 /* So many writes of one worker are unsettled at once, 1 or 2. */
#endif
#define LEASE 2                 /* Ticks for which a follower waits. */
#ifdef WRONG_NO_DRIFT
#define HELD (LEASE + 1)
#else
#define HELD LEASE              /* Ticks for which a holder leads by a clock that is as slow as */
#endif                          /* the drift allows, so that (1 - drift) of a lease take all of it. */
#define NOBODY 0
#define UNKNOWN (REVISIONS + 1) /* The revision of one who has read nothing yet. */

mtype = { NONE, ACQUIRE, REUSE, RENEW, RELEASE };  /* REUSE: to acquire at the old epoch. */
mtype = { NOWHERE, TO_STORE, TO_WORKER };

typedef Body {                  /* What stands in the store at one revision. */
  byte holder;
  byte epoch;
  byte slot                     /* With holder and revision, it is the nonce. */
};
typedef Slot {
  mtype kind = NONE;            /* NONE: nothing is awaited. */
  mtype sent = NONE;            /* What travels; a restart forgets `kind`, and not this. */
  mtype where = NOWHERE;
  byte writer;
  byte left                     /* Ticks until a lease counted from the send has been held. */
};
typedef Worker {
  byte incarnation;
  byte known = UNKNOWN;         /* The revision last read or written. */
  byte wait;                    /* Ticks until the lease at `known` has expired from here (E3). */
  byte hold;                    /* Ticks until the own deadline; it leads while there are any (E2). */
  byte awaits;                  /* One more than the slot whose reply is waited for. */
#ifdef WRONG_OBSERVE_FROM_REQUEST
  byte since;                   /* Ticks since a read was sent, and one more. */
#endif
  byte work;                    /* Epoch of work that was allowed and is yet to be done. */
  Slot slot[SLOTS]
};

Body body[REVISIONS + 2];
byte revision;
Worker worker[WORKERS];
byte last_term;                 /* The epoch of the term that began last. */
byte resource_epoch;            /* The highest epoch that the resource has seen ... */
byte resource_writer;           /* ... and whose it was. */
byte restarts = RESTARTS;
hidden byte i, j, oldest;
hidden byte flag;

#define W worker[w]
#define S worker[w].slot[s]
#define me(w) (1 + (w) + WORKERS * worker[w].incarnation)
#define seen(w) body[worker[w].known]
#define mine(w) (seen(w).holder == me(w))
#define leads(w) (worker[w].hold > 0)
#define unused(w, s) (worker[w].slot[s].kind == NONE && worker[w].slot[s].where == NOWHERE)
#if SLOTS == 1
#define free_slot(w) 0
#else
#define free_slot(w) (unused(w, 0) -> 0 : 1)
#endif
#define may_write(w) (W.awaits == 0 && W.known != UNKNOWN && unused(w, free_slot(w)))

/* What nobody can see any more is forgotten, or equal futures would count as different. */
inline forget() {
  oldest = revision;
  for (i : 0 .. WORKERS - 1) {
    if
    :: worker[i].known < oldest -> oldest = worker[i].known
    :: else
    fi
  }
  for (i : 0 .. REVISIONS) {
    if
    :: i < oldest -> body[i].holder = 0; body[i].epoch = 0; body[i].slot = 0
    :: else
    fi
  }
  i = 0                         /* A d_step must not end with a loop. */
}

inline vanish(w, s) { S.where = NOWHERE; S.sent = NONE; S.writer = 0 }

/* Nothing is awaited any more. What travels to the store may land all the same. */
inline settle(w) {
  for (i : 0 .. SLOTS - 1) {
    worker[w].slot[i].kind = NONE; worker[w].slot[i].left = 0;
    if
    :: worker[w].slot[i].where == TO_WORKER -> vanish(w, i)
    :: else
    fi
  }
}

/* The write in slot s has landed, and this worker has learnt of it (E1, E2). */
inline grant(w, s) {
#ifdef WRONG_COUNT_FROM_REPLY
  S.left = HELD;
#endif
  if
  :: S.kind == RELEASE || S.left == 0                 /* Of no use any more. */
#ifndef WRONG_REVIVE
  :: S.kind == RENEW && S.left > 0 && !leads(w)       /* A term that has ended stays so. */
#endif
  :: else ->
     flag = !leads(w);
     W.hold = S.left;
     if
     :: flag ->                                       /* A term begins, */
        assert(seen(w).epoch > last_term);            /* and no epoch has two of them. */
        last_term = seen(w).epoch
     :: else
     fi;
     for (i : 0 .. WORKERS - 1) {
       assert(i == w || !leads(i))                    /* Nobody else leads. */
     }
  fi
}

inline send(w, what, ticks) {
  j = free_slot(w);
  W.slot[j].kind = what;
  W.slot[j].left = ticks;
  W.awaits = j + 1;
  if
  :: W.known == revision ->
     W.slot[j].where = TO_STORE; W.slot[j].sent = what; W.slot[j].writer = me(w)
  :: else                                             /* It can only fail. */
  fi
}

inline land(w, s) {
  revision++;
  body[revision].epoch = body[revision - 1].epoch + (S.sent == ACQUIRE -> 1 : 0);
  body[revision].holder = (S.sent == RELEASE -> NOBODY : S.writer);
  body[revision].slot = s;
  S.where = TO_WORKER;
  for (i : 0 .. WORKERS - 1) {
    for (j : 0 .. SLOTS - 1) {
      if                                              /* It can only fail, or nobody waits. */
      :: worker[i].slot[j].where == TO_STORE || worker[i].awaits != j + 1 -> vanish(i, j)
      :: else
      fi
    }
  }
  forget()
}

/* The reply of a read has come (E3, E6). */
inline learn(w) {
  if
  :: W.known != revision ->
     flag = (W.known + 1 == revision && body[revision].holder == me(w) &&
             W.slot[body[revision].slot].kind != NONE);
     W.known = revision;
     if
     :: flag -> j = seen(w).slot; grant(w, j)         /* One's own nonce. */
     :: else
     fi;
     W.hold = (mine(w) -> W.hold : 0);
     W.wait = (seen(w).holder == NOBODY || mine(w) -> 0 : LEASE);
#ifdef WRONG_OBSERVE_FROM_REQUEST
     W.wait = (W.wait >= W.since -> W.wait - W.since + 1 : 0);
     W.since = 0;
#endif
     settle(w)
  :: else ->                                          /* What travels may land yet. */
     for (i : 0 .. SLOTS - 1) {
       if                                             /* What was lost on its way cannot. */
       :: W.slot[i].where != TO_STORE ->
          vanish(w, i);
          W.slot[i].kind = NONE; W.slot[i].left = 0
       :: else
       fi
     }
  fi;
  W.awaits = 0;
  forget()
}

inline restart(w) {
  restarts--;
  W.incarnation++; W.known = UNKNOWN; W.wait = 0; W.awaits = 0;
  W.hold = 0; W.work = 0;
  settle(w);
  forget()
}

/* Work that was allowed earlier reaches the resource. */
inline act(w) {
#ifdef WRONG_NO_FENCE
  assert(W.work >= resource_epoch);                   /* Nobody who was replaced gets through. */
#endif
  if
  :: W.work >= resource_epoch ->
     assert(W.work > resource_epoch || resource_writer == me(w));
     resource_epoch = W.work; resource_writer = me(w)
  :: else                                             /* Refused. */
  fi;
  W.work = 0
}

#define may_acquire(w) \
  (may_write(w) && !leads(w) && (seen(w).holder == NOBODY || mine(w) || W.wait == 0))
#define may_renew(w) (may_write(w) && leads(w) && mine(w))
#ifdef WRONG_REUSE_EPOCH
#define HOW (mine(w) -> REUSE : ACQUIRE)
#else
#define HOW ACQUIRE
#endif

proctype Process(byte w) {
  do
  /* The worker. A read also stands for the failure or the silence that made it necessary (E6); one
   * that would show nothing new changes nothing, and is left out. */
#ifdef WRONG_OBSERVE_FROM_REQUEST
  :: d_step { W.since == 0 -> W.since = 1 }
  :: d_step { W.since > 0 && (W.awaits > 0 || W.known != revision) -> learn(w) }
#else
  :: d_step { W.awaits > 0 || W.known != revision -> learn(w) }
#endif
  :: d_step { may_acquire(w) -> send(w, HOW, HELD) }
  :: d_step { may_renew(w) -> send(w, RENEW, HELD) }
  :: d_step {
       may_renew(w) -> send(w, RELEASE, 0);
#ifndef WRONG_LEAD_ON_AFTER_RELEASE
       W.hold = 0                                     /* Whatever comes back (E5). */
#endif
     }
  :: d_step {
       W.awaits > 0 && W.slot[W.awaits - 1].where == TO_WORKER ->
       j = W.awaits - 1;
       W.known++; W.wait = 0; W.awaits = 0;
       grant(w, j);
       settle(w);
       forget()
     }
#ifdef WRONG_IGNORE_FAILURE
  :: d_step {                                         /* Another came first, and who cares? */
       W.awaits > 0 && W.known != revision && W.slot[W.awaits - 1].where == NOWHERE ->
       j = W.awaits - 1;
       W.known++; W.awaits = 0;
       grant(w, j);
       settle(w);
       forget()
     }
#endif
  :: d_step { restarts > 0 -> restart(w) }
#ifdef RESOURCE
  /* The leader's work, in two steps: check, and act. */
  :: d_step { leads(w) && W.work == 0 -> W.work = seen(w).epoch }
  :: d_step { W.work > 0 -> act(w) }
#endif
  /* The way to the store, and the store. */
  :: d_step { W.slot[0].where == TO_STORE && revision < REVISIONS -> land(w, 0) }
  :: d_step { W.slot[0].where == TO_STORE -> vanish(w, 0) }
#if SLOTS == 2
  :: d_step { W.slot[1].where == TO_STORE && revision < REVISIONS -> land(w, 1) }
  :: d_step { W.slot[1].where == TO_STORE -> vanish(w, 1) }
#endif
  od
}

#define COUNT_DOWN(part) part = (part > 0 -> part - 1 : 0)

proctype Clock() {
  do
  :: d_step {
       true ->
       for (i : 0 .. WORKERS - 1) {
#ifndef WRONG_NO_SELF_FENCING
         COUNT_DOWN(worker[i].hold);
#endif
         for (j : 0 .. SLOTS - 1) { COUNT_DOWN(worker[i].slot[j].left) }
#ifdef WRONG_OBSERVE_FROM_REQUEST
         worker[i].since = (0 < worker[i].since && worker[i].since <= LEASE -> worker[i].since + 1
                                                                           : worker[i].since);
#endif
         COUNT_DOWN(worker[i].wait)
       }
       i = 0
     }
  od
}

init {
  atomic {
    for (i : 0 .. WORKERS - 1) { run Process(i) }
    run Clock()
  }
}
