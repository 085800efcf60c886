package invalid.belay;

import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * Names in use.
 *
 * @param names the names
 * @param total more than there are names if the limit cut them off
 */
public record Listing(List<byte[]> names, long total) {
  /** {@return the names as text; what is not UTF-8 in them is replaced} */
  public List<String> texts() {
    return names.stream().map(name -> new String(name, StandardCharsets.UTF_8)).toList();
  }
}
