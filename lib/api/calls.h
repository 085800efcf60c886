// What each call of the C API asks of the engine: its arguments checked, and its submission. The
// blocking call and the asynchronous one of a name share it. A call refers to what it was made of,
// which must live until it has been submitted.
#pragma once

#include <cstdint>

#include "api/handles.h"

namespace belay {

// Whether the client may be called at all; what every call needs first.
Status usable(const belay_client* client);
Status checked_tag(std::int64_t tag);

Client::Call acquisition(belay_client* client, const belay_request* request, std::int64_t owner,
                         std::int64_t wait_ms, bool notify);
Client::Call lock_acquisition(belay_client* client, const char* name, std::int64_t name_size,
                              std::int64_t wait_ms);
Client::Call release_of(std::int64_t hold);
Client::Call extension_of(std::int64_t hold, std::int64_t lease_ms);
Client::Call downgrade_of(std::int64_t hold);
Client::Call verification_of(std::int64_t hold);
Client::Call inspection_of(belay_client* client, const char* name, std::int64_t name_size);
Client::Call break_of(belay_client* client, const char* name, std::int64_t name_size,
                      std::int64_t fence);
Client::Call listing_of(belay_client* client, const char* pattern, std::int64_t pattern_size,
                        std::int64_t limit);
// `argv` and `sizes` as belay_fenced_write has them.
Client::Call write_of(belay_client* client, const char* key, std::int64_t key_size,
                      std::int64_t fence, std::int32_t argc, const char* const* argv,
                      const std::int64_t* sizes);
Client::Call write_of(belay_client* client, const char* key, std::int64_t key_size,
                      std::int64_t fence, const belay_words* words);
Client::Call limit_of(belay_client* client, const char* name, std::int64_t name_size,
                      std::int64_t limit);
Client::Call available_of(belay_client* client, const char* name, std::int64_t name_size);
Client::Call latch_setting_of(belay_client* client, const char* name, std::int64_t name_size,
                              std::int64_t count, std::int64_t ttl_ms);
Client::Call count_down_of(belay_client* client, const char* name, std::int64_t name_size,
                           std::int64_t by);
Client::Call count_of(belay_client* client, const char* name, std::int64_t name_size);
Client::Call ping_of();

}  // namespace belay
