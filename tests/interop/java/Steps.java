import grpc.health.v1.HealthGrpc;
import grpc.health.v1.HealthOuterClass;
import grpc.reflection.v1alpha.Reflection.ServerReflectionRequest;
import grpc.reflection.v1alpha.Reflection.ServerReflectionResponse;
import grpc.reflection.v1alpha.ServerReflectionGrpc;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.ProtoUtils;
import io.grpc.stub.ClientCalls;
import io.grpc.stub.MetadataUtils;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import muster.v1.Coordinator.GetTopologyRequest;
import muster.v1.Coordinator.GetTopologyResponse;
import muster.v1.Coordinator.HealthCheckRequest;
import muster.v1.Coordinator.HealthCheckResponse;
import muster.v1.Coordinator.HeartbeatBatch;
import muster.v1.Coordinator.HeartbeatBatchResponse;
import muster.v1.Coordinator.RegisterNodeRequest;
import muster.v1.Coordinator.TopologyUpdate;
import muster.v1.Coordinator.WatchTopologyRequest;
import muster.v1.CoordinatorServiceGrpc;
import muster.v1.Store.StoreGetRequest;
import muster.v1.Store.StoreListRequest;
import muster.v1.Store.StoreListResponse;
import muster.v1.Store.StoreObject;
import muster.v1.Store.StorePutBatch;
import muster.v1.Store.StorePutOutcome;
import muster.v1.Store.StorePutOutcomes;
import muster.v1.Store.StorePutRequest;
import muster.v1.StoreServiceGrpc;

/** The steps, in their order. */
final class Steps {
  private static final HealthCheckRequest CHECK = HealthCheckRequest.getDefaultInstance();

  private final Client client;

  Steps(Client client) {
    this.client = client;
  }

  void run() {
    client.step("unary", this::unary);
    client.step("deadline_met", this::deadlineMet);
    client.step("server_stream", this::serverStream);
    client.step("bidirectional_stream", this::bidirectionalStream);
    client.step("half_close", this::halfClose);
    client.step("cancellation", this::cancellation);
    client.step("deadline_exceeded", this::deadlineExceeded);
    client.step("metadata", this::metadata);
    client.step("metadata_over_limit", this::metadataOverLimit);
    client.step("large_request", this::largeRequest);
    client.step("large_answer", this::largeAnswer);
    client.step("too_large_request", this::tooLargeRequest);
    client.step("compressed_request", this::compressedRequest);
    client.step("not_found", this::notFound);
    client.step("invalid_argument", this::invalidArgument);
    client.step("leader_address", this::leaderAddress);
    client.step("unknown_method", () -> unknown("muster.v1.StoreService/NoSuch"));
    client.step("unknown_service", () -> unknown("no.such.Service/Get"));
    client.step("health_check", this::healthCheck);
    client.step("health_watch", this::healthWatch);
    client.step("reflection", this::reflection);
    client.step("concurrent_calls", this::concurrentCalls);
    if (client.files.length > 0) {
      client.step("without_certificate", this::withoutCertificate);
    }
    client.step("stream_ends_with_server", this::streamEndsWithServer);
    client.step("goes_on_after_restart", this::goesOnAfterRestart);
  }

  private String unary() {
    CoordinatorServiceGrpc.CoordinatorServiceBlockingStub stub =
        CoordinatorServiceGrpc.newBlockingStub(client.channel);
    long version = stub.registerNode(register(1)).getTopologyVersion();
    Client.expect(version == 1, version);
    GetTopologyResponse seen =
        stub.getTopology(GetTopologyRequest.newBuilder().setLinearizable(true).build());
    Client.expect(seen.getObjectNodesCount() == 1 && seen.getObjectNodes(0).getId().equals("n1"), seen);
    return null;
  }

  private static RegisterNodeRequest register(int number) {
    return RegisterNodeRequest.newBuilder().setNode(Client.node(number)).build();
  }

  private String deadlineMet() {
    client.coordinator().healthCheck(CHECK);
    return null;
  }

  private Answers<WatchTopologyRequest, TopologyUpdate> watch(
      CoordinatorServiceGrpc.CoordinatorServiceStub stub) {
    Answers<WatchTopologyRequest, TopologyUpdate> watch = new Answers<>();
    stub.watchTopology(WatchTopologyRequest.getDefaultInstance(), watch);
    return watch;
  }

  private String serverStream() throws Exception {
    Answers<WatchTopologyRequest, TopologyUpdate> watch = watch(client.coordinatorStreams());
    TopologyUpdate first = watch.next();
    Client.expect(first.hasFullSync(), first);
    client.coordinator().registerNode(register(2));
    TopologyUpdate change = watch.next();
    Client.expect(change.hasNodeAdded() && change.getNodeAdded().getId().equals("n2"), change);
    watch.cancel();
    return null;
  }

  /** Each message waits for the answer to the one before. */
  private String bidirectionalStream() throws Exception {
    Answers<HeartbeatBatch, HeartbeatBatchResponse> answers = new Answers<>();
    StreamObserver<HeartbeatBatch> requests = client.coordinatorStreams().heartbeatStream(answers);
    for (int known = 0; known < 3; ++known) {
      requests.onNext(Client.beats(known));
      HeartbeatBatchResponse answer = answers.next();
      Client.expect(answer.getLeaderId().equals("s1") && answer.getRefusedCount() == 0, answer);
    }
    requests.onCompleted();
    Client.expect(answers.next() == null, "an answer to nothing");
    return null;
  }

  /** Everything is sent and the request ended before an answer is read. */
  private String halfClose() throws Exception {
    Answers<HeartbeatBatch, HeartbeatBatchResponse> answers = new Answers<>();
    StreamObserver<HeartbeatBatch> requests = client.coordinatorStreams().heartbeatStream(answers);
    for (int i = 0; i < 100; ++i) {
      requests.onNext(Client.beats(0));
    }
    requests.onCompleted();
    int count = answers.all().size();
    Client.expect(count == 100, count);
    return null;
  }

  private String cancellation() throws Exception {
    Answers<WatchTopologyRequest, TopologyUpdate> watch = watch(client.coordinatorStreams());
    watch.next();
    client.awaitSubscribers(1);
    watch.cancel();
    Client.refusal(Status.Code.CANCELLED, watch::next);
    client.awaitSubscribers(0);
    return null;
  }

  private String deadlineExceeded() throws Exception {
    Answers<WatchTopologyRequest, TopologyUpdate> watch =
        watch(client.coordinatorStreams().withDeadlineAfter(300, TimeUnit.MILLISECONDS));
    Client.refusal(Status.Code.DEADLINE_EXCEEDED, watch::all);
    client.awaitSubscribers(0);
    return null;
  }

  private static Metadata.Key<String> key(String name) {
    return Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER);
  }

  /** About 6 KB, any byte in one of them; and the name of the request, which the server logs. */
  private String metadata() {
    Metadata sent = new Metadata();
    for (int i = 0; i < 45; ++i) {
      sent.put(key("x-interop-" + i), "v".repeat(60));
    }
    byte[] every = new byte[256];
    for (int i = 0; i < every.length; ++i) {
      every[i] = (byte) i;
    }
    sent.put(Metadata.Key.of("x-interop-bin", Metadata.BINARY_BYTE_MARSHALLER), every);
    sent.put(key("muster-request-id"), "interop-request");
    client.store().withInterceptors(MetadataUtils.newAttachHeadersInterceptor(sent))
        .put(StorePutRequest.newBuilder().setKey("metadata").build());
    return null;
  }

  private String metadataOverLimit() throws Exception {
    Metadata sent = new Metadata();
    sent.put(key("x-interop"), "v".repeat(12000));
    StatusRuntimeException error = Client.refusal(() -> client.coordinator()
        .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(sent)).healthCheck(CHECK));
    deadlineMet();
    return error.getStatus().getCode().toString();
  }

  private static Answers<StorePutBatch, StorePutOutcomes> putAll(Channel channel, StorePutBatch batch) {
    Answers<StorePutBatch, StorePutOutcomes> answers = new Answers<>();
    StreamObserver<StorePutBatch> requests = StoreServiceGrpc.newStub(channel)
        .withDeadlineAfter(Client.SECONDS, TimeUnit.SECONDS).putStream(answers);
    requests.onNext(batch);
    requests.onCompleted();
    return answers;
  }

  private String largeRequest() throws Exception {
    int count = 0;
    for (StorePutOutcomes answer : putAll(client.channel, Client.puts(8)).all()) {
      for (StorePutOutcome each : answer.getOutcomesList()) {
        Client.expect(each.getCode() == 0, each);
        ++count;
      }
    }
    Client.expect(count == 8, count);
    return null;
  }

  private String largeAnswer() {
    int count = 0;
    String after = "";
    for (boolean more = true; more;) {
      StoreListResponse page = client.store().list(StoreListRequest.newBuilder().setPrefix("large/")
          .setAfter(after).setWithValues(true).build());
      for (StoreObject each : page.getObjectsList()) {
        Client.expect(each.getValue().equals(Client.VALUE), each.getKey());
        after = each.getKey();
        ++count;
      }
      more = page.getMore();
    }
    Client.expect(count == 8, count);
    return null;
  }

  private String tooLargeRequest() throws Exception {
    Client.refusal(Status.Code.RESOURCE_EXHAUSTED, () -> putAll(client.channel, Client.puts(9)).all());
    return deadlineMet();
  }

  private String compressedRequest() throws Exception {
    StatusRuntimeException error = Client.refusal(Status.Code.UNIMPLEMENTED,
        () -> client.store().withCompression("gzip")
            .put(StorePutRequest.newBuilder().setKey("gzip").setValue(Client.VALUE).build()));
    Client.expect(error.getMessage().contains("identity"), error);
    return null;
  }

  private String notFound() throws Exception {
    StatusRuntimeException error = Client.refusal(Status.Code.NOT_FOUND,
        () -> client.store().get(StoreGetRequest.newBuilder().setKey("no/such").build()));
    Client.expect(!error.getStatus().getDescription().isEmpty(), error);
    Client.expect("s1".equals(Client.trailer(error, "muster-server")), error.getTrailers());
    return null;
  }

  private String invalidArgument() throws Exception {
    RegisterNodeRequest.Builder wrong = register(1).toBuilder();
    wrong.getNodeBuilder().setId("100% wrong");
    StatusRuntimeException error = Client.refusal(Status.Code.INVALID_ARGUMENT,
        () -> client.coordinator().registerNode(wrong.build()));
    Client.expect(error.getMessage().contains("node id \"100% wrong\" must be"), error);
    return null;
  }

  private String leaderAddress() throws Exception {
    ManagedChannel standby = client.open(client.standby, true);
    StatusRuntimeException error = Client.refusal(Status.Code.FAILED_PRECONDITION,
        () -> putAll(standby, Client.puts(1)).all());
    Client.expect(client.server.equals(Client.trailer(error, "leader-address")), error.getTrailers());
    Client.expect("s2".equals(Client.trailer(error, "muster-server")), error.getTrailers());
    standby.shutdownNow();
    return null;
  }

  private String unknown(String method) throws Exception {
    MethodDescriptor<HealthCheckRequest, HealthCheckResponse> descriptor =
        MethodDescriptor.<HealthCheckRequest, HealthCheckResponse>newBuilder()
            .setType(MethodDescriptor.MethodType.UNARY).setFullMethodName(method)
            .setRequestMarshaller(ProtoUtils.marshaller(CHECK))
            .setResponseMarshaller(ProtoUtils.marshaller(HealthCheckResponse.getDefaultInstance()))
            .build();
    Client.refusal(Status.Code.UNIMPLEMENTED, () -> ClientCalls.blockingUnaryCall(client.channel, descriptor,
        CallOptions.DEFAULT.withDeadlineAfter(Client.SECONDS, TimeUnit.SECONDS), CHECK));
    return null;
  }

  private static HealthOuterClass.HealthCheckRequest service(String name) {
    return HealthOuterClass.HealthCheckRequest.newBuilder().setService(name).build();
  }

  private static void expectServing(HealthOuterClass.HealthCheckResponse answer) {
    Client.expect(answer.getStatus() == HealthOuterClass.HealthCheckResponse.ServingStatus.SERVING, answer);
  }

  private String healthCheck() throws Exception {
    expectServing(client.health().check(service("")));
    Client.refusal(Status.Code.NOT_FOUND, () -> client.health().check(service("no.such")));
    return null;
  }

  private String healthWatch() throws Exception {
    Answers<HealthOuterClass.HealthCheckRequest, HealthOuterClass.HealthCheckResponse> watch = new Answers<>();
    HealthGrpc.newStub(client.channel).watch(service("muster.v1.StoreService"), watch);
    expectServing(watch.next());
    watch.cancel();
    return null;
  }

  private String reflection() throws Exception {
    Answers<ServerReflectionRequest, ServerReflectionResponse> answers = new Answers<>();
    StreamObserver<ServerReflectionRequest> requests =
        ServerReflectionGrpc.newStub(client.channel).serverReflectionInfo(answers);
    requests.onNext(ServerReflectionRequest.newBuilder().setListServices("*").build());
    requests.onNext(ServerReflectionRequest.newBuilder()
        .setFileContainingSymbol("muster.v1.StoreService").build());
    requests.onCompleted();
    List<ServerReflectionResponse> both = answers.all();
    Client.expect(both.size() == 2, both);
    Client.expect(both.get(0).toString().contains("muster.v1.CoordinatorService"), both.get(0));
    Client.expect(both.get(1).getFileDescriptorResponse().getFileDescriptorProtoList().stream()
        .anyMatch(each -> each.toString(java.nio.charset.StandardCharsets.ISO_8859_1)
            .contains("muster/v1/store.proto")), both.get(1));
    return null;
  }

  /** More than the 1,000 streams that a connection takes at once: the others wait here. */
  private String concurrentCalls() throws Exception {
    List<Future<HealthCheckResponse>> calls = new ArrayList<>();
    for (int i = 0; i < 1200; ++i) {
      calls.add(CoordinatorServiceGrpc.newFutureStub(client.channel)
          .withDeadlineAfter(Client.SECONDS, TimeUnit.SECONDS).healthCheck(CHECK));
    }
    for (Future<HealthCheckResponse> call : calls) {
      call.get();
    }
    return null;
  }

  private String withoutCertificate() throws Exception {
    ManagedChannel stranger = client.open(client.server, false);
    Client.refusal(Status.Code.UNAVAILABLE, () -> CoordinatorServiceGrpc.newBlockingStub(stranger)
        .withDeadlineAfter(Client.SECONDS, TimeUnit.SECONDS).healthCheck(CHECK));
    stranger.shutdownNow();
    return null;
  }

  /** The test restarts the server when it reads "restart". */
  private String streamEndsWithServer() throws Exception {
    Answers<WatchTopologyRequest, TopologyUpdate> watch = watch(client.coordinatorStreams());
    watch.next();
    System.out.println("restart");
    Client.refusal(Status.Code.UNAVAILABLE, watch::all);
    return null;
  }

  /** On the same channel. A server that stops or starts answers UNAVAILABLE: nothing was changed. */
  private String goesOnAfterRestart() throws InterruptedException {
    long limit = System.nanoTime() + TimeUnit.SECONDS.toNanos(2 * Client.SECONDS);
    while (true) {
      try {
        client.store().withWaitForReady().put(StorePutRequest.newBuilder().setKey("after").build());
        return null;
      } catch (StatusRuntimeException error) {
        Client.expect(error.getStatus().getCode() == Status.Code.UNAVAILABLE
            && System.nanoTime() < limit, error);
      }
      Thread.sleep(50);
    }
  }
}
