# libuv, hiredis and OpenSSL within libbelay.so, where exports.map hides them: a host that exports functions of these names, as node does, or has
# another hiredis within, would put its own in front of ours, and a host that ends cleans up its own OpenSSL, not ours. Sets archives to what is to be linked: the libraries as ever, with a
# word, where there are no archives or they cannot be linked so; and own_archives to those that libbelay.a contains, if any,
# and tls_archives to those of which it contains what it needs.
set(archives PkgConfig::HIREDIS PkgConfig::LIBUV)
set(own_archives "")
set(tls_archives "")
set(archive_sources "")
set(private_requires "hiredis >= 1.0.1, libuv >= 1.40")
set(tls_found TRUE)
set(openssl_archives "")
if(BELAY_TLS)
  list(APPEND archives PkgConfig::OPENSSL)
  string(APPEND private_requires ", openssl >= 3.0")
  # libssl, libcrypto, and on some systems libraries that compress.
  foreach(library IN LISTS OPENSSL_STATIC_LIBRARIES)
    if(NOT library MATCHES "^(dl|pthread)$")
      find_library(OPENSSL_ARCHIVE_${library} NAMES lib${library}.a HINTS ${OPENSSL_LIBRARY_DIRS})
      list(APPEND openssl_archives ${OPENSSL_ARCHIVE_${library}})
      if(NOT OPENSSL_ARCHIVE_${library})
        set(tls_found FALSE)
      endif()
    endif()
  endforeach()
endif()
find_library(LIBUV_ARCHIVE NAMES libuv_a.a libuv.a HINTS ${LIBUV_LIBRARY_DIRS})
find_library(HIREDIS_ARCHIVE NAMES libhiredis.a HINTS ${HIREDIS_LIBRARY_DIRS})
set(data ${CMAKE_CURRENT_SOURCE_DIR}/net/libuv_data.c)
set(own_libuv ${CMAKE_CURRENT_BINARY_DIR}/libuv_own.a)
set(openssl_trial "")
if(openssl_archives)
  set(openssl_trial -Wl,--undefined=SSL_new ${openssl_archives})
endif()
if(LIBUV_ARCHIVE AND HIREDIS_ARCHIVE AND tls_found AND CMAKE_OBJCOPY)
  execute_process(COMMAND ${CMAKE_OBJCOPY} --redefine-sym environ=belay_libuv_environ --redefine-sym stderr=belay_libuv_stderr
    --redefine-sym in6addr_any=belay_libuv_in6addr_any ${LIBUV_ARCHIVE} ${own_libuv} OUTPUT_QUIET ERROR_QUIET)
  execute_process(COMMAND ${CMAKE_C_COMPILER} -shared -fPIC ${data} -o ${CMAKE_CURRENT_BINARY_DIR}/archives.so
    -Wl,--whole-archive ${own_libuv} ${HIREDIS_ARCHIVE} -Wl,--no-whole-archive
    ${openssl_trial}
    -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/exports.map -Wl,--no-undefined -lpthread -ldl -lrt
    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(failed EQUAL 0)
    set(own_archives ${own_libuv} ${HIREDIS_ARCHIVE})
    set(tls_archives ${openssl_archives})
    set(archives ${own_archives} ${tls_archives} ${CMAKE_DL_LIBS})
    set(archive_sources ${data})
    set(private_requires "")
  endif()
endif()
if(NOT archive_sources)
  message(WARNING "libbelay.so will use the shared libuv, hiredis and OpenSSL, as their archives cannot be linked into it: "
    "a host that exports functions of these libraries itself puts them in front")
endif()
