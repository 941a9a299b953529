# The nodes of the development cluster, by their pid files. Sourced by up and down, which run in the root of the tree.

# The pid of a region's node; fails when it does not run. The number alone says nothing: after a power loss it
# may be any process's.
node_pid() {
  local pid program arguments
  pid=$(cat ".once/$1.pid" 2>/dev/null) && [[ $pid =~ ^[1-9][0-9]*$ ]] || return 1
  program=$(readlink "/proc/$pid/exe") && arguments=$(tr '\0' ' ' 2>/dev/null < "/proc/$pid/cmdline") || return 1
  # A build puts another file in its place.
  [ "${program% (deleted)}" = "$(readlink -m build/bin/onced)" ] || return 1
  [ "$arguments" = "build/bin/onced --config .once/$1.toml " ] && echo "$pid"
}

running() { node_pid "$1" >/dev/null; }

# Fails when one of these regions' nodes does not end; its pid file stays then.
stop_nodes() {
  local region pid failed=0 patience=${ONCE_STOP_SECONDS:-30}
  local deadline=$((SECONDS + patience))
  for region in "$@"; do
    if pid=$(node_pid "$region"); then kill "$pid" 2>/dev/null || true; fi
  done
  for region in "$@"; do
    while pid=$(node_pid "$region") && [ $SECONDS -lt $deadline ]; do sleep 0.1; done
    if [ -z "$pid" ]; then
      rm -f ".once/$region.pid"
      continue
    fi
    echo "Node $region (pid $pid) did not stop within $patience s. Its log is .once/$region.log; to end it: kill -9 $pid" >&2
    failed=1
  done
  return $failed
}
