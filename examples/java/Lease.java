import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/**
 * What servers grant because of a client's beats. It counts from when the beat was sent that an answer names, and
 * nothing revives it once it has ended, except another grant. Times are in milliseconds. Any thread may call valid()
 * and deadline(), and one the others.
 */
class Lease {
  private volatile long deadline = Long.MIN_VALUE;
  private final Map<Long, Long> sent = new HashMap<>();

  /**
   * On a clock that goes on while the machine is suspended, as System.nanoTime() does not. It counts in steps of 10 ms:
   * this is the earliest time that it may be, for when something is sent.
   */
  static long sendTime() {
    try {
      String uptime = Files.readString(Path.of("/proc/uptime")).split(" ")[0];
      return Math.round(Double.parseDouble(uptime) * 1000);
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  /** Likewise the latest time that it may be, for the question whether a lease has ended. */
  static long now() {
    return sendTime() + 10;
  }

  /** Forgets the beats: answers on another stream do not name them. */
  void newStream() {
    sent.clear();
  }

  /** Notes a beat. Call it just before the beat is sent. */
  void sent(long beat, long at) {
    sent.put(beat, at);
    sent.remove(beat - 16);
  }

  /** Whether work is allowed. Ask it before every effect. */
  boolean valid(long now) {
    return now < deadline;
  }

  long deadline() {
    return deadline;
  }

  /** Begins a lease; false if it is over already. */
  boolean grant(long beat, long leftMs, long now) {
    Long at = sent.get(beat);
    if (at == null || now >= at + leftMs) {
      return false;
    }
    deadline = at + leftMs;
    return true;
  }

  /** Moves the deadline; false if the lease was over before the answer came. */
  boolean renew(long beat, long leftMs, long now) {
    Long at = sent.get(beat);
    if (at == null || !valid(now)) {
      return false;
    }
    deadline = Math.max(deadline, at + leftMs);
    return true;
  }
}
