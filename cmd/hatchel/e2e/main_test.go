// Package e2e_test runs servers and commands as processes, as an operator does: several replicas with one database,
// kills and restarts, proxies, supervisors, and receivers of webhooks, metrics and traces.
package e2e_test

import (
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"hatchel/internal/programtest"
)

// bounds is for a machine that does nothing else.
var bounds = flag.Bool("bounds", false, "check how long things take")

// other is a program of another version, which must serve the same states.
var other = flag.String("other", "", "a `program` that half of the processes run, chosen by chance")

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == upstreamMode {
		if err := serveUpstream(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) > 1 && os.Args[1] == definitionsMode {
		serveDefinitions(os.Args[2:])
		os.Exit(0)
	}
	if len(os.Args) == 3 && os.Args[1] == talkMode {
		serveTalk(os.Args[2])
		os.Exit(0)
	}
	if len(os.Args) == 3 && os.Args[1] == payMode {
		if err := servePayments(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) == 3 && os.Args[1] == programMode {
		serveProgram()
	}
	if len(os.Args) == 3 && os.Args[1] == leftMode {
		signal.Ignore(syscall.SIGTERM)
		time.Sleep(time.Hour)
	}
	flag.Parse()
	programtest.Main(m, func(program string) {
		dir := filepath.Dir(program)
		if *other != "" {
			dir = mixPrograms(program, *other)
		}
		os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	})
}

// mixPrograms returns a directory with a program that runs one of two by chance.
func mixPrograms(program, other string) (dir string) {
	const script = "#!/bin/sh\n" +
		"if [ $(od -An -N1 -tu1 /dev/urandom) -lt 128 ]; then exec '%s' \"$@\"; else exec '%s' \"$@\"; fi\n"
	dir = filepath.Join(filepath.Dir(program), "mixed")
	err := os.Mkdir(dir, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "hatchel"), fmt.Appendf(nil, script, program, other), 0o755)
	}
	if err != nil {
		panic(err)
	}
	return dir
}
