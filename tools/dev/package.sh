# shellcheck shell=bash
# ./dev package: the Debian packages, the tarball, the packages for Python and Node, and what they are made of.

# write_sbom BUILD_DIRECTORY: sbom.spdx.json, there; cpack and the tarball take it from there. It takes a while,
# so that a list which is newer than all it depends on is kept.
write_sbom() {
  local version list=$1/sbom.spdx.json each kept=yes
  local programs=("$1"/bin/{muster,musterd,muster-guardian} "$1/libmuster.so.0")
  for each in "${programs[@]}" "$1/CPackConfig.cmake" packaging/sbom.py \
    /var/lib/dpkg/status; do
    [[ $list -nt $each ]] || kept=no
  done
  if [[ $kept == yes ]]; then return; fi
  version=$(sed -n 's/^set(CPACK_PACKAGE_VERSION "\(.*\)")$/\1/p' "$1/CPackConfig.cmake")
  packaging/sbom.py "$version" "${programs[@]}" >"$list.new" && mv "$list.new" "$list"
}

# make_packages PRESET DIRECTORY
make_packages() {
  local dir into=$PWD/$2
  dir=$(build_dir "$1")
  build_preset "$1" muster musterd muster-guardian muster_packaged || return
  rm -rf "$into"
  mkdir -p "$into"
  write_sbom "$dir" || return
  cp "$dir/sbom.spdx.json" "$into/"
  (cd "$dir" && cpack -G DEB -B "$into" >"$into/cpack.log" 2>&1) || {
    cat "$into/cpack.log"
    return 1
  }
  rm -rf "$into/_CPack_Packages"
}

# make_tarball PRESET DIRECTORY: leaves alone what else is there, save older tarballs.
make_tarball() {
  local dir
  dir=$(build_dir "$1")
  build_preset "$1" muster musterd muster-guardian musterd-page muster_shared || return
  mkdir -p "$2"
  rm -f "$2"/muster-*-linux-*.tar.gz
  write_sbom "$dir" || return
  packaging/tarball/make.sh "$dir" "$2"
}

# make_wheel PRESET DIRECTORY: leaves alone what else is there, save older wheels.
make_wheel() {
  local dir
  dir=$(build_dir "$1")
  build_preset "$1" muster musterd muster-guardian muster_shared || return
  mkdir -p "$2"
  rm -f "$2"/muster-*.whl
  write_sbom "$dir" || return
  packaging/wheel/make.sh "$dir" "$2"
}

# make_npm PRESET DIRECTORY: leaves alone what else is there, save older npm tarballs.
make_npm() {
  local dir
  dir=$(build_dir "$1")
  build_preset "$1" muster musterd muster-guardian muster_shared || return
  mkdir -p "$2"
  rm -f "$2"/muster-*.tgz
  write_sbom "$dir" || return
  packaging/npm/make.sh "$dir" "$2"
}

# run_package [deb|tarball|wheel|npm…]: the Debian packages unless told otherwise. They come first, as they begin with
# an empty directory.
run_package() {
  local kind
  for kind in "$@"; do
    [[ $kind == deb || $kind == tarball || $kind == wheel || $kind == npm ]] ||
      die "no package is named \"$kind\"; there are: deb tarball wheel npm"
  done
  if (($# == 0)) || [[ " $* " == *" deb "* ]]; then
    step "packages" make_packages release build/packages && ls -l build/packages/*.deb || return
  fi
  if [[ " $* " == *" tarball "* ]]; then
    step "tarball" make_tarball release build/packages && ls -l build/packages/*.tar.gz || return
  fi
  if [[ " $* " == *" wheel "* ]]; then
    step "wheel" make_wheel release build/packages && ls -l build/packages/*.whl || return
  fi
  if [[ " $* " == *" npm "* ]]; then
    step "npm" make_npm release build/packages && ls -l build/packages/*.tgz || return
  fi
}
