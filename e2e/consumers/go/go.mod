module consumer

go 1.19

require github.com/mattn/go-sqlite3 v1.14.16

// As Debian installs it (golang-github-mattn-go-sqlite3-dev). Without this line, Go downloads it.
replace github.com/mattn/go-sqlite3 => /usr/share/gocode/src/github.com/mattn/go-sqlite3
