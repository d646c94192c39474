import com.google.protobuf.ByteString;
import grpc.health.v1.HealthGrpc;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.NettyChannelBuilder;
import io.netty.handler.ssl.SslContextBuilder;
import java.io.File;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import muster.v1.Coordinator.HealthCheckRequest;
import muster.v1.Coordinator.HeartbeatBatch;
import muster.v1.Coordinator.HeartbeatRequest;
import muster.v1.Coordinator.NodeInfo;
import muster.v1.Coordinator.NodeType;
import muster.v1.CoordinatorServiceGrpc;
import muster.v1.Store.StorePutBatch;
import muster.v1.Store.StorePutRequest;
import muster.v1.StoreServiceGrpc;

/**
 * Every kind of call, with Java's gRPC. The steps are those of ../interop_test.py.
 *
 * <p>usage: Client SERVER STANDBY [CA CERTIFICATE KEY]
 */
class Client {
  interface Step {
    /** What is told behind its name, or null. */
    String act() throws Exception;
  }

  interface Call {
    void make() throws Exception;
  }

  /** What a call may take that is to be answered. */
  static final long SECONDS = 10;
  static final String GENERATION = "00000000-0000-4000-8000-00000000000";
  /** The store takes up to 256 KiB; 8 of these are a request of almost 2 MB. */
  static final ByteString VALUE = ByteString.copyFrom(new byte[250 * 1024]);

  final String server;
  final String standby;
  final String[] files;
  final ManagedChannel channel;
  private boolean failed = false;

  Client(String[] words) throws Exception {
    server = words[0];
    standby = words[1];
    files = Arrays.copyOfRange(words, 2, words.length);
    channel = open(server, true);
  }

  ManagedChannel open(String address, boolean certificate) throws Exception {
    NettyChannelBuilder builder = NettyChannelBuilder.forTarget(address);
    if (files.length == 0) {
      return builder.usePlaintext().build();
    }
    SslContextBuilder tls =
        GrpcSslContexts.forClient().protocols("TLSv1.3").trustManager(new File(files[0]));
    if (certificate) {
      tls.keyManager(new File(files[1]), new File(files[2]));
    }
    return builder.sslContext(tls.build()).build();
  }

  // A stub counts its deadline from when it is made, so each call has one of its own.
  CoordinatorServiceGrpc.CoordinatorServiceBlockingStub coordinator() {
    return CoordinatorServiceGrpc.newBlockingStub(channel).withDeadlineAfter(SECONDS, TimeUnit.SECONDS);
  }

  CoordinatorServiceGrpc.CoordinatorServiceStub coordinatorStreams() {
    return CoordinatorServiceGrpc.newStub(channel);
  }

  StoreServiceGrpc.StoreServiceBlockingStub store() {
    return StoreServiceGrpc.newBlockingStub(channel).withDeadlineAfter(SECONDS, TimeUnit.SECONDS);
  }

  HealthGrpc.HealthBlockingStub health() {
    return HealthGrpc.newBlockingStub(channel).withDeadlineAfter(SECONDS, TimeUnit.SECONDS);
  }

  void step(String name, Step step) {
    try {
      String told = step.act();
      System.out.println("ok " + name + (told == null ? "" : " " + told));
    } catch (Exception | AssertionError error) {
      failed = true;
      System.out.println("failed " + name + ": " + error.toString().replaceAll("\\s+", " "));
    }
  }

  int end() throws InterruptedException {
    channel.shutdownNow().awaitTermination(SECONDS, TimeUnit.SECONDS);
    return failed ? 1 : 0;
  }

  static void expect(boolean holds, Object what) {
    if (!holds) {
      throw new AssertionError("unexpected: " + what);
    }
  }

  /** The error that a call ends with. */
  static StatusRuntimeException refusal(Call call) throws Exception {
    try {
      call.make();
    } catch (StatusRuntimeException error) {
      return error;
    }
    throw new AssertionError("the call was not refused");
  }

  static StatusRuntimeException refusal(Status.Code code, Call call) throws Exception {
    StatusRuntimeException error = refusal(call);
    expect(error.getStatus().getCode() == code, error);
    return error;
  }

  static String trailer(StatusRuntimeException error, String key) {
    return error.getTrailers().get(Metadata.Key.of(key, Metadata.ASCII_STRING_MARSHALLER));
  }

  static NodeInfo node(int number) {
    return NodeInfo.newBuilder().setId("n" + number).setAddress("10.0.0.1").setPort(7000 + number)
        .setType(NodeType.NODE_TYPE_OBJECT).setGenerationId(GENERATION + number).build();
  }

  static HeartbeatBatch beats(int known) {
    return HeartbeatBatch.newBuilder().addHeartbeats(HeartbeatRequest.newBuilder().setNodeId("n1")
        .setKnownVersion(known).setGenerationId(GENERATION + 1)).build();
  }

  static StorePutBatch puts(int count) {
    StorePutBatch.Builder batch = StorePutBatch.newBuilder();
    for (int number = 0; number < count; ++number) {
      batch.addPuts(StorePutRequest.newBuilder().setKey("large/" + number).setValue(VALUE));
    }
    return batch.build();
  }

  void awaitSubscribers(long count) throws InterruptedException {
    long limit = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
    while (coordinator().healthCheck(HealthCheckRequest.getDefaultInstance()).getWatchSubscribers() != count) {
      expect(System.nanoTime() < limit, "there are never " + count + " watches");
      Thread.sleep(20);
    }
  }

  public static void main(String[] words) throws Exception {
    Client client = new Client(words);
    new Steps(client).run();
    System.exit(client.end());
  }
}
