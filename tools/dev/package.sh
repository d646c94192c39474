# shellcheck shell=bash
# ./dev package: the Debian packages, and what they are made of.

# make_packages PRESET DIRECTORY
make_packages() {
  local dir into=$PWD/$2 version
  dir=$(build_dir "$1")
  build_preset "$1" muster musterd muster-guardian muster_packaged || return
  rm -rf "$into"
  mkdir -p "$into"
  # Before cpack, which puts it into the packages.
  version=$(sed -n 's/^set(CPACK_PACKAGE_VERSION "\(.*\)")$/\1/p' "$dir/CPackConfig.cmake")
  packaging/sbom.py "$version" "$dir/bin/muster" "$dir/bin/musterd" \
    "$dir/bin/muster-guardian" >"$into/sbom.spdx.json" || return
  cp "$into/sbom.spdx.json" "$dir/"
  (cd "$dir" && cpack -G DEB -B "$into" >"$into/cpack.log" 2>&1) || {
    cat "$into/cpack.log"
    return 1
  }
  rm -rf "$into/_CPack_Packages"
}

run_package() {
  step "packages" make_packages release build/packages && ls -l build/packages/*.deb
}
