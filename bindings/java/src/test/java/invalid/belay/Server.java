package invalid.belay;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.stream.Stream;

/** A server of a test, on a socket in a folder of its own, which tests/support/launch_server.py starts. */
final class Server implements AutoCloseable {
  private final Process launcher = new ProcessBuilder("../../tests/support/launch_server.py").redirectError(Redirect.INHERIT).start();
  private final BufferedReader answers = launcher.inputReader();
  private final Path socket = Path.of(answer()[2]);

  Server() throws IOException {}

  private String[] answer() throws IOException {
    return Objects.requireNonNull(answers.readLine(), "no server was started").split(" ");
  }

  private void tell(String command) throws IOException {
    launcher.getOutputStream().write((command + "\n").getBytes(UTF_8));
    launcher.getOutputStream().flush();
    answer();
  }

  /** Starts it again. */
  void start() throws IOException {
    tell("start");
  }

  Path socket() {
    return socket;
  }

  String url() {
    return "unix://" + socket();
  }

  String command(String... words) throws IOException {
    Process client = new ProcessBuilder(Stream.concat(Stream.of("redis-cli", "-s", socket().toString()), Stream.of(words)).toList())
        .redirectErrorStream(true).start();
    return new String(client.getInputStream().readAllBytes(), UTF_8).trim();
  }

  /** Stops the server as it stands: connections stay, and answer no more. */
  void pause() throws IOException {
    tell("pause");
  }

  void resume() throws IOException {
    tell("continue");
  }

  void kill() throws IOException {
    tell("kill");
  }

  @Override
  public void close() throws IOException, InterruptedException {
    launcher.getOutputStream().close();
    launcher.waitFor();
  }

  /** Waits for something that must become true. */
  static void eventually(Callable<Boolean> condition) {
    eventually(Duration.ofSeconds(20), condition);
  }

  static void eventually(Duration limit, Callable<Boolean> condition) {
    long end = System.nanoTime() + limit.toNanos();
    try {
      while (!condition.call()) {
        if (System.nanoTime() > end) {
          throw new AssertionError("it did not become true within " + limit);
        }
        Thread.sleep(5);
      }
    } catch (AssertionError e) {
      throw e;
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  static List<String> javaCommand(String... words) {
    return Stream.concat(Stream.of(ProcessHandle.current().info().command().orElse("java"), "-Xcheck:jni"), Stream.of(words)).toList();
  }
}
