# The part of ops/bench about strict routes: our three nodes beside etcd's three members, and long links.
# Sourced by it.

declare -A etcd_pids

start_etcd() {
  local number all="" clients=() peers=()
  data=$(mktemp -d "$build/bench/etcd.XXXXXX")
  for number in 0 1 2; do
    draw_port
    clients+=("http://$address:$drawn")
    draw_port
    peers+=("http://$address:$drawn")
    all+="${all:+,}m$number=${peers[number]}"
  done
  for number in 0 1 2; do
    etcd --name "m$number" --data-dir "$data/m$number" --initial-cluster "$all" --log-level error \
      --listen-client-urls "${clients[number]}" --advertise-client-urls "${clients[number]}" \
      --listen-peer-urls "${peers[number]}" --initial-advertise-peer-urls "${peers[number]}" \
      >"$data/log" 2>&1 &
    etcd_pids[$number]=$!
  done
  etcd_urls=$(IFS=, && echo "${clients[*]}")
  pid=${etcd_pids[0]}
  await etcd etcdctl --endpoints "$etcd_urls" endpoint health
  pid=
  port=$(ETCDCTL_API=3 etcdctl --endpoints "$etcd_urls" endpoint status | awk -F ', ' '
    $5 == "true" { sub(".*:", "", $1); print $1 }')
  [[ -n $port ]] || die "etcd has no leader"
}

stop_etcd() {
  local number
  for number in "${!etcd_pids[@]}"; do
    kill "${etcd_pids[$number]}" 2>/dev/null || true
    wait "${etcd_pids[$number]}" 2>/dev/null || true
  done
  etcd_pids=()
}

group_urls() { local region; for region in "${regions[@]}"; do printf -- '--url http://%s:%s ' "$address" "${ports[$region]}"; done; }

# Sets $leader and $follower, regions, and the keys of a strict tenant and of one that is not.
start_group() {
  local deadline=$((SECONDS + 30))
  extra_config=$'[[strict]]\ntenant = "bench"'
  start_cluster
  plain_key=$("$build/bin/oncectl" keys create --tenant plain --file "$data/keys.json" 2>/dev/null)
  for region in "${regions[@]}"; do kill -HUP "${pids[$region]}"; done
  # shellcheck disable=SC2046
  ONCE_KEY=$admin_key "$build/bin/oncectl" found $(group_urls) >/dev/null
  leader=
  until [[ -n $leader ]]; do
    ((SECONDS < deadline)) || die "the group has no leader: $(tail -n 5 "$data/log")"
    leader=$(group_status 2>/dev/null | awk '$2 == "leader" {print $1}')
  done
  for follower in "${regions[@]}"; do [[ $follower == "$leader" ]] || break; done
}

# shellcheck disable=SC2046
group_status() { ONCE_KEY=$admin_key "$build/bin/oncectl" status $(group_urls); }

applied_index() { group_status | awk -v region="$leader" '$1 == region {print $4}'; }

put_load() { # $1: name of the row; the rest: arguments of once-load. Appends to $results
  local row=$1 line
  shift
  line=$("$load" "$@" --json)
  echo "{\"row\":\"$row\",${line#\{}" >>"$results"
}

strict_round() { # $1: round
  local connections common
  start_group
  for connections in $(each "$connection_counts"); do
    common=(--port "${ports[$leader]}" --connections "$connections" --seconds "$seconds" --population 2000)
    sleep 1 # what the claims before left to be done is not the reads' fault
    if (($1 % 2)); then put_load "read once" once replay "${common[@]}"; fi
    ONCE_API_KEY=$plain_key put_load "read plain" once replay "${common[@]}"
    if (($1 % 2 == 0)); then put_load "read once" once replay "${common[@]}"; fi
    put_load "claim once" once claim "${common[@]}"
  done
  stop_cluster
  stop
  start_etcd
  for connections in $(each "$connection_counts"); do
    common=(--port "$port" --connections "$connections" --seconds "$seconds" --population 2000)
    sleep 1
    put_load "read etcd-serializable" etcd replay --serializable "${common[@]}"
    put_load "read etcd-linearizable" etcd replay "${common[@]}"
    put_load "claim etcd" etcd claim "${common[@]}"
  done
  stop_etcd
  stop
  start_once
  for connections in $(each "$connection_counts"); do
    put_load "claim single" once claim --port "$port" --connections "$connections" --seconds "$seconds"
  done
  stop
}

strict_report() {
  awk -v counts="$connection_counts" '
    function field(name,  text) {
      text = $0
      sub(".*\"" name "\":\"?", "", text)
      sub("[,\"}].*", "", text)
      return text
    }
    function median(where, name,  n, i, k, v, t) {
      n = seen[where]
      for (i = 1; i <= n; i++) {
        t = value[where, name, i]
        for (k = i; k > 1 && v[k - 1] > t; k--) v[k] = v[k - 1]
        v[k] = t
      }
      return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
    }
    function goal(c, text, one, other, name, sense, bound,  i, of, is) {
      of = text " " c
      seen[of] = seen[one " " c]
      for (i = 1; i <= seen[of]; i++) value[of, name, i] = value[one " " c, name, i] / value[other " " c, name, i]
      is = median(of, name)
      printf "%11d  %-46s %6.2f  %s\n", c, text, is, !bound ? "-" : sense " " bound \
        ((sense == "at least" ? is >= bound : is <= bound) ? "   reached" : "   NOT REACHED")
    }
    {
      where = field("row") " " field("connections")
      if (!(field("row") in known)) { known[field("row")]; rows[++total] = field("row") }
      i = ++seen[where]
      for (n = split("per_second p50_us p99_us", names, " "); n > 0; n--) value[where, names[n], i] = field(names[n]) + 0
    }
    END {
      printf "%11s  %-24s %10s %9s %9s\n", "connections", "job and system", "per second", "p50 us", "p99 us"
      count = split(counts, c, ",")
      for (i = 1; i <= count; i++) for (k = 1; k <= total; k++) {
        where = rows[k] " " c[i]
        printf "%11d  %-24s %10.0f %9.0f %9.0f\n", c[i], rows[k], median(where, "per_second"),
          median(where, "p50_us"), median(where, "p99_us")
      }
      printf "\n%11s  %-46s %6s  %s\n", "connections", "ratio", "is", "goal"
      for (i = 1; i <= count; i++) {
        goal(c[i], "claims, strict / etcd", "claim once", "claim etcd", "per_second", "at least", c[i] == 64 ? 6 : 1)
        goal(c[i], "p99 of a claim, strict / etcd", "claim once", "claim etcd", "p99_us", "at most", 1)
        goal(c[i], "claims, strict / one region", "claim once", "claim single", "per_second", "at least", c[i] == 64 ? 0.4 : 0)
        goal(c[i], "p50 of a replay, strict / best-effort", "read once", "read plain", "p50_us", "at most", 1.2)
        goal(c[i], "reads, replay / etcd serializable", "read once", "read etcd-serializable", "per_second", "at least", 1)
        goal(c[i], "reads, replay / etcd linearizable", "read once", "read etcd-linearizable", "per_second", "at least", 1)
      }
    }' "$results"
}

# --- long links ---------------------------------------------------------------------------------------

# Each node finds each peer at a port of once-delay.
start_far_group() {
  local region peer links=()
  for region in "${regions[@]}"; do
    draw_port
    peer_addresses[$region]=$address:$drawn
  done
  far_addresses=()
  for region in "${regions[@]}"; do
    for peer in "${regions[@]}"; do
      [[ $peer != "$region" ]] || continue
      draw_port
      far_addresses[$region-$peer]=$address:$drawn
      links+=("${far_addresses[$region-$peer]##*:}:${peer_addresses[$peer]##*:}")
    done
  done
  "$build/bin/once-delay" "$((link_ms / 2))" "${links[@]}" &
  delay_pid=$!
  start_group
}

measure_far() { # $1: region, $2: trips it must wait for, $3: claims per second
  local before after line
  before=$(applied_index)
  line=$("$load" once claim --port "${ports[$1]}" --connections 1000 --rate "$3" --requests $(($3 * seconds)) --json)
  after=$(applied_index)
  sed 's/[{}"]//g; s/,/ /g; s/:/=/g' <<<"$line" | tr ' ' '\n' | awk -F = -v trips="$2" -v link="$link_ms" \
    -v where="$([[ $1 == "$leader" ]] && echo leader || echo follower)" -v rate="$3" -v entries=$((after - before)) '
    { is[$1] = $2 }
    END {
      theory = trips * link
      printf "%-9s %8d %10.0f %10.1f %8.1f %8d %7.2f %9.1f%s\n", where, rate, is["per_second"],
        is["p50_us"] / 1000, is["p99_us"] / 1000, theory, is["p50_us"] / 1000 / theory,
        entries / is["seconds"] * link / 1000,
        (is["p50_us"] / 1000 <= 1.2 * theory && entries / is["seconds"] * link / 1000 > 1 ? "   reached" : "   NOT REACHED")
    }'
}

strict_far() {
  local rate
  start_far_group
  "$load" once claim --port "${ports[$follower]}" --connections 8 --requests 16 --json >/dev/null
  echo
  echo "Links of $link_ms ms there and back; a claim at the leader waits for one trip, elsewhere for two"
  printf '%-9s %8s %10s %10s %8s %8s %7s %9s\n' at asked/s claims/s 'p50 ms' 'p99 ms' theory ratio 'entries'
  for rate in 100 2000; do
    measure_far "$leader" 1 "$rate"
    measure_far "$follower" 2 "$rate"
  done
  echo "  entries: of the log, per trip; the goals are a ratio of at most 1.2 and more than one entry per trip"
  stop_cluster
  stop
}

strict() {
  local round
  results=$(mktemp "$build/bench/results.XXXXXX")
  machine
  echo "etcd $(etcd --version | awk 'NR == 1 {print $3}'), without TLS; ours with mutual TLS. Load goes to the leader of each."
  for ((round = 1; round <= rounds; round++)); do
    echo "Round $round of $rounds ..."
    strict_round "$round"
  done
  echo
  echo "strict, medians of $rounds rounds of $seconds s; afterwards $(disk)"
  strict_report
  if [[ -n $json ]]; then cp "$results" "$json"; fi
  strict_far
}
