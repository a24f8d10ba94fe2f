#!/bin/sh
# Make the secrets of compose.yaml and of kuberay/; existing ones stay. The folder is var/secrets, or the given one.
#
# All users may read the files, for a container reads them as another user; the folder is closed to others.
set -eu
folder=${1:-$(dirname "$0")/../var/secrets}
mkdir -p "$folder"
chmod 700 "$folder"

make() {
    if [ ! -s "$folder/$1" ]; then
        printf '%s\n' "$2" > "$folder/$1"
        chmod 644 "$folder/$1"
    fi
}

random() {
    head -c 32 /dev/urandom | sha256sum | cut -d ' ' -f 1
}

for name in admin-key redis-password operator-password grafana-password ray-redis-password; do
    make "$name" "$(random)"
done
make redis-url "redis://errata:$(cat "$folder/redis-password")@redis:6379/0"
echo "The admin key is in $folder/admin-key, Grafana's password (user admin) in $folder/grafana-password."
