/* For languages that have an event's numbers as a row of an array, Go and Java: calls that fill rows in the same crossing. These languages
 * wait with a call of short patience, or for their pump: the blocking calls are left out. */
%rename("$ignore", %$isfunction, regexmatch$name="^belay_(lock|acquire|release|extend|downgrade|verify|inspect|break|list)$") "";
%rename("$ignore", %$isfunction, regexmatch$name="^belay_(fenced|semaphore|latch)_") "";
%rename("$ignore", %$isfunction, regexmatch$name="^belay_(acquire|release)_within$") "";
%rename("$ignore", %$isfunction, regexmatch$name="^belay_(next|event_(int|read|kind|tag|status|hold))$") "";
%rename("$ignore", %$isfunction, regexmatch$name="^belay_client_(ping|metrics)$") "";

%include "belay.i"

%{
/* Write an event's numbers to `values`, and free it. If it has more than numbers, the last of `values` is the event instead, which the
 * caller frees; otherwise 0. */
static void take(belay_event* event, int64_t* values, int32_t count) {
  belay_event_read(event, values, count - 1);
  const int64_t kind = values[BELAY_FIELD_KIND];
  const int texts = values[BELAY_FIELD_STATUS] != BELAY_OK || values[BELAY_FIELD_MEMBERS] != 0 || kind == BELAY_EVENT_WRITTEN ||
                    kind == BELAY_EVENT_INSPECTED || kind == BELAY_EVENT_LOG || kind == BELAY_EVENT_AT_RISK;
  values[count - 1] = texts ? (int64_t)(intptr_t)event : 0;
  if (!texts) {
    belay_event_free(event);
  }
}
%}

%inline %{
/* belay_acquire_within: 1 if its event came, which `values` then has. */
static int32_t acquire_row(belay_client* client, int64_t tag, belay_request* request, int64_t owner, int64_t wait_ms, int64_t patience_ms,
                           int64_t* values, int32_t count) {
  belay_event* event = belay_acquire_within(client, tag, request, owner, wait_ms, patience_ms);
  if (event == NULL) {
    return 0;
  }
  take(event, values, count);
  return 1;
}

/* belay_release_within: as acquire_row. */
static int32_t release_row(belay_client* client, int64_t tag, int64_t hold, int64_t patience_ms, int64_t* values, int32_t count) {
  belay_event* event = belay_release_within(client, tag, hold, patience_ms);
  if (event == NULL) {
    return 0;
  }
  take(event, values, count);
  return 1;
}

/* The next events, as many as `values` has rows for, of `row` numbers each. It waits for the first one `timeout_ms` at most. The END event
 * is the last one. Returns how many there are. */
static int32_t next_rows(belay_client* client, int64_t timeout_ms, int32_t row, int64_t* values, int32_t count) {
  int32_t taken = 0;
  while ((taken + 1) * row <= count) {
    belay_event* event = belay_next(client, taken == 0 ? timeout_ms : 0);
    if (event == NULL) {
      return taken;
    }
    int64_t* numbers = values + taken * row;
    take(event, numbers, row);
    ++taken;
    if (numbers[BELAY_FIELD_KIND] == BELAY_EVENT_END) {
      return taken;
    }
  }
  return taken;
}

/* The metrics' event, or NULL. */
static belay_event* metrics_event(belay_client* client) {
  belay_event* event = NULL;
  belay_client_metrics(client, &event);
  return event;
}
%}
