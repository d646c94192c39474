import java.util.UUID;
import java.util.concurrent.TimeUnit;
import muster.v1.Lock.LockAcquireRequest;
import muster.v1.Lock.LockAcquireResponse;
import muster.v1.Lock.LockReleaseRequest;
import muster.v1.Lock.LockRenewRequest;
import muster.v1.LockServiceGrpc;

/**
 * Holds a lock of musterd: prints its token while it may work, until SIGTERM.
 *
 * <p>usage: Lock SERVERS NAME
 */
class Lock implements Program {
  private static final long TTL_MS = 6000;

  private final Servers servers;
  private final String name;
  private final String session = UUID.randomUUID().toString();
  private final Lease lease = new Lease();
  private volatile boolean ended = false;
  private String handle = "";
  private long token = 0;
  private long beat = 0;

  private Lock(String servers, String name) {
    this.servers = new Servers(servers);
    this.name = name;
  }

  /** Waits until the lock is held. An answer without it comes now and then, to show that the servers are there. */
  private void acquire() throws InterruptedException {
    LockAcquireRequest request = LockAcquireRequest.newBuilder().setName(name).setSession(session)
        .setTtlMs((int) TTL_MS).setWaitMs(60000).build();
    while (!ended) {
      long number = ++beat;
      LockAcquireResponse answer = servers.ask(Long.MAX_VALUE, server -> {
        lease.sent(number, Lease.sendTime());
        return LockServiceGrpc.newBlockingStub(server).withDeadlineAfter(10, TimeUnit.SECONDS).acquire(request);
      }); // ABORTED: it was held by others for all of the time.
      if (!answer.getWaiting() && lease.grant(number, answer.getLeftMs(), Lease.now())) {
        token = answer.getToken();
        handle = answer.getHandle();
        return;
      }
    }
  }

  /** False once the lock is lost. */
  private boolean renew() throws InterruptedException {
    LockRenewRequest request = LockRenewRequest.newBuilder().setName(name).setSession(session).setHandle(handle).build();
    long number = ++beat;
    try {
      long left = servers.ask(lease.deadline(), server -> {
        lease.sent(number, Lease.sendTime());
        return LockServiceGrpc.newBlockingStub(server).withDeadlineAfter(TTL_MS / 3, TimeUnit.MILLISECONDS).renew(request);
      }).getLeftMs();
      return lease.renew(number, left, Lease.now());
    } catch (io.grpc.StatusRuntimeException error) {
      return false;
    }
  }

  private void release() throws InterruptedException {
    LockReleaseRequest request = LockReleaseRequest.newBuilder().setName(name).setSession(session).setHandle(handle)
        .build();
    try {
      servers.ask(Lease.now() + TTL_MS, server -> LockServiceGrpc.newBlockingStub(server)
          .withDeadlineAfter(TTL_MS / 2, TimeUnit.MILLISECONDS).release(request));
    } catch (io.grpc.StatusRuntimeException error) {
      System.err.println("not released, so it ends with its ttl: " + error.getMessage());
    }
  }

  private void work() {
    while (!ended && lease.valid(Lease.now())) {
      System.out.println("holding, token " + token); // The token goes along to what must not be done twice.
      try {
        Thread.sleep(100);
      } catch (InterruptedException error) {
        return;
      }
    }
  }

  @Override
  public int run() throws InterruptedException {
    acquire();
    Thread work = new Thread(this::work);
    work.start();
    while (true) {
      work.join(TTL_MS / 3);
      if (!work.isAlive()) {
        release();
        return 0;
      }
      if (!renew()) {
        work.join(); // The work ends with the lease, and nothing revives that.
        System.out.println("lost");
        return 1;
      }
    }
  }

  @Override
  public void stop() {
    ended = true;
  }

  public static void main(String[] words) throws Exception {
    Program.main(new Lock(words[0], words[1]));
  }
}
