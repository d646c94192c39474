import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** What comes on a stream, to be waited for. */
final class Answers<Request, Answer> implements ClientResponseObserver<Request, Answer> {
  private static final Object END = new Object();

  private final BlockingQueue<Object> came = new LinkedBlockingQueue<>();
  private ClientCallStreamObserver<Request> call;

  @Override
  public void beforeStart(ClientCallStreamObserver<Request> started) {
    call = started;
  }

  @Override
  public void onNext(Answer answer) {
    came.add(answer);
  }

  @Override
  public void onError(Throwable error) {
    came.add(error);
  }

  @Override
  public void onCompleted() {
    came.add(END);
  }

  void cancel() {
    call.cancel("no longer wanted", null);
  }

  /** The next one; null at the end. Throws what the stream ended with instead. */
  @SuppressWarnings("unchecked")
  Answer next() throws InterruptedException {
    Object next = came.poll(20, TimeUnit.SECONDS);
    if (next == null) {
      throw new AssertionError("nothing came");
    }
    if (next instanceof Throwable) {
      throw new StatusRuntimeException(Status.fromThrowable((Throwable) next),
          Status.trailersFromThrowable((Throwable) next));
    }
    return next == END ? null : (Answer) next;
  }

  /** Up to the end. */
  List<Answer> all() throws InterruptedException {
    List<Answer> seen = new ArrayList<>();
    for (Answer each = next(); each != null; each = next()) {
      seen.add(each);
    }
    return seen;
  }
}
