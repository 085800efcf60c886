// A host that exports functions of libuv's, hiredis's and OpenSSL's names, as node does: none may
// ever be called by the library. `impostor URL` lives one client's life.
#include <belay/belay.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void taken_over(const char* name) {
  fprintf(stderr, "  the library called the host's %s\n", name);
  _exit(1);
}

#define IMPOSTOR(name) \
  void name(void);     \
  void name(void) {    \
    taken_over(#name); \
  }

IMPOSTOR(uv_async_init)
IMPOSTOR(uv_async_send)
IMPOSTOR(uv_close)
IMPOSTOR(uv_loop_alive)
IMPOSTOR(uv_loop_close)
IMPOSTOR(uv_loop_init)
IMPOSTOR(uv_poll_init)
IMPOSTOR(uv_poll_start)
IMPOSTOR(uv_poll_stop)
IMPOSTOR(uv_run)
IMPOSTOR(uv_strerror)
IMPOSTOR(uv_thread_create)
IMPOSTOR(uv_thread_create_ex)
IMPOSTOR(uv_thread_join)
IMPOSTOR(uv_translate_sys_error)
IMPOSTOR(uv_signal_init)
IMPOSTOR(uv_cloexec_pipe)
IMPOSTOR(freeReplyObject)
IMPOSTOR(redisReaderCreate)
IMPOSTOR(redisReaderCreateWithFunctions)
IMPOSTOR(redisReaderFeed)
IMPOSTOR(redisReaderFree)
IMPOSTOR(redisReaderGetReply)
IMPOSTOR(sdsnew)
IMPOSTOR(sdscatlen)
IMPOSTOR(sdsfree)
IMPOSTOR(BIO_new)
IMPOSTOR(BIO_read)
IMPOSTOR(BIO_write)
IMPOSTOR(CRYPTO_free)
IMPOSTOR(CRYPTO_malloc)
IMPOSTOR(ERR_clear_error)
IMPOSTOR(ERR_get_error)
IMPOSTOR(EVP_DigestInit_ex)
IMPOSTOR(EVP_PKEY_free)
IMPOSTOR(OPENSSL_cleanup)
IMPOSTOR(OPENSSL_init_crypto)
IMPOSTOR(OPENSSL_init_ssl)
IMPOSTOR(SSL_CTX_new)
IMPOSTOR(SSL_do_handshake)
IMPOSTOR(SSL_free)
IMPOSTOR(SSL_get_error)
IMPOSTOR(SSL_new)
IMPOSTOR(SSL_read_ex)
IMPOSTOR(SSL_write_ex)
IMPOSTOR(X509_free)
IMPOSTOR(X509_verify_cert)

int main(int argc, char** argv) {
  belay_options* options = belay_options_new();
  if (argc != 2 || belay_options_set_url(options, argv[1]) != BELAY_OK) {
    return 64;
  }
  belay_client* client = belay_client_new(options);
  const int64_t hold = client == NULL ? 0 : belay_lock(client, "a", -1, -1, NULL);
  const int32_t status = hold > 0 ? belay_release(client, hold) : BELAY_UNAVAILABLE;
  belay_event* listing = NULL;
  const int32_t listed = belay_list(client, "*", -1, 10, &listing);
  belay_event_free(listing);
  belay_client_free(client);
  belay_options_free(options);
  return status == BELAY_OK && listed == BELAY_OK ? 0 : 1;
}
