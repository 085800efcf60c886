package invalid.belay.internal;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/**
 * Loads the native library: the file that the property belay.library names, or else libbelay_java of java.library.path, or else the
 * one in the jar. Of the latter each class loader makes a file of its own, as the JVM refuses one file in two of them; it is deleted
 * once it is loaded. The property belay.tmpdir names its folder if the system's is mounted noexec.
 */
public final class Loader {
  private static final String NAME = "belay_java";

  private Loader() {}

  /** Loads the library; of several calls only the first does. */
  public static void load() {
    Loaded.touch();
  }

  private static final class Loaded {
    static {
      loadLibrary();
      if (Native.belayAbi() != Numbers.ABI) {
        throw new UnsatisfiedLinkError("the native library of Belay is not the one of this jar");
      }
    }

    static void touch() {}
  }

  private static void loadLibrary() {
    String file = System.getProperty("belay.library");
    if (file != null) {
      System.load(Path.of(file).toAbsolutePath().toString());
      return;
    }
    try {
      System.loadLibrary(NAME);
    } catch (UnsatisfiedLinkError notInstalled) {
      loadFromJar();
    }
  }

  private static void loadFromJar() {
    String platform = platform();
    String resource = "META-INF/belay/" + platform + "/" + System.mapLibraryName(NAME);
    try (InputStream library = Loader.class.getClassLoader().getResourceAsStream(resource)) {
      if (library == null) {
        throw new UnsatisfiedLinkError(
            "Belay has no native library for " + platform + ": set the property belay.library to one that you built");
      }
      loadCopy(library);
    } catch (IOException e) {
      throw new UnsatisfiedLinkError("the native library of Belay could not be copied from the jar: " + e);
    }
  }

  private static void loadCopy(InputStream library) throws IOException {
    String folder = System.getProperty("belay.tmpdir", System.getProperty("java.io.tmpdir"));
    Path copy = Files.createTempFile(Path.of(folder), "libbelay_java", ".so");
    try {
      Files.copy(library, copy, StandardCopyOption.REPLACE_EXISTING);
      System.load(copy.toAbsolutePath().toString());
    } catch (UnsatisfiedLinkError e) {
      throw new UnsatisfiedLinkError(e.getMessage() + " (if " + folder + " is mounted noexec, name a folder by the property belay.tmpdir)");
    } finally {
      Files.delete(copy);
    }
  }

  private static String platform() {
    String machine = System.getProperty("os.arch");
    return System.getProperty("os.name").toLowerCase(java.util.Locale.ROOT)
        + "-" + (machine.equals("amd64") ? "x86_64" : machine);
  }
}
