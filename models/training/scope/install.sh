#!/bin/sh
# WordNet, for words that are replaced by others of their kind; a training alone needs it.
set -e
[ -f /usr/share/wordnet/cntlist.rev ] || apt-get install -qq --yes wordnet-base >/dev/null
