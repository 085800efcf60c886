package invalid.belay;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.Timeout;

/** What tests with a server have: one server for a class, a client and an empty database for a test. */
@Timeout(value = 120, unit = TimeUnit.SECONDS)
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class ServerTest {
  static final Duration LONG = Duration.ofSeconds(20);
  static final Duration SHORT = Duration.ofMillis(50);

  Server server;
  Belay belay;
  private final List<Belay> others = new ArrayList<>();

  @BeforeAll
  final void startServer() throws IOException {
    server = new Server();
  }

  @AfterAll
  final void stopServer() throws IOException, InterruptedException {
    server.close();
  }

  @BeforeEach
  final void connect() throws IOException {
    server.command("FLUSHALL");
    belay = options().connect();
  }

  @AfterEach
  final void disconnect() {
    belay.close();
    others.forEach(Belay::close);
    others.clear();
  }

  Options options() {
    return Belay.options().url(server.url()).label("test");
  }

  /** Another client: another process, to the server. */
  Belay another() {
    Belay other = options().connect();
    others.add(other);
    return other;
  }

  long metric(String name) {
    return belay.metrics().get(name);
  }

  interface Body {
    void run() throws Exception;
  }

  /** Runs it in a thread; rethrows what it throws when joined. */
  static java.util.concurrent.FutureTask<Void> thread(Body body) {
    var task = new java.util.concurrent.FutureTask<Void>(() -> {
      body.run();
      return null;
    });
    Thread thread = new Thread(task);
    thread.setDaemon(true);
    thread.start();
    return task;
  }

  static void join(java.util.concurrent.Future<?> task) throws Exception {
    task.get(LONG.toSeconds(), TimeUnit.SECONDS);
  }
}
