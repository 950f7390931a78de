#!/bin/sh
# Kills the processes of a cluster test, and removes its network namespaces and its folder:
#   clean-up.sh PREFIX FOLDER [RUNNER]
# With RUNNER, a process ID, it first waits until that process exits, even if it crashes.
prefix=$1
folder=$2
runner=$3
if [ -n "$runner" ]; then
  # No run takes a day.
  seconds=0
  while kill -0 "$runner" 2>/dev/null && [ "$seconds" -lt 86400 ]; do
    sleep 1
    seconds=$((seconds + 1))
  done
fi
namespaces() {
  ip netns list | cut -d ' ' -f 1 | grep "^$prefix-"
}
for try in 1 2 3 4 5; do
  left=''
  for namespace in $(namespaces); do
    for pid in $(ip netns pids "$namespace" 2>/dev/null); do
      left=$pid
      kill -9 "$pid" 2>/dev/null
    done
  done
  [ -z "$left" ] && break
  sleep 0.2
done
for namespace in $(namespaces); do
  ip netns delete "$namespace"
done
# libfaketime leaves shared memory behind when a process is killed.
[ -f "$folder/pids" ] && while read -r pid; do
  rm -f "/dev/shm/faketime_shm_$pid" "/dev/shm/sem.faketime_sem_$pid"
done <"$folder/pids"
rm -rf "$folder"
