"use strict";

// The stream of events, for the pages that change as events happen.
//
// A browser opens six connections to one address at most. A hidden page, in another tab or
// behind the back button, must not keep one of them.

/**
 * Calls `onEvent` with each event after the number `lastSeq` while the page is visible, and
 * `onReturn` when it becomes visible again.
 */
function followEvents(lastSeq, onEvent, onReturn) {
  let stream = null;

  function open() {
    if (stream) return;
    stream = new EventSource(`/api/events/stream?after=${lastSeq}`);
    stream.addEventListener("message", (message) => {
      const event = JSON.parse(message.data);
      // After a lost connection the stream starts again from its first address.
      if (event.seq <= lastSeq) return;
      lastSeq = event.seq;
      onEvent(event);
    });
  }

  function close() {
    stream?.close();
    stream = null;
  }

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return close();
    open();
    onReturn();
  });
  addEventListener("pagehide", close);
  addEventListener("pageshow", (event) => {
    if (document.hidden) return;
    open();
    if (event.persisted) onReturn();
  });
}
