import io.grpc.Context;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.util.UUID;
import muster.v1.Election.CampaignBeat;
import muster.v1.Election.CampaignHello;
import muster.v1.Election.CampaignRequest;
import muster.v1.Election.CampaignResign;
import muster.v1.Election.CampaignResponse;
import muster.v1.ElectionServiceGrpc;

/**
 * Leads an election at musterd: prints its token while it may work, until SIGTERM.
 *
 * <p>usage: Lead SERVERS NAME ID
 */
class Lead implements Program {
  private static final long LEASE_MS = 15000;

  private final Servers servers;
  private final CampaignHello hello;
  private final Lease lease = new Lease();
  private volatile boolean ended = false;
  private volatile boolean stopping = false; // Asks the work to stop.
  private Thread work; // Null: there is none.
  private long epoch = 0;

  private Lead(String servers, String name, String id) {
    this.servers = new Servers(servers);
    hello = CampaignHello.newBuilder().setName(name).setId(id).setSession(UUID.randomUUID().toString())
        .setLeaseMs((int) LEASE_MS).build();
  }

  /** What only the leader may do. What must never happen twice carries the token along. */
  private void work(long token) {
    while (!stopping && lease.valid(Lease.now())) {
      System.out.println("working, token " + token);
      try {
        Thread.sleep(100);
      } catch (InterruptedException error) {
        break;
      }
    }
    System.out.println("stopped, token " + token);
  }

  private void begin(long granted) {
    epoch = granted;
    stopping = false;
    work = new Thread(() -> work(granted));
    work.start();
  }

  /** Asks the work to stop, and waits until it has. */
  private void finish() throws InterruptedException {
    if (work != null) {
      stopping = true;
      work.join();
      work = null;
    }
  }

  private void resign(StreamObserver<CampaignRequest> requests, String prefer, boolean stay) throws InterruptedException {
    finish();
    requests.onNext(CampaignRequest.newBuilder()
        .setResign(CampaignResign.newBuilder().setPrefer(prefer).setStay(stay)).build());
  }

  /** Takes part at one server until the stream ends. A term goes on at the next server if the lease holds. */
  private Status campaign() throws InterruptedException {
    if (!lease.valid(Lease.now())) {
      finish();
    }
    Answers<CampaignResponse> answers = new Answers<>();
    StreamObserver<CampaignRequest> requests = ElectionServiceGrpc.newStub(servers.current()).campaign(answers);
    lease.newStream();
    lease.sent(0, Lease.sendTime());
    requests.onNext(CampaignRequest.newBuilder()
        .setHello(hello.toBuilder().setResumeEpoch(work != null ? epoch : 0)).build());
    boolean leaving = false;
    long beatAt = Lease.now() + LEASE_MS / 3;
    long silentAt = Lease.now() + LEASE_MS / 2;
    for (long beat = 1; ; ) {
      Object news = answers.poll(100);
      long now = Lease.now();
      if (news instanceof Status) {
        return (Status) news;
      }
      if (now >= silentAt) {
        return Status.UNAVAILABLE.withDescription("the server says nothing");
      }
      if (ended && !leaving) {
        leaving = true;
        resign(requests, "", false);
      }
      if (now >= beatAt && !leaving) {
        beatAt = now + LEASE_MS / 3;
        lease.sent(beat, Lease.sendTime());
        requests.onNext(CampaignRequest.newBuilder().setBeat(CampaignBeat.newBuilder().setNumber(beat++)).build());
      }
      if (news == null) {
        continue;
      }
      silentAt = now + LEASE_MS / 2;
      CampaignResponse answer = (CampaignResponse) news;
      boolean lost = answer.hasLost();
      if (answer.hasGranted() && !leaving) {
        lost = !lease.grant(answer.getGranted().getBeat(), answer.getGranted().getLeftMs(), now);
        if (!lost) {
          begin(answer.getGranted().getEpoch());
        }
      } else if (answer.hasRenewed() && work != null) {
        lost = answer.getRenewed().getEpoch() != epoch
            || !lease.renew(answer.getRenewed().getBeat(), answer.getRenewed().getLeftMs(), now);
      } else if (answer.hasGiveUp()) {
        resign(requests, answer.getGiveUp().getPrefer(), true); // An operator wants another leader.
      } else if (answer.hasResigned() && leaving) {
        return Status.OK;
      }
      if (lost) { // Nothing revives the term: another stream begins anew.
        finish();
        return Status.OK;
      }
    }
  }

  @Override
  public int run() throws InterruptedException {
    while (!ended) {
      Context.CancellableContext stream = Context.current().withCancellation();
      Context before = stream.attach();
      Status status = campaign();
      stream.detach(before);
      stream.cancel(null); // Whatever this stream may still bring is ignored.
      switch (status.getCode()) {
        case INVALID_ARGUMENT:
        case PERMISSION_DENIED:
        case UNAUTHENTICATED:
        case UNIMPLEMENTED:
          throw status.asRuntimeException();
        default:
          servers.next();
          Thread.sleep(100);
      }
    }
    finish();
    return 0;
  }

  @Override
  public void stop() {
    ended = true;
  }

  public static void main(String[] words) throws Exception {
    Program.main(new Lead(words[0], words[1], words[2]));
  }
}
