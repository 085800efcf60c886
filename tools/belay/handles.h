// Owning pointers to the objects of the C API, so that no path forgets to free one.
// Freeing a client releases its holds and ends its waits; that takes two seconds at most.
#ifndef BELAY_TOOLS_HANDLES_H
#define BELAY_TOOLS_HANDLES_H

#include <belay/belay.h>

#include <memory>

struct HandleDeleter {
  void operator()(belay_options* options) const { belay_options_free(options); }

  void operator()(belay_client* client) const { belay_client_free(client); }

  void operator()(belay_request* request) const { belay_request_free(request); }

  void operator()(belay_event* event) const { belay_event_free(event); }
};

using Options = std::unique_ptr<belay_options, HandleDeleter>;
using Client = std::unique_ptr<belay_client, HandleDeleter>;
using Request = std::unique_ptr<belay_request, HandleDeleter>;
using Event = std::unique_ptr<belay_event, HandleDeleter>;

#endif
