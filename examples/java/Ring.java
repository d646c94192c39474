import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Places keys on nodes, as docs/formats.md describes it. */
class Ring {
  /** A node has at most this many virtual nodes. */
  private static final long VIRTUAL_NODES_MAX = 1 << 20;

  private static class Point implements Comparable<Point> {
    final long at;
    final String id;

    Point(long at, String id) {
      this.at = at;
      this.id = id;
    }

    @Override
    public int compareTo(Point other) {
      int order = Long.compareUnsigned(at, other.at);
      return order != 0 ? order : Arrays.compareUnsigned(id.getBytes(UTF_8), other.id.getBytes(UTF_8));
    }
  }

  private final List<Point> points = new ArrayList<>();
  private final int replication;

  /** Takes the weight of each node that is ACTIVE or SUSPECT, by its id. */
  Ring(Map<String, Integer> weights, int virtualNodes, int replication) {
    this.replication = replication;
    weights.forEach((id, weight) -> {
      byte[] name = id.getBytes(UTF_8);
      long count = Math.min((long) weight * virtualNodes, VIRTUAL_NODES_MAX);
      for (int index = 0; index < count; ++index) {
        ByteBuffer bytes = ByteBuffer.allocate(name.length + 4).order(ByteOrder.LITTLE_ENDIAN);
        points.add(new Point(position(bytes.put(name).putInt(index).array()), id));
      }
    });
    points.sort(null);
  }

  private static long position(byte[] bytes) {
    try {
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(bytes);
      return ByteBuffer.wrap(digest).order(ByteOrder.LITTLE_ENDIAN).getLong();
    } catch (NoSuchAlgorithmException error) {
      throw new IllegalStateException(error); // Every Java has it.
    }
  }

  /** The ids of the nodes that hold the key, the primary first; fewer when there are no more. */
  List<String> owners(String key) {
    long wanted = position(key.getBytes(UTF_8));
    int low = 0;
    for (int high = points.size(); low < high; ) {
      int middle = (low + high) >>> 1;
      if (Long.compareUnsigned(points.get(middle).at, wanted) < 0) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    Set<String> found = new LinkedHashSet<>();
    for (int step = 0; step < points.size() && found.size() < replication; ++step) {
      found.add(points.get((low + step) % points.size()).id);
    }
    return new ArrayList<>(found);
  }
}
