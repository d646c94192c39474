# Fails when a browser that opens the page would have to load more than it should.
#   cmake "-DFILES=index.html;assets/app.js" -P size.cmake
set(bytes_max 72000)

set(bytes 0)
foreach(file ${FILES})
  file(SIZE ${file} size)
  math(EXPR bytes "${bytes} + ${size}")
endforeach()
message(STATUS "The page has ${bytes} bytes")
if(bytes GREATER bytes_max)
  message(FATAL_ERROR "The page has ${bytes} bytes, and ${bytes_max} is the most.")
endif()
