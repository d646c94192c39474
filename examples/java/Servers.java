import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.NettyChannelBuilder;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

/** The servers of one cluster: another one is asked when one fails. For one thread. */
class Servers {
  private static final Map<Status.Code, String> SAID = new EnumMap<>(Map.ofEntries(
      Map.entry(Status.Code.INVALID_ARGUMENT, "INVALID"), Map.entry(Status.Code.OUT_OF_RANGE, "INVALID"),
      Map.entry(Status.Code.NOT_FOUND, "NOT_FOUND"), Map.entry(Status.Code.ALREADY_EXISTS, "CONFLICT"),
      Map.entry(Status.Code.ABORTED, "CONFLICT"), Map.entry(Status.Code.FAILED_PRECONDITION, "CONFLICT"),
      Map.entry(Status.Code.PERMISSION_DENIED, "DENIED"), Map.entry(Status.Code.UNAUTHENTICATED, "DENIED"),
      Map.entry(Status.Code.RESOURCE_EXHAUSTED, "THROTTLED"), Map.entry(Status.Code.UNIMPLEMENTED, "UNSUPPORTED"),
      Map.entry(Status.Code.UNAVAILABLE, "UNAVAILABLE"), Map.entry(Status.Code.DATA_LOSS, "CORRUPT")));

  private final List<ManagedChannel> channels = new ArrayList<>();
  private int current = 0;

  /** Takes "h1:9000,h2:9000". The servers need not answer yet. */
  Servers(String servers) {
    for (String each : servers.split(",")) {
      // On another machine than this one: sslContext(), see docs/security.md.
      channels.add(NettyChannelBuilder.forTarget(each).usePlaintext().build());
    }
  }

  /** The server to ask; next() turns to another one. */
  ManagedChannel current() {
    return channels.get(current);
  }

  void next() {
    current = (current + 1) % channels.size();
  }

  /**
   * Names the error of a call that failed. Without `answered`, which the trailing metadata muster-server shows, no
   * server has spoken: a call that writes may have been done.
   */
  static String meaning(Status.Code code, boolean answered, boolean leaderAddress, boolean writes) {
    if (answered && leaderAddress && code == Status.Code.FAILED_PRECONDITION) {
      return "UNAVAILABLE";
    }
    String name = answered ? SAID.get(code) : null;
    return name != null ? name : writes ? "AMBIGUOUS" : "UNAVAILABLE";
  }

  private static boolean has(StatusRuntimeException error, String key) {
    Metadata trailers = error.getTrailers();
    return trailers != null && trailers.containsKey(Metadata.Key.of(key, Metadata.ASCII_STRING_MARSHALLER));
  }

  /** Makes a call that does no harm when it is done twice, until a server has said yes or no, or the time is over. */
  <T> T ask(long untilMs, Function<ManagedChannel, T> call) throws InterruptedException {
    while (true) {
      try {
        return call.apply(current());
      } catch (StatusRuntimeException error) {
        String meaning = meaning(error.getStatus().getCode(), has(error, "muster-server"), has(error, "leader-address"),
            false);
        if (!meaning.equals("UNAVAILABLE") || Lease.now() >= untilMs) {
          throw error;
        }
        next();
        Thread.sleep(100);
      }
    }
  }
}
