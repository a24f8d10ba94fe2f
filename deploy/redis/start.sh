#!/bin/sh
# Start the ledger's server with the users of users.acl, whose passwords are given as files:
#
#   PASSWORD_FILE            password of the user errata: the service
#   OPERATOR_PASSWORD_FILE   password of the user operator, who may do everything; without it there is no such user
#   RUN                      private folder of this server for the finished users.acl (default: /run/valkey)
#
# All arguments go to the server, valkey-server in the PATH. No password is on a command line.
set -eu
here=$(dirname "$0")

sha256_of() {
    digest=$(tr -d '\r\n' < "$1" | sha256sum | cut -d ' ' -f 1)
    if [ "$(tr -d '\r\n' < "$1" | wc -c)" -lt 16 ]; then
        echo "start.sh: the password in $1 is shorter than 16 characters: write a longer one into it" >&2
        exit 1
    fi
}

users=${RUN:=/run/valkey}/users.acl
umask 077
mkdir -p "$RUN"
sha256_of "${PASSWORD_FILE:?names the file with the password of the user errata}"
sed "s/#PASSWORD_SHA256/#$digest/" "$here/users.acl" > "$users"
if [ -n "${OPERATOR_PASSWORD_FILE:-}" ]; then
    sha256_of "$OPERATOR_PASSWORD_FILE"
    sed "s/#OPERATOR_SHA256/#$digest/" "$users" > "$users.new"
else
    sed '/^user operator /d' "$users" > "$users.new"
fi
mv "$users.new" "$users"
exec valkey-server "$here/valkey.conf" --aclfile "$users" "$@"
