package invalid.belay;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/** The news of a hold, and who listens to them. An executor of the user may block under its lock, which pins no virtual thread. */
final class News {
  private record Listener(int kind, Consumer<Reason> action) {}

  /**
   * What the pump, which alone tells it something, has of a hold. It does not keep the hold, which may be dropped; and keeps the last
   * news for those that listen later.
   */
  static final class Inbox {
    private volatile Event last;
    private volatile WeakReference<News> news;

    void tell(Event event) {
      last = event;
      News attached = news == null ? null : news.get();
      if (attached != null) {
        attached.hear(this);
      }
    }

    void attach(News attached) {
      news = new WeakReference<>(attached);
      attached.hear(this);
    }

    /** The last news, or null. */
    Event last() {
      return last;
    }
  }

  private final ReentrantLock lock = new ReentrantLock();
  private final Executor executor;
  private final List<Listener> listeners = new ArrayList<>();
  private Event last;
  private CompletableFuture<Void> told = CompletableFuture.completedFuture(null);

  News(Executor executor) {
    this.executor = executor;
  }

  /** Also calls back at once if the last news is of that kind. */
  void on(int kind, boolean atOnce, Consumer<Reason> action) {
    Listener listener = new Listener(kind, action);
    lock.lock();
    try {
      listeners.add(listener);
      if (atOnce && last != null && last.kind() == kind) {
        call(listener, last);
      }
    } finally {
      lock.unlock();
    }
  }

  /** Calls back for the last of an inbox, unless it has done so. */
  private void hear(Inbox inbox) {
    lock.lock();
    try {
      Event event = inbox.last;
      if (event == last) {
        return;
      }
      last = event;
      for (Listener listener : listeners) {
        if (listener.kind == event.kind()) {
          call(listener, event);
        }
      }
    } finally {
      lock.unlock();
    }
  }

  /** In order. A callback that blocks holds up no other hold's; one that throws is told as uncaught, and holds up nothing. */
  private void call(Listener listener, Event event) {
    told = told.handleAsync((nothing, thrownBefore) -> {
      try {
        listener.action.accept(event.reason().orElse(Reason.UNKNOWN));
      } catch (Throwable e) {
        Callbacks.uncaught(e);
      }
      return null;
    }, executor);
  }
}
