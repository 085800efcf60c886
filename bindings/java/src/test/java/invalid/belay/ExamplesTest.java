package invalid.belay;

import static org.junit.jupiter.api.Assertions.*;

import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The examples run, and are what the documentation shows. */
final class ExamplesTest extends ServerTest {
  private static final Path ROOT = Path.of(System.getProperty("belay.header")).getParent().resolve("../..").normalize();

  @ParameterizedTest
  @CsvSource({"Quickstart, charging order 42 under fence", "JdkForms, started"})
  void exampleRuns(String name, String says) throws Exception {
    String path = System.getProperty("belay.classes");
    assertTrue(run("--class-path", path, example(name).toString()).contains(says));
    assertTrue(run("--module-path", path, "--add-modules", "invalid.belay", example(name).toString()).contains(says));
  }

  @ParameterizedTest
  @CsvSource({"LeaderElection, another one may lead", "NightlyJob, reporting", "StockUpdate, too late: fence", "AsyncOrders, all are charged"})
  void programRuns(String name, String says) throws Exception {
    String output = run("--class-path", System.getProperty("belay.classes"), example(name).toString());
    assertTrue(output.contains(says), output);
  }

  private String run(String... arguments) throws Exception {
    String java = ProcessHandle.current().info().command().orElseThrow();
    ProcessBuilder builder = new ProcessBuilder(Stream.concat(Stream.of(java, "-XX:TieredStopAtLevel=1"), Stream.of(arguments)).toList());
    builder.environment().put("BELAY_URL", server.url());
    Process process = builder.redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor(), output);
    return output;
  }

  @Test
  void adaptersForOtherLibrariesWork(@TempDir Path classes) throws Exception {
    String path = String.join(File.pathSeparator, classes.toString(), System.getProperty("jdk.module.path", ""), System.getProperty("java.class.path"));
    int compiled = ToolProvider.findFirst("javac").orElseThrow().run(System.out, System.err, "-d", classes.toString(), "-cp", path,
        example("BelayMetrics").toString(), example("BelayConfiguration").toString(), ROOT.resolve("bindings/java/src/test/adapters/UseAdapters.java").toString());
    assertEquals(0, compiled);
    String output = run("--class-path", path, "UseAdapters");
    for (String says : List.of("grants 1.0\n", "holds 1.0\n", "closed\n", "INFO invalid.belay")) {
      assertTrue(output.contains(says), says + " is missing in: " + output);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"Quickstart", "JdkForms", "LeaderElection", "NightlyJob", "StockUpdate", "AsyncOrders"})
  void documentationShowsTheExample(String name) throws Exception {
    assertTrue(Files.readString(ROOT.resolve("docs/java.md")).contains("```java\n" + Files.readString(example(name)) + "```\n"), name);
  }

  private static Path example(String name) {
    return ROOT.resolve("bindings/java/examples/" + name + ".java");
  }
}
