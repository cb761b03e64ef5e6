# Keeps a server: $1 is the folder to remove, $2 the signal that ends the server. Each line of the
# input is the id of the server's process; an empty one says that there is none. The end of the
# input means that its owner is gone.
trap '' HUP INT QUIT TERM
server=
while read -r line; do server=$line; done

# A process that ended and that nobody has waited for is not alive.
alive() {
    kill -s 0 "$server" 2>/dev/null && ! grep -qs '^State:.Z' "/proc/$server/status"
}

if [ -n "$server" ]; then
    kill -s "$2" "$server" 2>/dev/null
    left=100
    while alive && [ "$left" -gt 0 ]; do
        sleep 0.05
        left=$((left - 1))
    done
    kill -s KILL "$server" 2>/dev/null
fi

# PostgreSQL marks its folder as taken by a segment of shared memory, which outlives a killed
# server.
segment=$(sed -n 7p "$1/data/postmaster.pid" 2>/dev/null | tr -s ' ' | cut -d ' ' -f 3)
if [ -n "$segment" ]; then
    ipcrm -m "$segment" 2>/dev/null
fi

# Children of a killed server may write a last file.
left=100
until rm -rf -- "$1" 2>/dev/null || [ "$left" -le 0 ]; do
    sleep 0.05
    left=$((left - 1))
done
