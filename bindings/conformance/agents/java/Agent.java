import invalid.belay.Belay;
import invalid.belay.BelayException;
import invalid.belay.DistributedLatch;
import invalid.belay.DistributedLock;
import invalid.belay.DistributedSemaphore;
import invalid.belay.Failure;
import invalid.belay.Hold;
import invalid.belay.InUseException;
import invalid.belay.Inspection;
import invalid.belay.Listing;
import invalid.belay.LogEntry;
import invalid.belay.Member;
import invalid.belay.Options;
import invalid.belay.Permits;
import invalid.belay.Primitive;
import invalid.belay.Role;
import invalid.belay.StaleFenceException;
import invalid.belay.State;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * The agent in Java: it does what lines on stdin say, as ../../README.md has it. A request is a call that waits, a task is its future. An
 * owner is a thread, as in Java a thread enters again what it holds; an acquire without one has a thread of its own.
 */
final class Agent {
  private static final HexFormat HEX = HexFormat.of();

  /** A request. */
  private record Line(String verb, List<String> words, Map<String, String> options) {
    static Line of(List<String> words) {
      Map<String, String> options = new LinkedHashMap<>();
      words.stream().skip(1).filter(word -> word.contains("=")).map(word -> word.split("=", 2)).forEach(o -> options.put(o[0], o[1]));
      return new Line(words.get(0), words.stream().skip(1).filter(word -> !word.contains("=")).toList(), options);
    }

    boolean has(String key) {
      return options.containsKey(key);
    }

    long number(String key) {
      return Long.parseLong(options.getOrDefault(key, "0"));
    }

    Duration duration(String key) {
      return Duration.ofMillis(number(key));
    }

    byte[] name() {
      return HEX.parseHex(words.get(0));
    }

    byte[][] list(int index) {
      return Arrays.stream(words.get(index).split(",")).map(HEX::parseHex).toArray(byte[][]::new);
    }
  }

  /** What a label of a hold names. */
  private record Held(Hold hold, LinkedBlockingQueue<String> news) {}

  /** A request that runs: its answer, and what cancels it. */
  private record Task(Future<String> reply, Runnable cancel) {}

  /** The two forms of a call. */
  private record Call(Function<Line, Callable<String>> now, Function<Line, CompletableFuture<String>> later) {}

  private final Map<String, Call> calls = new HashMap<>();
  private final Map<Long, ExecutorService> owners = new HashMap<>();
  private final Map<String, Held> holds = new ConcurrentHashMap<>();
  private final Map<String, Task> tasks = new HashMap<>();
  private LinkedBlockingQueue<LogEntry> log = new LinkedBlockingQueue<>();
  private Options options;
  private Belay belay;

  private Agent() {
    on("release", this::release, line -> hold(line).releaseAsync(), done -> "");
    on("abandon", line -> run(hold(line)::abandon), null, done -> "");
    on("extend", line -> run(() -> hold(line).extend(line.duration("lease"))), line -> hold(line).extendAsync(line.duration("lease")),
        done -> "");
    on("verify", line -> run(hold(line)::verify), line -> hold(line).verifyAsync(), done -> "");
    on("downgrade", line -> run(hold(line)::downgrade), line -> hold(line).downgradeAsync(), done -> "");
    on("ping", line -> run(belay::ping), line -> belay.pingAsync(), done -> "");
    on("id", line -> belay.id(), null, id -> " id=" + id);
    on("metrics", line -> belay.metrics(), null,
        metrics -> metrics.entrySet().stream().map(metric -> " " + metric.getKey() + "=" + metric.getValue()).collect(Collectors.joining()));
    on("set_limit", line -> semaphore(line).setLimit(line.number("limit")), line -> semaphore(line).setLimitAsync(line.number("limit")),
        Agent::permits);
    on("available", line -> semaphore(line).available(), line -> semaphore(line).availableAsync(), Agent::permits);
    on("latch_set", line -> latch(line).set(line.number("count"), line.duration("ttl")),
        line -> latch(line).setAsync(line.number("count"), line.duration("ttl")), generation -> " generation=" + generation);
    on("latch_count_down", line -> latch(line).countDown(line.number("n")), line -> latch(line).countDownAsync(line.number("n")),
        count -> " count=" + count);
    on("latch_count", line -> latch(line).getCount(), line -> latch(line).getCountAsync(), count -> " count=" + count);
    on("latch_await", line -> forever(line) ? latch(line).await() : latch(line).await(line.duration("wait")),
        line -> forever(line) ? latch(line).awaitAsync() : latch(line).awaitAsync(line.duration("wait")),
        generation -> " generation=" + generation);
    on("fenced_write", line -> belay.fencedWrite(line.name(), line.number("fence"), line.list(1)),
        line -> belay.fencedWriteAsync(line.name(), line.number("fence"), line.list(1)), text -> hex("text", text));
    on("inspect", line -> belay.inspect(line.name()), line -> belay.inspectAsync(line.name()), Agent::inspection);
    on("break", line -> belay.breakLock(line.name(), line.number("fence")),
        line -> belay.breakLockAsync(line.name(), line.number("fence")), Agent::members);
    on("list", line -> belay.list(line.name(), line.number("limit")), line -> belay.listAsync(line.name(), line.number("limit")),
        Agent::listing);
  }

  private interface Now<T> {
    T call(Line line) throws Exception;
  }

  /** Without an asynchronous form a task runs in a thread. */
  private <T> void on(String verb, Now<T> now, Function<Line, CompletableFuture<T>> later, Function<T, String> text) {
    Function<Line, Callable<String>> waiting = line -> () -> "OK" + text.apply(now.call(line));
    calls.put(verb, new Call(waiting, later == null ? null : line -> later.apply(line).thenApply(result -> "OK" + text.apply(result))));
  }

  private static Void run(Runnable call) {
    call.run();
    return null;
  }

  // ---- Acquire ----

  private static boolean forever(Line line) {
    return line.number("wait") < 0;
  }

  private Hold hold(Line line) {
    return holds.get(line.words.get(0)).hold;
  }

  private Void release(Line line) {
    return run(line.has("nowait") ? hold(line)::releaseNoWait : hold(line)::release);
  }

  private String state(Line line) {
    Hold hold = hold(line);
    return hold.state() == State.RELEASED ? "UNKNOWN_HOLD" : "OK state=" + hold.state() + " remaining=" + hold.remaining().toMillis() + " fence=" + fences(hold);
  }

  private static String fences(Hold hold) {
    return Arrays.stream(hold.fences()).mapToObj(Long::toString).collect(Collectors.joining(","));
  }

  private DistributedSemaphore semaphore(Line line) {
    return belay.semaphore(line.name(), 0);
  }

  private DistributedLatch latch(Line line) {
    return belay.latch(line.name()).withGeneration(line.number("generation"));
  }

  private DistributedLock lock(Line line) {
    byte[][] names = line.list(2);
    boolean one = names.length == 1;
    DistributedLock lock = switch (line.words.get(1)) {
      case "read" -> one ? belay.readWriteLock(names[0]).readLock() : belay.multiReadLock(names);
      case "write" -> one ? belay.readWriteLock(names[0]).writeLock() : belay.multiLock(names);
      default -> one ? belay.lock(names[0]) : belay.multiLock(names);
    };
    lock = line.has("lease") ? lock.withLease(line.duration("lease")) : lock;
    lock = line.has("max_hold") ? lock.withMaxHold(line.duration("max_hold")) : lock;
    lock = line.has("lock_delay") ? lock.withLockDelay(line.duration("lock_delay")) : lock;
    lock = line.has("confirmed") ? lock.withConfirmation() : lock;
    return line.has("identity") ? lock.withIdentity(HEX.parseHex(line.options.get("identity"))) : lock;
  }

  private DistributedSemaphore permitsOf(Line line) {
    DistributedSemaphore semaphore = belay.semaphore(line.list(2)[0], line.number("limit"));
    semaphore = line.has("lease") ? semaphore.withLease(line.duration("lease")) : semaphore;
    semaphore = line.has("max_hold") ? semaphore.withMaxHold(line.duration("max_hold")) : semaphore;
    semaphore = line.has("confirmed") ? semaphore.withConfirmation() : semaphore;
    return line.has("lock_delay") ? semaphore.withLockDelay(line.duration("lock_delay")) : semaphore;
  }

  private static boolean isSemaphore(Line line) {
    return line.words.get(1).equals("semaphore");
  }

  private static int permitsWanted(Line line) {
    return line.has("permits") ? (int) line.number("permits") : 1;
  }

  private String acquire(Line line) throws InterruptedException {
    if (line.options.get("wait").equals("0")) {
      Optional<Hold> tried = isSemaphore(line) ? permitsOf(line).tryAcquireHold(permitsWanted(line)) : lock(line).tryAcquire();
      return tried.map(hold -> keep(line, hold)).orElse("BUSY");
    }
    Duration wait = line.duration("wait");
    if (isSemaphore(line)) {
      DistributedSemaphore semaphore = permitsOf(line);
      return keep(line, forever(line) ? semaphore.acquireHold(permitsWanted(line)) : semaphore.acquireHold(permitsWanted(line), wait));
    }
    return keep(line, forever(line) ? lock(line).acquire() : lock(line).acquire(wait));
  }

  private CompletableFuture<Hold> acquireLater(Line line) {
    Duration wait = line.duration("wait");
    if (isSemaphore(line)) {
      DistributedSemaphore semaphore = permitsOf(line);
      return forever(line) ? semaphore.acquireAsync(permitsWanted(line)) : semaphore.acquireAsync(permitsWanted(line), wait);
    }
    return forever(line) ? lock(line).acquireAsync() : lock(line).acquireAsync(wait);
  }

  private String keep(Line line, Hold hold) {
    Held held = new Held(hold, new LinkedBlockingQueue<>());
    hold.onLost(reason -> held.news.add(" news=LOST reason=" + reason))
        .onAtRisk(reason -> held.news.add(" news=AT_RISK reason=" + reason))
        .onRecovered(() -> held.news.add(" news=RECOVERED"));
    holds.put(line.words.get(0), held);
    return "OK fence=" + fences(hold) + (isSemaphore(line) ? " permits=" + hold.permits() : "");
  }

  // ---- Verbs of the agent's own ----

  private String serve(Line line) throws Exception {
    long limit = line.number("limit");
    switch (line.verb) {
      case "supports":
        return "OK cannot=fork";
      case "open":
        return open(line);
      case "change":
        line.options.forEach(options::set);
        return "OK";
      case "close":
        belay.close();
        return "OK";
      case "news":
        return "OK" + Optional.ofNullable(holds.get(line.words.get(0)).news.poll(limit, TimeUnit.MILLISECONDS)).orElse("");
      case "log":
        return "OK" + Optional.ofNullable(log.poll(limit, TimeUnit.MILLISECONDS)).map(Agent::entry).orElse("");
      case "start":
        tasks.put(line.words.get(0), start(new Line(line.words.get(1), line.words.subList(2, line.words.size()), line.options)));
        return "OK";
      case "await":
        return await(tasks.get(line.words.get(0)).reply, limit);
      case "cancel":
        tasks.get(line.words.get(0)).cancel.run();
        return "OK";
      case "hold":
        return state(line);
      case "acquire":
        return await(threadOf(line).submit(() -> acquire(line)), Long.MAX_VALUE);
      default:
        return calls.containsKey(line.verb) ? calls.get(line.verb).now.apply(line).call() : bad("no verb " + line.verb);
    }
  }

  private String open(Line line) {
    end();
    log = new LinkedBlockingQueue<>();
    options = Belay.options().onLog(log::add);
    line.options.forEach(options::set);
    belay = options.connect();
    return "OK";
  }

  private void end() {
    if (belay != null) {
      belay.close();
    }
  }

  private Task start(Line line) {
    if (line.verb.equals("acquire") && !line.has("owner")) {
      try {
        CompletableFuture<Hold> hold = acquireLater(line);
        return new Task(hold.thenApply(granted -> keep(line, granted)), () -> hold.cancel(true));
      } catch (RuntimeException e) {
        return new Task(CompletableFuture.failedFuture(e), () -> {});
      }
    }
    Call call = calls.get(line.verb);
    if (call != null && call.later != null) {
      try {
        CompletableFuture<String> reply = call.later.apply(line);
        return new Task(reply, () -> reply.cancel(true));
      } catch (RuntimeException e) {
        return new Task(CompletableFuture.failedFuture(e), () -> {});
      }
    }
    Future<String> reply = threadOf(line).submit(() -> call == null ? acquire(line) : call.now.apply(line).call());
    return new Task(reply, () -> reply.cancel(true));
  }

  private ExecutorService threadOf(Line line) {
    return line.has("owner") ? owners.computeIfAbsent(line.number("owner"), owner -> thread()) : thread();
  }

  private static ExecutorService thread() {
    return Executors.newSingleThreadExecutor(task -> {
      Thread thread = new Thread(task);
      thread.setDaemon(true);
      return thread;
    });
  }

  private static String await(Future<String> reply, long limit) throws Exception {
    try {
      return reply.get(limit, TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      return "PENDING";
    } catch (ExecutionException e) {
      throw e.getCause() instanceof Exception cause ? cause : e;
    }
  }

  // ---- Replies ----

  private static String hex(String key, byte[] bytes) {
    return bytes == null || bytes.length == 0 ? "" : " " + key + "=" + HEX.formatHex(bytes);
  }

  private static String hex(String key, String text) {
    return hex(key, text.getBytes(StandardCharsets.UTF_8));
  }

  private static String ifAny(String key, long number) {
    return number == 0 ? "" : " " + key + "=" + number;
  }

  private static String bad(String why) {
    return "BAD" + hex("message", why);
  }

  private static String permits(Permits permits) {
    return " limit=" + permits.limit() + " available=" + permits.available();
  }

  private static String inspection(Inspection found) {
    String numbers = switch (found.primitive().orElse(Primitive.UNKNOWN)) {
      case SEMAPHORE -> " limit=" + found.limit() + " available=" + found.available();
      case LATCH -> " generation=" + found.generation() + " count=" + found.count();
      default -> "";
    };
    return found.primitive().map(primitive -> " primitive=" + primitive.toString().toLowerCase(Locale.ROOT)).orElse("") + numbers
        + (found.slot().isPresent() ? " slot=" + found.slot().getAsInt() : "") + " total=" + found.total() + members(found.members());
  }

  private static String members(List<Member> members) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < members.size(); ++i) {
      Member m = members.get(i);
      String key = "m" + i + ".";
      text.append(" ").append(key).append("role=").append(m.role().toString().toLowerCase(Locale.ROOT))
          .append(" ").append(key).append("client=").append(m.client()).append(hex(key + "label", m.label()))
          .append(hex(key + "host", m.host())).append(ifAny(key + "pid", m.pid()))
          .append(" ").append(key).append("since=").append(m.since().toMillis());
      if (m.role() == Role.HOLDER) {
        text.append(" ").append(key).append("lease=").append(m.lease().toMillis()).append(" ").append(key).append("fence=").append(m.fence())
            .append(" ").append(key).append("holds=").append(m.holds()).append(" ").append(key).append("waiters=").append(m.localWaiters());
      }
      text.append(ifAny(key + "permits", m.permits())).append(m.shared() ? " " + key + "shared=1" : "");
    }
    return text.toString();
  }

  private static String listing(Listing found) {
    StringBuilder text = new StringBuilder(" total=" + found.total());
    for (int i = 0; i < found.names().size(); ++i) {
      text.append(hex("m" + i + ".name", found.names().get(i)));
    }
    return text.toString();
  }

  private static String entry(LogEntry entry) {
    return " level=" + entry.level().toString().toLowerCase(Locale.ROOT) + hex("message", entry.message());
  }

  private static String failure(Exception e) {
    if (e instanceof CancellationException || e instanceof InterruptedException) {
      return "CANCELLED";
    }
    if (!(e instanceof Failure failure)) {
      e.printStackTrace();
      return bad(e.toString());
    }
    if (!Modifier.isFinal(e.getClass().getModifiers())) {
      return bad(failure.status() + " has no exception of its own, only " + e.getClass().getSimpleName());
    }
    String number = e instanceof InUseException inUse ? " count=" + inUse.count()
        : e instanceof StaleFenceException stale ? " fence=" + stale.fence()
        : e instanceof BelayException other ? ifAny("remaining", other.remaining().toMillis()) : "";
    return failure.status() + hex("message", failure.getMessage()) + ifAny("in_doubt", failure.inDoubt().toMillis())
        + failure.reason().map(reason -> " reason=" + reason).orElse("") + number;
  }

  public static void main(String[] arguments) throws Exception {
    Agent agent = new Agent();
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String text = in.readLine(); text != null; text = in.readLine()) {
      String reply;
      try {
        reply = agent.serve(Line.of(List.of(text.split(" "))));
      } catch (Exception e) {
        reply = failure(e);
      }
      System.out.println(reply);
    }
    agent.end();
  }
}
