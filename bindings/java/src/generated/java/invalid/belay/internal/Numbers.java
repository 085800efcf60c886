// Made from belay.h by bindings/swig/generate.py: change nothing here.
package invalid.belay.internal;

/** The numbers of the kinds, fields and members of events, and of the interface of the library. */
public final class Numbers {
  private Numbers() {}

  public static final int ABI = 1;
  public static final int ACQUIRED = 1;
  public static final int RELEASED = 2;
  public static final int EXTENDED = 3;
  public static final int VERIFIED = 4;
  public static final int INSPECTED = 5;
  public static final int BROKEN = 6;
  public static final int LISTED = 7;
  public static final int PINGED = 8;
  public static final int WRITTEN = 9;
  public static final int LATCH_SET = 10;
  public static final int LATCH_COUNTED_DOWN = 11;
  public static final int LATCH_COUNT = 12;
  public static final int DOWNGRADED = 13;
  public static final int SEMAPHORE_LIMIT_SET = 14;
  public static final int SEMAPHORE_AVAILABLE = 15;
  public static final int METRICS = 16;
  public static final int LOST = 20;
  public static final int AT_RISK = 21;
  public static final int RECOVERED = 22;
  public static final int LOG = 23;
  public static final int END = 30;
  public static final int FIELD_KIND = 0;
  public static final int FIELD_TAG = 1;
  public static final int FIELD_STATUS = 2;
  public static final int FIELD_HOLD = 3;
  public static final int FIELD_FENCE = 4;
  public static final int FIELD_REMAINING_MS = 5;
  public static final int FIELD_IN_DOUBT_MS = 6;
  public static final int FIELD_REASON = 7;
  public static final int FIELD_PERMITS = 8;
  public static final int FIELD_COUNT = 9;
  public static final int FIELD_GENERATION = 10;
  public static final int FIELD_AVAILABLE = 11;
  public static final int FIELD_LIMIT = 12;
  public static final int FIELD_MEMBERS = 13;
  public static final int FIELD_TOTAL = 14;
  public static final int FIELD_PRIMITIVE = 15;
  public static final int FIELD_LEVEL = 16;
  public static final int FIELD_TIME_MS = 17;
  public static final int FIELD_DROPPED = 18;
  public static final int FIELD_SLOT = 19;
  public static final int MEMBER_ROLE = 1;
  public static final int MEMBER_NAME = 2;
  public static final int MEMBER_CLIENT = 3;
  public static final int MEMBER_LABEL = 4;
  public static final int MEMBER_HOST = 5;
  public static final int MEMBER_PID = 6;
  public static final int MEMBER_SINCE_MS = 7;
  public static final int MEMBER_LEASE_MS = 8;
  public static final int MEMBER_FENCE = 9;
  public static final int MEMBER_HOLDS = 10;
  public static final int MEMBER_LOCAL_WAITERS = 11;
  public static final int MEMBER_PERMITS = 12;
  public static final int MEMBER_SHARED = 13;
  public static final int MEMBER_VALUE = 14;
}
