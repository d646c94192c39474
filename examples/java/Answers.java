import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** The answers on a stream, and at its end a Status, for a thread that waits for them. */
class Answers<T> implements StreamObserver<T> {
  private final BlockingQueue<Object> waiting = new LinkedBlockingQueue<>();

  /** The next one; null if none comes within the time. */
  Object poll(long milliseconds) throws InterruptedException {
    return waiting.poll(milliseconds, TimeUnit.MILLISECONDS);
  }

  @Override
  public void onNext(T answer) {
    waiting.add(answer);
  }

  @Override
  public void onError(Throwable error) {
    waiting.add(Status.fromThrowable(error));
  }

  @Override
  public void onCompleted() {
    waiting.add(Status.OK);
  }
}
