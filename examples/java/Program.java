/** A program that ends cleanly on SIGTERM. */
interface Program {
  /** Returns the exit code, soon after stop(). */
  int run() throws Exception;

  /** Called by another thread. */
  void stop();

  static void main(Program program) throws Exception {
    Thread main = Thread.currentThread();
    int[] code = {1};
    Runtime.getRuntime().addShutdownHook(new Thread(() -> {
      program.stop();
      try {
        main.join();
      } catch (InterruptedException error) {
        // The process ends at once.
      }
      Runtime.getRuntime().halt(code[0]);
    }));
    code[0] = program.run();
  }
}
