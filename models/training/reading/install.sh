#!/bin/sh
# Free English prose of Debian, for the first phase of the training; it is unpacked into a folder and not installed.
# anarchism: An Anarchist FAQ (GFDL 1.3 without invariant sections, GPL 2+). dict-foldoc: Free On-line Dictionary of Computing (GFDL 1.3).
set -e
folder=${1:?folder to unpack into}
mkdir -p "$folder" && cd "$folder"
for package in anarchism dict-foldoc; do
  [ -d "usr/share/doc/$package" ] && continue
  apt-get download -qq "$package"
  dpkg-deb -x "$package"_*.deb . && rm "$package"_*.deb
done
