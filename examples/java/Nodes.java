import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import muster.v1.Coordinator.DeregisterNodeRequest;
import muster.v1.Coordinator.GetTopologyRequest;
import muster.v1.Coordinator.GetTopologyResponse;
import muster.v1.Coordinator.HeartbeatRequest;
import muster.v1.Coordinator.NodeInfo;
import muster.v1.Coordinator.NodeState;
import muster.v1.Coordinator.NodeType;
import muster.v1.Coordinator.RegisterNodeRequest;
import muster.v1.CoordinatorServiceGrpc;
import muster.v1.CoordinatorServiceGrpc.CoordinatorServiceBlockingStub;

/**
 * Registers a node, sends its heartbeats, and prints which nodes hold a key, until SIGTERM.
 *
 * <p>usage: Nodes SERVERS ID ADDRESS PORT KEY
 */
class Nodes implements Program {
  /** As often as servers expect by default; their limits allow 10 a minute. */
  private static final long HEARTBEAT_SECONDS = 10;

  private final Servers servers;
  private final NodeInfo.Builder node;
  private final String key;
  private final CountDownLatch ended = new CountDownLatch(1);

  private Nodes(String servers, String id, String address, int port, String key) {
    this.key = key;
    this.servers = new Servers(servers);
    node = NodeInfo.newBuilder().setId(id).setAddress(address).setPort(port).setType(NodeType.NODE_TYPE_OBJECT);
  }

  private <T> T ask(Function<CoordinatorServiceBlockingStub, T> call) throws InterruptedException {
    return servers.ask(Lease.now() + 60000, server ->
        call.apply(CoordinatorServiceGrpc.newBlockingStub(server).withDeadlineAfter(10, TimeUnit.SECONDS)));
  }

  /** Makes this process known: with another generation each time, as the work of the last one may have moved. */
  private void register() throws InterruptedException {
    node.setGenerationId(UUID.randomUUID().toString());
    ask(stub -> stub.registerNode(RegisterNodeRequest.newBuilder().setNode(node).build()));
  }

  private void beat() throws InterruptedException {
    ask(stub -> stub.heartbeat(HeartbeatRequest.newBuilder().setNodeId(node.getId())
        .setGenerationId(node.getGenerationId()).setReportedState(NodeState.NODE_STATE_ACTIVE).build()));
  }

  private void deregister() throws InterruptedException {
    try {
      ask(stub -> stub.deregisterNode(DeregisterNodeRequest.newBuilder().setNodeId(node.getId())
          .setGenerationId(node.getGenerationId()).build()));
    } catch (StatusRuntimeException error) {
      if (error.getStatus().getCode() != Status.Code.NOT_FOUND) {
        throw error;
      }
    }
  }

  /** The ids of the nodes that hold the key, the primary first. */
  private List<String> owners() throws InterruptedException {
    GetTopologyResponse seen =
        ask(stub -> stub.getTopology(GetTopologyRequest.newBuilder().setLinearizable(true).build()));
    List<NodeInfo> nodes = new ArrayList<>(seen.getFrontendNodesList());
    nodes.addAll(seen.getMetadataNodesList());
    nodes.addAll(seen.getObjectNodesList());
    Map<String, Integer> weights = new HashMap<>();
    for (NodeInfo each : nodes) {
      if (each.getState() == NodeState.NODE_STATE_ACTIVE || each.getState() == NodeState.NODE_STATE_SUSPECT) {
        weights.put(each.getId(), each.getWeight());
      }
    }
    return new Ring(weights, seen.getHashRingConfig().getVirtualNodesPerPhysical(),
        seen.getHashRingConfig().getReplicationFactor()).owners(key);
  }

  @Override
  public int run() throws InterruptedException {
    register();
    do {
      try {
        beat();
      } catch (StatusRuntimeException error) {
        // Another process has its place, perhaps: then this one must stop.
        if (error.getStatus().getCode() != Status.Code.NOT_FOUND) {
          throw error;
        }
        register(); // It was silent for too long, and was removed.
        continue;
      }
      System.out.println(key + " is at " + String.join(", ", owners()));
    } while (!ended.await(HEARTBEAT_SECONDS, TimeUnit.SECONDS));
    deregister();
    return 0;
  }

  @Override
  public void stop() {
    ended.countDown();
  }

  public static void main(String[] words) throws Exception {
    Program.main(new Nodes(words[0], words[1], words[2], Integer.parseInt(words[3]), words[4]));
  }
}
