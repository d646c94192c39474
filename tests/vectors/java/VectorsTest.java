import io.grpc.Status;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/**
 * What examples/java computes is what every language computes.
 *
 * <p>usage: VectorsTest VECTORS
 */
class VectorsTest {
  private static int checked = 0;

  private static void same(Object found, Object wanted, Object where) {
    ++checked;
    if (!Objects.equals(found, wanted)) {
      throw new AssertionError(where + ": " + found + ", not " + wanted);
    }
  }

  @SuppressWarnings("unchecked")
  private static Map<String, Object> map(Object value) {
    return (Map<String, Object>) value;
  }

  @SuppressWarnings("unchecked")
  private static List<Object> list(Object value) {
    return (List<Object>) value;
  }

  private static long number(Map<String, Object> of, String name) {
    return (Long) of.get(name);
  }

  private static void ring(Map<String, Object> each) {
    Map<String, Integer> weights = new HashMap<>();
    map(each.get("weights")).forEach((id, weight) -> weights.put(id, ((Long) weight).intValue()));
    Ring ring = new Ring(weights, (int) number(each, "virtual_nodes"), (int) number(each, "replication"));
    map(each.get("owners")).forEach((key, owners) -> same(ring.owners(key), owners, key));
  }

  private static void lease(Map<String, Object> each) {
    Lease lease = new Lease();
    lease.sent(0, number(each, "sent_ms"));
    same(lease.grant(0, number(each, "left_ms"), number(each, "sent_ms") + 1), true, each);
    same(lease.deadline(), number(each, "deadline_ms"), each);
  }

  private static void term(Map<String, Object> each) {
    Lease lease = new Lease();
    boolean answered = false;
    for (Object one : list(each.get("steps"))) {
      Map<String, Object> step = map(one);
      long now = number(step, "at_ms");
      if (step.containsKey("send")) {
        lease.sent(number(step, "send"), now);
      } else if (!step.containsKey("answer")) {
        same(lease.valid(now), step.get("valid"), each.get("title") + " at " + now);
        if (lease.valid(now)) {
          same(lease.deadline() - now, number(step, "left_ms"), each.get("title") + " at " + now);
        }
      } else if (answered) {
        lease.renew(number(step, "answer"), number(step, "left_ms"), now);
      } else {
        lease.grant(number(step, "answer"), number(step, "left_ms"), now);
        answered = true;
      }
    }
  }

  private static void error(Map<String, Object> each) {
    Status.Code code = Status.fromCodeValue((int) number(each, "code")).getCode();
    boolean answered = (Boolean) each.get("answered");
    boolean elsewhere = (Boolean) each.get("leader_address");
    same(Servers.meaning(code, answered, elsewhere, false), each.get("read"), each);
    same(Servers.meaning(code, answered, elsewhere, true), each.get("write"), each);
  }

  public static void main(String[] words) throws Exception {
    Map<String, Object> vectors = map(Json.read(Files.readString(Path.of(words[0]))));
    list(vectors.get("ring")).forEach(each -> ring(map(each)));
    list(vectors.get("leases")).forEach(each -> lease(map(each)));
    list(vectors.get("terms")).forEach(each -> term(map(each)));
    list(vectors.get("errors")).forEach(each -> error(map(each)));
    long before = Lease.sendTime();
    Thread.sleep(30);
    same(Lease.sendTime() > before && Lease.now() >= Lease.sendTime(), true, "the clock rises");
    System.out.println(checked + " answers agree");
  }
}
