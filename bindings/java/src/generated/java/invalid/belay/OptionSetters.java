// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

import java.nio.file.Path;
import java.time.Duration;

/** The setters of options. */
abstract class OptionSetters {
  abstract Options set(String name, String value);

  abstract Options number(String name, long value);

  /**
   * Sets the server: redis://[[user]:password@]host[:port][/db] or unix://[[user]:password@]/path,
   * with other options as parameters, such as ?label=x. redis://a,b,c is a master and its replicas,
   * redis-sentinel://a,b,c/NAME the master that these sentinels know as NAME. rediss:// and
   * rediss-sentinel:// are the same with TLS. Default: the environment variable BELAY_URL, else
   * redis://localhost:6379.
   *
   * @param url the value of the option url
   * @return these options
   */
  public Options url(String url) {
    return set("url", url);
  }

  /**
   * Sets the ACL user, instead of the URL's. Default: the server's default user.
   *
   * @param user the value of the option user
   * @return these options
   */
  public Options user(String user) {
    return set("user", user);
  }

  /**
   * Sets the password, instead of the URL's. No message or log line contains it.
   *
   * @param password the value of the option password
   * @return these options
   */
  public Options password(String password) {
    return set("password", password);
  }

  /**
   * Reads the password from a file's first line, 4095 bytes at most, instead of the URL's: again at
   * each connection, UNAVAILABLE if that fails; of a pipe once, within 5 s. The log warns of a file
   * open to others.
   *
   * @param path the value of the option password_file
   * @return these options
   */
  public Options passwordFile(Path path) {
    return set("password_file", path.toString());
  }

  /**
   * Sets the text that inspect shows of this client beside host and process id, at most 64 bytes.
   * Default: the program's name.
   *
   * @param label the value of the option label
   * @return these options
   */
  public Options label(String label) {
    return set("label", label);
  }

  /**
   * Sets the prefix of all keys and channels, 1..64 bytes without braces. Default: "belay:".
   * Clients exclude each other only if they have the same prefix.
   *
   * @param prefix the value of the option prefix
   * @return these options
   */
  public Options prefix(String prefix) {
    return set("prefix", prefix);
  }

  /**
   * Sets the lease of holds that the client renews, 100 ms..24 h; default 30 s. If this process
   * dies, others wait until this lease ends. The client renews after a third of it.
   *
   * @param lease the value of the option watchdog_lease_ms
   * @return these options
   */
  public Options watchdogLease(Duration lease) {
    return number("watchdog_lease_ms", Request.wholeMillis(lease, "lease"));
  }

  /**
   * Sets how long a call waits for the server to be reached and to answer, 10 ms..1 h; default 5 s.
   * The wait for a lock does not count.
   *
   * @param timeout the value of the option request_timeout_ms
   * @return these options
   */
  public Options requestTimeout(Duration timeout) {
    return number("request_timeout_ms", Request.wholeMillis(timeout, "timeout"));
  }

  /**
   * Sets for how long the client renews a hold, 100 ms..30 days; 0, the default: without limit.
   * When the client stops renewing, the hold is at risk.
   *
   * @param maxHold the value of the option max_hold_ms
   * @return these options
   */
  public Options maxHold(Duration maxHold) {
    return number("max_hold_ms", Request.wholeMillis(maxHold, "maxHold"));
  }

  /**
   * Sets how many calls may be pending at once, 1..10000000; default 100000.
   *
   * @param count the value of the option max_pending
   * @return these options
   */
  public Options maxPending(long count) {
    return number("max_pending", count);
  }

  /**
   * Sets a file with CAs to trust. Without it and {@link #tlsCaDir}, the system's are trusted.
   *
   * @param path the value of the option tls_ca_file
   * @return these options
   */
  public Options tlsCaFile(Path path) {
    return set("tls_ca_file", path.toString());
  }

  /**
   * Sets a folder with CAs to trust, one a file, named as `openssl rehash` does.
   *
   * @param path the value of the option tls_ca_dir
   * @return these options
   */
  public Options tlsCaDir(Path path) {
    return set("tls_ca_dir", path.toString());
  }

  /**
   * Sets a file with this client's certificate and, after it, those of the CAs between it and the
   * server's.
   *
   * @param path the value of the option tls_cert_file
   * @return these options
   */
  public Options tlsCertFile(Path path) {
    return set("tls_cert_file", path.toString());
  }

  /**
   * Sets the file with the key of this client's certificate. Default: the file of the certificate.
   *
   * @param path the value of the option tls_key_file
   * @return these options
   */
  public Options tlsKeyFile(Path path) {
    return set("tls_key_file", path.toString());
  }

  /**
   * Sets the name or the address that the server's certificate must have, at most 253 bytes,
   * instead of the URL's host. The client also asks for this name (SNI).
   *
   * @param name the value of the option tls_server_name
   * @return these options
   */
  public Options tlsServerName(String name) {
    return set("tls_server_name", name);
  }

  /**
   * Sets the oldest version of TLS to speak: "1.2", the default, or "1.3".
   *
   * @param version the value of the option tls_min_version
   * @return these options
   */
  public Options tlsMinVersion(String version) {
    return set("tls_min_version", version);
  }
}
