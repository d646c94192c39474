# shellcheck shell=bash
# ./dev mutate: do the tests notice small mistakes?

# run_mutate [OPTION…] [FILE…]: in a copy of the tree, so that an interrupted run leaves no mistake behind.
run_mutate() {
  local tree=$PWD/build/mutate
  if [[ " $* " == *" --list "* || " $* " == *" --help "* ]]; then
    tools/dev/mutate.py "$@"
    return
  fi
  ((EUID == 0)) || die "mutate runs tests in namespaces of their own, which only root may make"
  mkdir -p "$tree"
  # What is built there stays, for the next run.
  find "$tree" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
  git ls-files -z --cached --others --exclude-standard | tar -c --null -T - | tar -x -C "$tree"
  # Some tests ask git for the files.
  git -C "$tree" init -q && git -C "$tree" add -A &&
    git -C "$tree" -c user.name=mutate -c user.email=mutate@localhost commit -q -m mutate || return
  (cd "$tree" && CCACHE_BASEDIR=$tree configure dev -DMUSTER_MUTANTS=OFF) || return
  CCACHE_BASEDIR=$tree step mutate tools/dev/mutate.py --tree "$tree" "$@"
}
