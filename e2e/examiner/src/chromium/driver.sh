# Runs ChromeDriver until standard input closes, which it does with the examiner however that
# ends; then the whole process group ends, and its temporary folder goes. Standard output closes
# as soon as the driver ends. $1 is given if the browser is to have windows.
exec 3<&0
command -v chromedriver >/dev/null || { echo missing; exit; }
# The same engine and network without a window to draw, in a quarter of the processor time.
# Debian's by its own path: what is on PATH is a script that starts it, and that leaves it running
# when ChromeDriver ends the script.
shells='/usr/lib/chromium/chromium-headless-shell chrome-headless-shell'
for name in ${1-$shells} chromium google-chrome google-chrome-stable chromium-browser; do
    command -v $name && break
done | sed 's/^/browser: /'
chromedriver --port=0 2>&1 3<&- &
driver=$!
{
    read -r _ <&3
    trap '' TERM
    kill -TERM 0
    # Chromium writes as long as it runs.
    for _ in 1 2 3 4 5 6 7 8 9; do rm -rf "$TMPDIR"; sleep 0.1; done
    kill -KILL 0
} >/dev/null 2>&1 &
exec >/dev/null 2>&1
wait $driver
