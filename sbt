#!/usr/bin/env bash
# Starts sbt: the installed one, or else its launcher jar, brought by Maven and checked against a pinned sum.
set -euo pipefail

launcher_version=1.12.11
launcher_sha256=b4c0c55d68f11b1510d884641cb1b1456191dac40ddc958bf86c825adc344e16

cd "$(dirname "${BASH_SOURCE[0]}")"
cache="$PWD/.sbt-launcher"
launcher="$cache/sbt-launch-$launcher_version.jar"

fail() {
  printf 'sbt: %s\n' "$1" >&2
  exit 1
}

sha256_of() {
  if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

checked() {
  [[ -f "$launcher" && "$(sha256_of "$launcher")" == "$launcher_sha256" ]]
}

bring_launcher() {
  command -v mvn >/dev/null || fail "neither sbt nor Maven is installed. Install one of them: \
Maven brings sbt's launcher (Debian: apt-get install maven; macOS: brew install maven)."
  mvn --batch-mode --quiet org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \
    -Dartifact="org.scala-sbt:sbt-launch:$launcher_version" -DoutputDirectory="$cache" >&2 ||
    fail "Maven could not bring org.scala-sbt:sbt-launch:$launcher_version, see above."
  checked || {
    rm -f "$launcher"
    fail "the launcher jar that Maven brought is not the expected one: its SHA-256 differs from $launcher_sha256."
  }
}

installed_sbt() {
  local found
  found="$(command -v sbt)" && [[ ! "$found" -ef "$PWD/sbt" ]] && printf '%s' "$found"
}

java_release() {
  java -version 2>&1 | sed -n 's/.* version "\(1\.\)\{0,1\}\([0-9]*\).*/\2/p' | head -n 1
}

jdk_hint="Install JDK 17 (Debian: apt-get install openjdk-17-jdk-headless)."
command -v java >/dev/null || fail "no java on the PATH. $jdk_hint"
release="$(java_release)"
[[ "${release:-0}" -ge 17 ]] || fail "the java on the PATH is too old. $jdk_hint"

# Two sbt processes in one checkout would write the same class files: the second one waits for the first.
mkdir -p "$cache"
exec 9>"$cache/lock"
if command -v flock >/dev/null && ! flock --nonblock 9; then
  printf 'sbt: waiting for another sbt in this checkout\n' >&2
  flock 9
fi

repositories="$HOME/.sbt/repositories"
[[ -f "$repositories" ]] || repositories="$PWD/project/repositories"
settings=(
  -Dsbt.override.build.repos=true
  "-Dsbt.repository.config=$repositories"
  -Dsbt.server.autostart=false
  -Dfile.encoding=UTF-8
)
[[ -t 1 ]] || settings+=(-Dsbt.color=false -Dsbt.supershell=false -Dsbt.log.noformat=true)

if sbt_path="$(installed_sbt)"; then
  exec "$sbt_path" "${settings[@]}" "$@"
fi
checked || bring_launcher
# shellcheck disable=SC2086 # SBT_OPTS and JAVA_OPTS are lists of words
exec java -Xms256m -Xmx2g -Xss8m "${settings[@]}" ${JAVA_OPTS:-} ${SBT_OPTS:-} -jar "$launcher" "$@"
