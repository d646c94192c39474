# What makes a memory error in a shipped program harder to use. In release builds, of which packages are made;
# elsewhere it would only slow down compiling, and _FORTIFY_SOURCE warns where nothing is optimized.
# tests/packaging/hardening_test.py looks for each of them in the programs themselves.
include(CheckPIESupported)
check_pie_supported()

set(muster_hardening_compile -fstack-protector-strong -fstack-clash-protection
  -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
  # With these g++ 12 takes some std::optional for one that was never set.
  -Wno-maybe-uninitialized)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # It also sees overlaps and overruns in sums of std::string where there are none (GCC bug 105651).
  list(APPEND muster_hardening_compile -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow
    -Wno-stringop-overread)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64|i.86")
  list(APPEND muster_hardening_compile -fcf-protection=full)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  list(APPEND muster_hardening_compile -mbranch-protection=standard)
endif()
set(muster_hardening_link -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)

if(CMAKE_BUILD_TYPE STREQUAL "Release")
  add_compile_options(${muster_hardening_compile})
  add_link_options(${muster_hardening_link})
endif()
