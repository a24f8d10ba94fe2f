#!/bin/sh
# Make the running server accept a new password of the user errata, which its file holds now:
#
#   password.sh add     accept it, besides the passwords that are valid already
#   password.sh only    accept it, and no other password
#
# PASSWORD_FILE and OPERATOR_PASSWORD_FILE are those of start.sh, which reads only the file at the next start: write the file
# first. All further arguments go to valkey-cli, such as -p PORT. The script prints the number of valid passwords at its end.
set -eu
case ${1:-} in
    add) others= ;;
    only) others=resetpass ;;
    *) echo "usage: password.sh add|only [WORDS OF valkey-cli]" >&2; exit 2 ;;
esac
shift
if [ "$(tr -d '\r\n' < "${PASSWORD_FILE:?names the file with the password of the user errata}" | wc -c)" -lt 16 ]; then
    echo "password.sh: the password in $PASSWORD_FILE is shorter than 16 characters: write a longer one into it" >&2
    exit 1
fi
digest=$(tr -d '\r\n' < "$PASSWORD_FILE" | sha256sum | cut -d ' ' -f 1)
REDISCLI_AUTH=$(tr -d '\r\n' < "${OPERATOR_PASSWORD_FILE:?names the file with the password of the user operator}")
export REDISCLI_AUTH
# shellcheck disable=SC2086
valkey-cli -e --user operator "$@" ACL SETUSER errata $others "#$digest" > /dev/null
count=$(valkey-cli -e --user operator "$@" ACL LIST | grep '^user errata ' | tr ' ' '\n' | grep -c '^#')
echo "the user errata has $count"
