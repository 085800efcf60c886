# libuv and hiredis within libbelay.so, where exports.map hides them: a host that exports functions of these names, as node does, or has
# another hiredis within, would put its own in front of ours. Sets archives to what is to be linked: the libraries as ever, with a
# word, where there are no archives or they cannot be linked so; and own_archives to those that libbelay.a contains, if any.
set(archives PkgConfig::HIREDIS PkgConfig::LIBUV)
set(own_archives "")
set(archive_sources "")
set(private_requires "hiredis >= 1.0.1, libuv >= 1.40")
find_library(LIBUV_ARCHIVE NAMES libuv_a.a libuv.a HINTS ${LIBUV_LIBRARY_DIRS})
find_library(HIREDIS_ARCHIVE NAMES libhiredis.a HINTS ${HIREDIS_LIBRARY_DIRS})
set(data ${CMAKE_CURRENT_SOURCE_DIR}/net/libuv_data.c)
set(own_libuv ${CMAKE_CURRENT_BINARY_DIR}/libuv_own.a)
if(LIBUV_ARCHIVE AND HIREDIS_ARCHIVE AND CMAKE_OBJCOPY)
  execute_process(COMMAND ${CMAKE_OBJCOPY} --redefine-sym environ=belay_libuv_environ --redefine-sym stderr=belay_libuv_stderr
    --redefine-sym in6addr_any=belay_libuv_in6addr_any ${LIBUV_ARCHIVE} ${own_libuv} OUTPUT_QUIET ERROR_QUIET)
  execute_process(COMMAND ${CMAKE_C_COMPILER} -shared -fPIC ${data} -o ${CMAKE_CURRENT_BINARY_DIR}/archives.so
    -Wl,--whole-archive ${own_libuv} ${HIREDIS_ARCHIVE} -Wl,--no-whole-archive
    -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/exports.map -Wl,--no-undefined -lpthread -ldl -lrt
    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(failed EQUAL 0)
    set(own_archives ${own_libuv} ${HIREDIS_ARCHIVE})
    set(archives ${own_archives} ${CMAKE_DL_LIBS})
    set(archive_sources ${data})
    set(private_requires "")
  endif()
endif()
if(NOT archive_sources)
  message(WARNING "libbelay.so will use the shared libuv and hiredis, as their archives cannot be linked into it: "
    "a host that exports functions of these libraries itself puts them in front")
endif()
