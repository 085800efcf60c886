package invalid.belay;

import java.lang.ref.WeakReference;

/** The way of news to a hold. It does not keep the hold, which may be dropped; and keeps the last news for one that comes later. */
final class HoldNews {
  private WeakReference<Hold> hold;
  private Event last;

  synchronized void tell(Event event) {
    last = event;
    Hold attached = hold == null ? null : hold.get();
    if (attached != null) {
      attached.tell(event);
    }
  }

  synchronized void attach(Hold attached) {
    hold = new WeakReference<>(attached);
    if (last != null) {
      attached.tell(last);
    }
  }
}
