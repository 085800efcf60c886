// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay;

import invalid.belay.internal.Handle;
import invalid.belay.internal.Native;
import java.time.Duration;
import java.util.Objects;

/** What a pump submits. Arguments are checked before that. */
final class Submissions {
  private Submissions() {}

  static Pump.Submission ofExtend(Pump pump, long hold, Duration lease) {
    long leaseMs = Request.wholeMillis(lease, "lease");
    return tag -> Native.belaySubmitExtend(pump.client, tag, hold, leaseMs);
  }

  static Pump.Submission ofDowngrade(Pump pump, long hold) {
    return tag -> Native.belaySubmitDowngrade(pump.client, tag, hold);
  }

  static Pump.Submission ofVerify(Pump pump, long hold) {
    return tag -> Native.belaySubmitVerify(pump.client, tag, hold);
  }

  static Pump.Submission ofInspect(Pump pump, byte[] name) {
    Objects.requireNonNull(name, "name");
    return tag -> Native.belaySubmitInspect(pump.client, tag, name);
  }

  static Pump.Submission ofBreak(Pump pump, byte[] name, long fence) {
    Objects.requireNonNull(name, "name");
    return tag -> Native.belaySubmitBreak(pump.client, tag, name, fence);
  }

  static Pump.Submission ofList(Pump pump, byte[] pattern, long limit) {
    Objects.requireNonNull(pattern, "pattern");
    return tag -> Native.belaySubmitList(pump.client, tag, pattern, limit);
  }

  static Pump.Submission ofFencedWriteWords(Pump pump, byte[] key, long fence, Handle words) {
    Objects.requireNonNull(key, "key");
    return tag -> Native.belaySubmitFencedWriteWords(pump.client, tag, key, fence, words);
  }

  static Pump.Submission ofSemaphoreSetLimit(Pump pump, byte[] name, long limit) {
    Objects.requireNonNull(name, "name");
    return tag -> Native.belaySubmitSemaphoreSetLimit(pump.client, tag, name, limit);
  }

  static Pump.Submission ofSemaphoreAvailable(Pump pump, byte[] name) {
    Objects.requireNonNull(name, "name");
    return tag -> Native.belaySubmitSemaphoreAvailable(pump.client, tag, name);
  }

  static Pump.Submission ofLatchSet(Pump pump, byte[] name, long count, Duration ttl) {
    Objects.requireNonNull(name, "name");
    long ttlMs = Request.wholeMillis(ttl, "ttl");
    return tag -> Native.belaySubmitLatchSet(pump.client, tag, name, count, ttlMs);
  }

  static Pump.Submission ofLatchCountDown(Pump pump, byte[] name, long n) {
    Objects.requireNonNull(name, "name");
    return tag -> Native.belaySubmitLatchCountDown(pump.client, tag, name, n);
  }

  static Pump.Submission ofLatchCount(Pump pump, byte[] name) {
    Objects.requireNonNull(name, "name");
    return tag -> Native.belaySubmitLatchCount(pump.client, tag, name);
  }

  static Pump.Submission ofPing(Pump pump) {
    return tag -> Native.belaySubmitPing(pump.client, tag);
  }
}
