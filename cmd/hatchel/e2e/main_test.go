// Package e2e_test runs servers and commands as processes, as an operator does: several replicas with one database,
// kills and restarts, proxies, supervisors, and receivers of webhooks, metrics and traces.
package e2e_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"hatchel/internal/programtest"
)

// bounds is for a machine that does nothing else.
var bounds = flag.Bool("bounds", false, "check how long things take")

func TestMain(m *testing.M) {
	programtest.Main(m, func(program string) {
		os.Setenv("PATH", filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH"))
	})
}
